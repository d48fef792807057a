// SPDX-License-Identifier: BSD-3-Clause
// A program in a sandbox without user namespaces, whose blocks of 48 MiB no collective uses. Its
// argument says whether the second one must be in the commons ("commons") or libc's ("plain").
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include "check.h"

namespace {

void refuse_clone() {
  sock_filter filter[] = {
      {BPF_LD | BPF_W | BPF_ABS, 0, 0, 0},
      {BPF_JMP | BPF_JEQ | BPF_K, 0, 1, SYS_clone},
      {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ERRNO | EPERM},
      {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW},
  };
  const sock_fprog program{4, filter};
  CHECK(::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
  CHECK(::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0);
}

char* use(std::size_t bytes) {
  auto* block = static_cast<char*>(std::malloc(bytes));
  CHECK(block != nullptr);
  std::memset(block, 1, bytes);
  return block;
}

}  // namespace

int main(int argc, char** argv) {
  constexpr std::size_t mib = std::size_t{1} << 20;
  const bool expected = std::strcmp(argv[1], "commons") == 0;
  if (argc == 2) {  // before the first large block, which is one of the C++ library's
    refuse_clone();
    char again[] = "again";
    char* const words[] = {argv[0], argv[1], again, nullptr};
    ::execv("/proc/self/exe", words);
    return 1;
  }
  std::free(use(48 * mib));
  char* block = use(48 * mib);
  CHECK(lies_in_commons(block) == expected);
  block = static_cast<char*>(std::realloc(block, 60 * mib));
  CHECK(block != nullptr && block[48 * mib - 1] == 1);
  CHECK(lies_in_commons(block) == expected);
  std::free(block);
  char* smaller = use(4 * mib);
  CHECK(lies_in_commons(smaller));
  std::free(smaller);
  return 0;
}
