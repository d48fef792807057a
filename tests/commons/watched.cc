// SPDX-License-Identifier: BSD-3-Clause
// A program that a memory checker watches. Under the preload the checker must still see every
// allocation: nothing may lie in the commons, and "overflow" must be caught.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

namespace {

template <class T>
T opaque(T value) {
  asm volatile("" : "+r"(value)::"memory");
  return value;
}

bool commons_is_mapped() {
  std::FILE* maps = std::fopen("/proc/self/maps", "r");
  char line[512];
  bool found = false;
  while (!found && std::fgets(line, sizeof line, maps) != nullptr)
    found = std::strstr(line, "tutti-commons") != nullptr;
  std::fclose(maps);
  return found;
}

}  // namespace

int main(int argc, char** argv) {
  constexpr std::size_t bytes = 1 << 20;
  auto* block = static_cast<char*>(std::calloc(1, bytes));
  block = static_cast<char*>(std::realloc(block, 3 * bytes));
  std::thread([] { opaque(std::vector<int>(bytes, 1).data()); }).join();
  if (commons_is_mapped()) return 3;
  if (argc > 1 && std::strcmp(argv[1], "overflow") == 0) opaque(block)[3 * bytes] = 1;
  std::free(block);
  std::puts("all is well");
}
