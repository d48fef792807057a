// SPDX-License-Identifier: BSD-3-Clause
// One piece of work for malloc, timed. It knows nothing of Tutti: compare.py runs it plain and
// under the preload. Prints a line of JSON: time and page faults of an operation, and the memory
// that was resident at most and at the end, when all has been freed.
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <thread>
#include <vector>

namespace {

constexpr std::size_t kib = 1024, mib = 1024 * kib, page = 4096;

void touch(void* block, std::size_t bytes) {
  auto* at = static_cast<volatile char*>(block);
  for (std::size_t i = 0; i < bytes; i += page) at[i] = 1;
}

// Blocks of random size in random order, with `live` of them at a time.
void churn(unsigned seed, long operations, std::size_t least, std::size_t most, std::size_t live,
           bool touched) {
  std::mt19937 random(seed);
  std::vector<void*> blocks(live, nullptr);
  for (long i = 0; i < operations; ++i) {
    void*& block = blocks[random() % live];
    std::free(block);
    const std::size_t bytes = least + random() % (most - least);
    block = std::malloc(bytes);
    if (touched) touch(block, bytes);
  }
  for (void* block : blocks) std::free(block);
}

void small(long n) { churn(1, n, 16, 2 * kib, 1000, true); }
void medium(long n) { churn(1, n, 32 * kib, 256 * kib, 64, true); }
void large(long n) { churn(1, n, 256 * kib, 8 * mib, 16, true); }
void untouched(long n) { churn(1, n, 32 * kib, 256 * kib, 64, false); }

void threads(long n) {
  std::thread other([n] { churn(2, n / 2, 32 * kib, 256 * kib, 64, true); });
  churn(1, n / 2, 32 * kib, 256 * kib, 64, true);
  other.join();
}

// What threads of OpenMP programs do: blocks of 8 KiB to 4 MiB, as many small ones as large ones
// (log-uniform), of which each thread has some dozens, touched here and there. Every eighth is
// freed by whichever thread finds it.
class Mixed {
 public:
  static void run(int threads, long operations) {
    Mixed shared;
    std::vector<std::thread> others;
    for (int i = 1; i < threads; ++i)
      others.emplace_back([&, i] { shared.work(static_cast<unsigned>(i), operations / threads); });
    shared.work(0, operations / threads);
    for (std::thread& other : others) other.join();
    for (std::atomic<void*>& hand : shared.hands_) std::free(hand.load());
  }

 private:
  void work(unsigned seed, long operations) {
    std::mt19937 random(seed);
    std::vector<void*> blocks(32, nullptr);
    for (long i = 0; i < operations; ++i) {
      void*& block = blocks[random() % blocks.size()];
      if (random() % 8 == 0) block = hands_[random() % hands].exchange(block);
      std::free(block);
      const double log2 = 13 + 9 * static_cast<double>(random()) / 0x1p32;
      const auto bytes = static_cast<std::size_t>(std::exp2(log2));
      block = std::malloc(bytes);
      auto* at = static_cast<volatile char*>(block);
      for (std::size_t offset = 0; offset < bytes; offset += std::size_t{64} * kib) at[offset] = 1;
      at[bytes - 1] = 1;
    }
    for (void* block : blocks) std::free(block);
  }

  static constexpr std::size_t hands = 16;
  std::atomic<void*> hands_[hands] = {};
};

void mixed_1(long n) { Mixed::run(1, n); }
void mixed_2(long n) { Mixed::run(2, n); }
void mixed_8(long n) { Mixed::run(8, n); }

void same_again(long n) {
  for (long i = 0; i < n; ++i) {
    void* block = std::malloc(16 * mib);
    touch(block, 16 * mib);
    std::free(block);
  }
}

void beyond_budget(long n) {
  for (long i = 0; i < n; ++i) {
    void* block = std::malloc(200 * mib);
    touch(block, 200 * mib);
    std::free(block);
  }
}

void zeroed(long n) {
  for (long i = 0; i < n; ++i) {
    void* block = std::calloc(1, 1 * mib);
    touch(block, 1 * mib);
    std::free(block);
  }
}

void growth(long n) {
  for (long i = 0; i < n; ++i) {
    void* block = nullptr;
    for (std::size_t bytes = 4 * kib; bytes <= 16 * mib; bytes += 16 * kib) {
      block = std::realloc(block, bytes);
      touch(static_cast<char*>(block) + bytes - 4 * kib, 4 * kib);
    }
    std::free(block);
  }
}

// One block that stays, as simulations have them: the price of fresh pages.
void first_touch(long n) {
  std::vector<void*> blocks;
  for (long i = 0; i < n; ++i) {
    blocks.push_back(std::malloc(32 * mib));
    touch(blocks.back(), 32 * mib);
  }
  for (void* block : blocks) std::free(block);
}

struct Work {
  const char* name;
  void (*run)(long);
  long operations;
};
constexpr Work works[] = {
    {"small", small, 5'000'000},     {"untouched", untouched, 1'000'000},
    {"medium", medium, 200'000},     {"threads", threads, 200'000},
    {"mixed_1", mixed_1, 100'000},   {"mixed_2", mixed_2, 100'000},
    {"mixed_8", mixed_8, 100'000},   {"large", large, 4'000},
    {"same_again", same_again, 400}, {"beyond_budget", beyond_budget, 10},
    {"zeroed", zeroed, 3'000},       {"growth", growth, 20},
    {"first_touch", first_touch, 8},
};

// "VmHWM" or "VmRSS", in KiB.
long memory_kib(const char* key) {
  std::FILE* file = std::fopen("/proc/self/status", "r");
  char line[256];
  long value = -1;
  const std::size_t length = std::strlen(key);
  while (std::fgets(line, sizeof line, file) != nullptr)
    if (std::strncmp(line, key, length) == 0) value = std::atol(line + length + 1);
  std::fclose(file);
  return value;
}

}  // namespace

int main(int argc, char** argv) {
  for (const Work& work : works) {
    if (argc != 2 || std::strcmp(argv[1], work.name) != 0) continue;
    rusage before{}, after{};
    ::getrusage(RUSAGE_SELF, &before);
    const auto from = std::chrono::steady_clock::now();
    work.run(work.operations);
    const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - from;
    ::getrusage(RUSAGE_SELF, &after);
    const auto operations = static_cast<double>(work.operations);
    std::printf(
        "{\"work\": \"%s\", \"ns\": %.1f, \"faults\": %.3f, \"peak_kib\": %ld, \"end_kib\": %ld}\n",
        work.name, took.count() / operations,
        static_cast<double>(after.ru_minflt - before.ru_minflt) / operations, memory_kib("VmHWM"),
        memory_kib("VmRSS"));
    return 0;
  }
  std::fprintf(stderr, "usage: %s WORK, with WORK one of:", argv[0]);
  for (const Work& work : works) std::fprintf(stderr, " %s", work.name);
  std::fprintf(stderr, "\n");
  return 2;
}
