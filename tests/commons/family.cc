// SPDX-License-Identifier: BSD-3-Clause
// The whole malloc family, as a program that knows nothing of Tutti uses it. Whether it runs under
// the preload, and whether large blocks (32 KiB: TUTTI_COMMONS_THRESHOLD is set) must then lie in
// the commons, says its argument: "commons" or "plain".
#include <dlfcn.h>
#include <malloc.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "check.h"

namespace {

bool commons_expected = false;

// Keeps the compiler from reasoning about what an allocation function returns or is given.
template <class T>
T opaque(T value) {
  asm volatile("" : "+r"(value));
  return value;
}

void expect_large(void* block, std::size_t bytes, std::size_t alignment = 16) {
  CHECK(block != nullptr);
  CHECK(reinterpret_cast<std::uintptr_t>(block) % alignment == 0);
  CHECK(malloc_usable_size(block) >= bytes);
  CHECK(lies_in_commons(block) == commons_expected);
  std::memset(block, 0xa5, bytes);
}

void expect_small(void* block, std::size_t bytes) {
  CHECK(block != nullptr);
  CHECK(!lies_in_commons(block));
  std::memset(block, 0xa5, bytes);
}

constexpr std::size_t small = 1000, large = 300'000;

void check_each_function() {
  for (int round = 0; round < 3; ++round) {
    void* blocks[8] = {std::malloc(large),
                       std::calloc(large / 8, 8),
                       memalign(256, large),
                       aligned_alloc(4096, large),
                       valloc(large),
                       pvalloc(large),
                       std::realloc(nullptr, large),
                       reallocarray(nullptr, large / 4, 4)};
    for (void* block : blocks) expect_large(block, large);
    void* aligned = nullptr;
    CHECK(posix_memalign(&aligned, 1 << 21, large) == 0);
    expect_large(aligned, large, 1 << 21);
    std::free(aligned);
    for (void* block : blocks) std::free(block);
  }
  void* blocks[8] = {std::malloc(small),
                     std::calloc(small / 8, 8),
                     memalign(256, small),
                     aligned_alloc(64, small),
                     valloc(small),
                     pvalloc(small),
                     std::realloc(nullptr, small),
                     reallocarray(nullptr, small / 4, 4)};
  for (void* block : blocks) expect_small(block, small);
  for (void* block : blocks) std::free(block);
  std::free(nullptr);
  CHECK(malloc_usable_size(nullptr) == 0);
}

void check_zeroing() {
  for (std::size_t bytes : {small, large, std::size_t{5'000'000}}) {
    auto* dirty = static_cast<char*>(std::malloc(bytes));
    std::memset(opaque(dirty), 0xff, bytes);
    std::free(opaque(dirty));
    auto* block = static_cast<char*>(std::calloc(1, bytes));
    for (std::size_t i = 0; i < bytes; ++i) CHECK(block[i] == 0);
    std::free(block);
  }
}

void check_errors() {
  const std::size_t huge = opaque(SIZE_MAX / 2);
  errno = 0;
  CHECK(std::malloc(huge) == nullptr && errno == ENOMEM);
  errno = 0;
  CHECK(std::calloc(opaque(SIZE_MAX / 2), 3) == nullptr && errno == ENOMEM);
  for (std::size_t bytes : {small, large}) {
    void* const block = std::malloc(bytes);
    void* const kept = opaque(block);  // the compiler takes `block` for gone once it is resized
    std::memset(block, 7, bytes);
    errno = 0;
    CHECK(std::realloc(block, huge) == nullptr && errno == ENOMEM);
    errno = 0;
    CHECK(reallocarray(block, opaque(SIZE_MAX / 2), 3) == nullptr && errno == ENOMEM);
    CHECK(static_cast<char*>(kept)[bytes - 1] == 7);
    errno = 0;
    CHECK(std::realloc(kept, opaque(std::size_t{0})) == nullptr && errno == 0);
  }
  void* out = &out;
  CHECK(posix_memalign(&out, opaque(std::size_t{24}), large) == EINVAL && out == &out);
  CHECK(posix_memalign(&out, opaque(std::size_t{4}), large) == EINVAL && out == &out);
  CHECK(posix_memalign(&out, opaque(std::size_t{0}), large) == EINVAL && out == &out);
  CHECK(posix_memalign(&out, 64, huge) == ENOMEM && out == &out);
  void* block = memalign(opaque(std::size_t{48}), large);  // glibc rounds it up
  CHECK(block != nullptr && reinterpret_cast<std::uintptr_t>(block) % 64 == 0);
  std::free(block);
  errno = 77;
  block = std::malloc(large);
  std::free(opaque(block));
  CHECK(errno == 77);
}

// Back and forth over the threshold, with the contents kept.
void check_realloc() {
  char* block = nullptr;
  std::size_t filled = 0;
  for (std::size_t bytes : {100ul, 20'000ul, 40'000ul, 31'000ul, 33'000ul, 5'000'000ul, 40'000ul,
                            15'000ul, 50'000ul, 8ul, 70'000'000ul, 32'768ul, 32'767ul, 1ul}) {
    block = static_cast<char*>(std::realloc(block, bytes));
    CHECK(block != nullptr && malloc_usable_size(block) >= bytes);
    for (std::size_t i = 0; i < std::min(filled, bytes); i += 97)
      CHECK(block[i] == static_cast<char>(i * 31));
    for (std::size_t i = 0; i < bytes; ++i) block[i] = static_cast<char>(i * 31);
    filled = bytes;
    if (bytes >= 32'768) CHECK(lies_in_commons(block) == commons_expected);
    if (bytes < 16'384) CHECK(!lies_in_commons(block));
  }
  std::free(block);
  // Growth by little steps moves rarely once it is in the commons.
  int moves = 0;
  block = static_cast<char*>(std::malloc(large));
  for (std::size_t bytes = large; bytes < 100 * large; bytes += 4096) {
    const auto before = reinterpret_cast<std::uintptr_t>(block);
    block = static_cast<char*>(std::realloc(block, bytes));
    moves += reinterpret_cast<std::uintptr_t>(block) != before;
  }
  if (commons_expected) CHECK(moves <= 3);
  std::free(block);
}

// What libc and the C++ run-time library allocate.
void check_callers() {
  const std::string text(large, 'x');
  char* copy = opaque(strdup(text.c_str()));
  CHECK(lies_in_commons(copy) == commons_expected && text == copy);
  std::free(copy);
  auto numbers = std::make_unique<double[]>(large);
  CHECK(lies_in_commons(numbers.get()) == commons_expected);
  struct alignas(512) Wide {
    char bytes[512];
  };
  std::vector<Wide> wide(large / 512);
  CHECK(reinterpret_cast<std::uintptr_t>(opaque(wide.data())) % 512 == 0);
  char* formatted = nullptr;
  CHECK(asprintf(&formatted, "%s%s", text.c_str(), "y") == static_cast<int>(large) + 1);
  CHECK(formatted[large] == 'y');
  std::free(formatted);
  // Old programs call cfree, which glibc offers to nobody who is linked today.
  using Free = void (*)(void*);
  if (auto cfree = reinterpret_cast<Free>(dlsym(RTLD_DEFAULT, "cfree")); cfree && commons_expected)
    cfree(std::malloc(large));
  (void)malloc_trim(0);
}

void check_forks() {
  using Fork = pid_t (*)();
  const Fork forks[] = {::fork, reinterpret_cast<Fork>(dlsym(RTLD_DEFAULT, "_Fork"))};
  std::vector<int> numbers(large, 1);
  for (const Fork make_child : forks) {
    if (make_child == nullptr) continue;
    int ready[2];
    CHECK(::pipe(ready) == 0);
    const pid_t child = make_child();
    if (child == 0) {
      char c;
      const bool told = ::read(ready[0], &c, 1) == 1;
      bool good = told && numbers[large - 1] == 1;
      numbers.assign(large, 3);
      std::vector<int> more(large, 4);
      ::_exit(good ? 0 : 1);
    }
    numbers.assign(large, 2);
    CHECK(::write(ready[1], "x", 1) == 1);
    int status = -1;
    CHECK(::waitpid(child, &status, 0) == child && status == 0);
    CHECK(numbers[0] == 2 && numbers[large - 1] == 2);
    numbers.assign(large, 1);
    ::close(ready[0]);
    ::close(ready[1]);
  }
  CHECK(std::system("exit 3") == 3 << 8);
}

void check_threads() {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([] {
      for (int i = 0; i < 300; ++i) {
        std::vector<char> bytes(static_cast<std::size_t>(1000 + i * 997), 'a');
        bytes.resize(bytes.size() * 2, 'b');
        if (bytes[0] != 'a' || bytes.back() != 'b') std::abort();
      }
    });
  for (std::thread& thread : threads) thread.join();
}

}  // namespace

int main(int argc, char** argv) {
  CHECK(argc == 2);
  commons_expected = std::strcmp(argv[1], "commons") == 0;
  check_each_function();
  check_zeroing();
  check_errors();
  check_realloc();
  check_callers();
  check_forks();
  check_threads();
  std::puts("all is well");
}
