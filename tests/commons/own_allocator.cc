// SPDX-License-Identifier: BSD-3-Clause
// A program that defines malloc itself, as those do that link an allocator statically. A preloaded
// malloc is then never called, not even by the libraries.
#include <atomic>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace {

alignas(64) char arena[64 << 20];
std::atomic<std::size_t> used{0};

bool is_mine(const void* block) {
  return static_cast<const char*>(block) >= arena &&
         static_cast<const char*>(block) < arena + sizeof arena;
}

}  // namespace

#define EXPORT extern "C" [[gnu::visibility("default")]]

EXPORT void* malloc(std::size_t bytes) noexcept {
  const std::size_t whole = (bytes + 64 + 63) / 64 * 64;
  const std::size_t at = used.fetch_add(whole);
  if (at + whole > sizeof arena) return nullptr;
  std::memcpy(arena + at, &bytes, sizeof bytes);
  return arena + at + 64;
}
EXPORT void free(void* block) noexcept {
  if (block != nullptr && !is_mine(block)) std::abort();
}
EXPORT void* calloc(std::size_t count, std::size_t bytes) noexcept { return malloc(count * bytes); }
EXPORT void* realloc(void* block, std::size_t bytes) noexcept {
  void* moved = malloc(bytes);
  if (block == nullptr || moved == nullptr) return moved;
  if (!is_mine(block)) std::abort();
  std::size_t before;
  std::memcpy(&before, static_cast<char*>(block) - 64, sizeof before);
  return std::memcpy(moved, block, before < bytes ? before : bytes);
}

int main() {
  std::vector<double> numbers(100'000, 1.5);
  char* text = strdup(std::string(200'000, 'x').c_str());
  if (!is_mine(numbers.data()) || !is_mine(text)) return 1;
  std::free(text);
  std::puts("all is well");
}
