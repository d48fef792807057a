// SPDX-License-Identifier: BSD-3-Clause
// A vector is cut into a slice a rank, and a rank computes its slice of every rank's result.
// Operand k of it, and result k, lie at k times the slice's bytes in `send` and `recv`: together
// one vector, which is what the buffers hold.
#include "tutti_bench/limits.h"

#include <algorithm>

namespace tutti::bench::limits {
namespace {

constexpr std::size_t block_bytes = 8192;  // stays in the first-level cache

class Slices {
 public:
  Slices(P p, S s)
      : count(std::max<std::size_t>(1, static_cast<std::size_t>(p.count / p.ranks))),
        bytes_(count * p.element),
        last_(p.bytes - bytes_),
        slot_(s) {}

  const std::size_t count;  // elements of one
  [[nodiscard]] std::byte* operand(int k) const { return slot_.send + at(k); }
  [[nodiscard]] std::byte* result(int k) const { return slot_.recv + at(k); }

 private:
  // The last slice stays inside for small counts.
  [[nodiscard]] std::size_t at(int k) const {
    return std::min(static_cast<std::size_t>(k) * bytes_, last_);
  }
  std::size_t bytes_, last_;
  Slot slot_;
};

// Calls work(first, n) for each block of the slices: its offset in bytes and its elements.
template <class Work>
void by_blocks(P p, const Slices& slices, Work work) {
  const std::size_t block = std::max<std::size_t>(1, block_bytes / p.element);
  for (std::size_t first = 0; first < slices.count; first += block)
    work(first * p.element, std::min(block, slices.count - first));
}

// Adds up a slice of all operands. The last step, which alone needs memory to write the result to,
// writes it `copies` times.
void reduction(P p, S s, Stores stores, int copies) {
  const Slices slices(p, s);
  if (p.ranks == 1) return reduce::copy(s.recv, s.send, slices.count * p.element, stores);
  if (p.ranks == 2 && copies == 2)
    return p.kernel->apply2(slices.result(0), slices.result(1), slices.operand(0),
                            slices.operand(1), slices.count, stores);
  by_blocks(p, slices, [&](std::size_t offset, std::size_t n) {
    alignas(line_bytes) std::byte sum[block_bytes];
    const std::byte* left = slices.operand(0) + offset;
    for (int k = 1; k < p.ranks; ++k) {
      const bool last = k + 1 == p.ranks && copies == 1;
      p.kernel->apply(last ? slices.result(0) + offset : sum, left, slices.operand(k) + offset, n,
                      last ? stores : Stores::plain);
      left = sum;
    }
    for (int k = 0; copies > 1 && k < copies; ++k)
      reduce::copy(slices.result(k) + offset, sum, n * p.element, stores);
  });
}

// The sums of 1, 2, ... operands, each written once: `begin` (0 or 1) is the first rank that gets
// one, and rank k's has k + 1 - begin operands.
void prefixes(P p, S s, Stores stores, int begin) {
  const Slices slices(p, s);
  by_blocks(p, slices, [&](std::size_t offset, std::size_t n) {
    alignas(line_bytes) std::byte sum[block_bytes];
    const std::byte* left = slices.operand(0) + offset;
    for (int k = begin; k < p.ranks; ++k) {
      std::byte* result = slices.result(k) + offset;
      if (k == begin) {
        reduce::copy(result, left, n * p.element, stores);
        continue;
      }
      const std::byte* right = slices.operand(k - begin) + offset;
      // What was written by plain stores is still in the cache; else a sum is kept there.
      const bool plain = stores == Stores::plain;
      p.kernel->apply(plain ? result : sum, left, right, n, Stores::plain);
      if (!plain) reduce::copy(result, sum, n * p.element, stores);
      left = plain ? result : sum;
    }
  });
}

}  // namespace

void barrier(P p, S, Stores) { p.page->exchange_flags(); }

// ranks - 1 copies of the data are written; the slice of each is read once and stays in cache.
void bcast(P p, S s, Stores stores) {
  const std::size_t total = p.bytes * static_cast<std::size_t>(p.ranks - 1);
  reduce::copy(s.recv, s.send, divide_up(total, static_cast<std::size_t>(p.ranks)), stores);
}

void reduce(P p, S s, Stores stores) { reduction(p, s, stores, 1); }
void allreduce(P p, S s, Stores stores) { reduction(p, s, stores, p.ranks); }
void scan(P p, S s, Stores stores) { prefixes(p, s, stores, 0); }
void exscan(P p, S s, Stores stores) { prefixes(p, s, stores, 1); }

void gather(P p, S s, Stores stores) { reduce::copy(s.recv, s.send, p.bytes, stores); }

// Every rank's block is written once for each rank, but comes from memory once.
void allgather(P p, S s, Stores stores) {
  for (std::size_t first = 0; first < p.bytes; first += block_bytes) {
    const std::size_t n = std::min(block_bytes, p.bytes - first);
    for (int k = 0; k < p.ranks; ++k)
      reduce::copy(s.recv + static_cast<std::size_t>(k) * p.bytes + first, s.send + first, n,
                   stores);
  }
}

void alltoall(P p, S s, Stores stores) {
  reduce::copy(s.recv, s.send, p.bytes * static_cast<std::size_t>(p.ranks), stores);
}

}  // namespace tutti::bench::limits
