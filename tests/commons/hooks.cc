// SPDX-License-Identifier: BSD-3-Clause
// As a library of a network does it: it has functions of its own in the place of libc's that map
// memory, and they take a lock. A child is forked while another thread has that.
#include <pthread.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdarg>
#include <cstdlib>
#include <cstring>

#include "check.h"

namespace {

pthread_mutex_t hooks = PTHREAD_MUTEX_INITIALIZER;
long hooked = 0;

template <class... Arguments>
long hook(long number, Arguments... arguments) {
  pthread_mutex_lock(&hooks);
  ++hooked;
  const long result = syscall(number, arguments...);
  pthread_mutex_unlock(&hooks);
  return result;
}

int parent_waits[2], thread_waits[2];
char statics[4 << 20];  // which move into the file, too

void* hold(void*) {
  pthread_mutex_lock(&hooks);
  char byte = 0;
  CHECK(write(parent_waits[1], &byte, 1) == 1);
  CHECK(read(thread_waits[0], &byte, 1) == 1);
  pthread_mutex_unlock(&hooks);
  return nullptr;
}

}  // namespace

extern "C" {
#pragma GCC visibility push(default)
void* mmap(void* at, size_t bytes, int protection, int flags, int fd, off_t offset) noexcept {
  return reinterpret_cast<void*>(hook(SYS_mmap, at, bytes, protection, flags, fd, offset));
}
int munmap(void* at, size_t bytes) noexcept {
  return static_cast<int>(hook(SYS_munmap, at, bytes));
}
int madvise(void* at, size_t bytes, int advice) noexcept {
  return static_cast<int>(hook(SYS_madvise, at, bytes, advice));
}
void* mremap(void* at, size_t before, size_t bytes, int flags, ...) noexcept {
  va_list list;
  va_start(list, flags);
  void* const to = (flags & MREMAP_FIXED) != 0 ? va_arg(list, void*) : nullptr;
  va_end(list);
  return reinterpret_cast<void*>(hook(SYS_mremap, at, before, bytes, flags, to));
}
#pragma GCC visibility pop
}

int main(int argc, char**) {
  const bool is_private = argc > 1;  // until collectives use it
  constexpr std::size_t bytes = 3 << 20;
  auto* block = static_cast<char*>(std::malloc(bytes));
  CHECK(block != nullptr && lies_in_commons(block) == !is_private);
  CHECK(hooked > 0);  // else nothing is tested
  CHECK(is_private || lies_in_commons(statics + sizeof statics / 2));
  std::memset(block, 7, bytes);
  std::memset(statics, 8, sizeof statics);
  pthread_t holder;
  char byte = 0;
  CHECK(pipe(parent_waits) == 0 && pipe(thread_waits) == 0);
  CHECK(pthread_create(&holder, nullptr, hold, nullptr) == 0);
  CHECK(read(parent_waits[0], &byte, 1) == 1);
  const long before = hooked;
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);
    bool same = !lies_in_commons(block) && !lies_in_commons(statics + sizeof statics / 2);
    for (std::size_t i = 0; i < bytes; ++i) same = same && block[i] == 7;
    for (const char each : statics) same = same && each == 8;
    std::free(block);
    block = static_cast<char*>(std::malloc(30 * bytes));
    std::memset(block, 9, 30 * bytes);
    std::free(block);
    _exit(same && hooked == before ? 0 : 1);
  }
  CHECK(write(thread_waits[1], &byte, 1) == 1);
  int status = 0;
  CHECK(waitpid(child, &status, 0) == child && status == 0);
  CHECK(pthread_join(holder, nullptr) == 0);
  return 0;
}
