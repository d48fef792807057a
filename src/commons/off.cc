// SPDX-License-Identifier: BSD-3-Clause
// Who does without a commons: those who asked for it, and tools that must see every allocation
// themselves.
#include "commons/off.h"

#include <cstdlib>
#include <cstring>

#include "base/base.h"
#include "base/words.h"
#include "os/limits.h"

#if defined(__has_feature)
#define TUTTI_HAS_FEATURE(x) __has_feature(x)
#else
#define TUTTI_HAS_FEATURE(x) 0
#endif

// Defined by the run-time libraries of the sanitizers, if the program was built with one.
extern "C" {
[[gnu::weak]] void __asan_init();
[[gnu::weak]] void __hwasan_init();
[[gnu::weak]] void __msan_init();
[[gnu::weak]] void __tsan_init();
}

namespace tutti::commons {
namespace {

// When Tutti itself is built with a sanitizer, the sanitizer is there to watch the commons.
constexpr bool built_with_sanitizer =
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) ||                  \
    TUTTI_HAS_FEATURE(address_sanitizer) || TUTTI_HAS_FEATURE(hwaddress_sanitizer) || \
    TUTTI_HAS_FEATURE(memory_sanitizer) || TUTTI_HAS_FEATURE(thread_sanitizer)
    true;
#else
    false;
#endif

bool under_sanitizer() {
  return !built_with_sanitizer && (__asan_init != nullptr || __hwasan_init != nullptr ||
                                   __msan_init != nullptr || __tsan_init != nullptr);
}

// Valgrind preloads its own libraries, and hides that from the children of the program.
bool under_valgrind() {
  const char* preloaded = std::getenv("LD_PRELOAD");
  return preloaded != nullptr && std::strstr(preloaded, "vgpreload") != nullptr;
}

}  // namespace

const char* why_off() {
  if (kernel_page_bytes() != page_bytes) return "pages of this kernel have another size";
  if (options().off) return "TUTTI_OFF is set";
  if (!has_word(options().memory, "commons")) return "TUTTI_MEMORY does not list commons";
  if (os::promise_limit_bytes() == 0)
    return "vm.overcommit_memory is 2, and what is shared is only counted when it is touched";
  if (under_valgrind()) return "the program runs under valgrind";
  if (under_sanitizer()) return "the program was built with a sanitizer";
  return nullptr;
}

}  // namespace tutti::commons
