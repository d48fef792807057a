// SPDX-License-Identifier: BSD-3-Clause
// Preloaded before Tutti, this makes the worst of the time before main: a dlsym that allocates
// while it is asked for the allocator, and large blocks in a constructor.
#include <dlfcn.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

namespace {

[[noreturn]] void fail(const char* what) {
  [[maybe_unused]] auto written = ::write(STDERR_FILENO, what, std::strlen(what));
  ::_exit(1);
}

char* kept = nullptr;
void* from_dlsym = nullptr;  // freed long after the real allocator has been found

[[gnu::constructor(101)]] void allocate_early() {
  kept = static_cast<char*>(std::calloc(1, 1 << 20));
  if (kept == nullptr || kept[12345] != 0) fail("no zeroed block in a constructor\n");
  std::memset(kept, 1, 1 << 20);
  kept = static_cast<char*>(std::realloc(kept, 3 << 20));
}

[[gnu::destructor]] void free_late() {
  if (kept[(1 << 20) - 1] != 1) fail("a block of a constructor has changed\n");
  std::free(kept);
  if (from_dlsym == nullptr) fail("dlsym was not asked\n");
  if (std::strcmp(static_cast<char*>(from_dlsym), "kept") != 0) fail("dlsym's block has changed\n");
  from_dlsym = std::realloc(from_dlsym, 100);
  if (std::strcmp(static_cast<char*>(from_dlsym), "kept") != 0) fail("dlsym's block is lost\n");
  std::free(from_dlsym);
}

}  // namespace

extern "C" [[gnu::visibility("default")]] void* dlsym(void* handle, const char* name) noexcept {
  auto* zeroed = static_cast<char*>(std::calloc(10, 10));
  for (int i = 0; i < 100; ++i)
    if (zeroed[i] != 0) fail("dlsym's block is not zeroed\n");
  std::free(zeroed);
  if (from_dlsym == nullptr) from_dlsym = std::strcpy(static_cast<char*>(std::malloc(32)), "kept");
  // The real one, asked for libc's symbols: what comes "next" depends on who asks.
  using Dlsym = void* (*)(void*, const char*);
  const auto real = reinterpret_cast<Dlsym>(::dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.34"));
  const auto older = reinterpret_cast<Dlsym>(::dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.2.5"));
  if (handle == RTLD_NEXT) handle = ::dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);
  return real != nullptr ? real(handle, name) : older(handle, name);
}
