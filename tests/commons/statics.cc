// SPDX-License-Identifier: BSD-3-Clause
// A program whose data is in static arrays. Its argument says whether they must be in the commons
// ("commons") or where the linker put them ("plain").
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>

#include "check.h"

namespace {

constexpr int count = 1 << 20;
double g_array[count];
double g_initialised[4] = {1, 2, 3, 4};
const std::string g_constructed = "made before main, and too long for the object itself";
thread_local int t_local = 5;

double sum() {
  double result = 0;
  for (const double x : g_array) result += x;
  return result;
}

}  // namespace

int main(int, char** argv) {
  const bool expected = std::strcmp(argv[1], "commons") == 0;
  CHECK(lies_in_commons(g_array) == expected);
  CHECK(lies_in_commons(g_array + count - 1) == expected);
  CHECK(sum() == 0);
  CHECK(g_initialised[3] == 4 && g_constructed.size() == 52 && t_local == 5);
  for (int i = 0; i < count; ++i) g_array[i] = i;
  const double whole = sum();

  // Buffered output and the environment have variables among ours.
  CHECK(std::getenv("PATH") != nullptr);
  std::FILE* echo = ::popen("echo from a child", "r");
  char line[64] = "";
  CHECK(std::fgets(line, sizeof line, echo) != nullptr && std::strcmp(line, "from a child\n") == 0);
  CHECK(::pclose(echo) == 0 && std::system("true") == 0);

  const pid_t child = ::fork();
  if (child == 0) {
    CHECK(!lies_in_commons(g_array) && sum() == whole && g_constructed.size() == 52);
    for (double& x : g_array) x = 1;
    g_initialised[0] = 9;
    std::exit(sum() == count ? 0 : 1);
  }
  int status = -1;
  CHECK(::waitpid(child, &status, 0) == child && status == 0);
  CHECK(sum() == whole && g_initialised[0] == 1);

  std::thread other([&] { g_array[0] = 3; });
  other.join();
  CHECK(sum() == whole + 3);
  std::puts("good");
  return 0;
}
