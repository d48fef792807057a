// SPDX-License-Identifier: BSD-3-Clause
#include "tutti_bench/collectives.h"

#include <algorithm>

namespace tutti::bench {
namespace {

using reduce::Stores;

bool everywhere(const Problem&) { return true; }
bool nowhere(const Problem&) { return false; }
bool at_root(const Problem& p) { return p.rank == p.root; }
bool at_others(const Problem& p) { return p.rank != p.root; }

void call_bcast(const Functions& f, const Problem& p, const Slot& s) {
  f.bcast(at_root(p) ? s.send : s.recv, p.count, p.type, p.root, p.comm);
}
void call_reduce(const Functions& f, const Problem& p, const Slot& s) {
  f.reduce(s.send, s.recv, p.count, p.type, p.op, p.root, p.comm);
}
void call_allreduce(const Functions& f, const Problem& p, const Slot& s) {
  f.allreduce(s.send, s.recv, p.count, p.type, p.op, p.comm);
}
void call_barrier(const Functions& f, const Problem& p, const Slot&) { f.barrier(p.comm); }

// The elements that a rank is to compute, at least one. Operand k of them, and copy k of the
// result, lie at k times their bytes in `send` and `recv`: ranks x count/ranks elements, which is
// what the buffers hold.
std::size_t share(const Problem& p) {
  return std::max<std::size_t>(1, static_cast<std::size_t>(p.count / p.ranks));
}

// Adds up a slice of all operands. The last step, which alone needs memory to write the result to,
// writes it `copies` times.
void limit_reduction(const Problem& p, const Slot& s, Stores stores, int copies) {
  const std::size_t count = share(p);
  const std::size_t bytes = count * p.element;
  const auto at = [&](std::byte* base, int k) {  // the last slice stays inside for small counts
    return base + std::min(static_cast<std::size_t>(k) * bytes, p.bytes - bytes);
  };
  if (p.ranks == 1) return reduce::copy(s.recv, s.send, bytes, stores);
  if (p.ranks == 2 && copies == 2)
    return p.kernel->apply2(s.recv, at(s.recv, 1), s.send, at(s.send, 1), count, stores);
  // A block at a time, so that intermediate sums stay in the first-level cache, and so do the
  // copies' sources.
  const std::size_t block = std::max<std::size_t>(1, 8192 / p.element);
  for (std::size_t first = 0; first < count; first += block) {
    const std::size_t n = std::min(block, count - first);
    const std::size_t offset = first * p.element;
    alignas(line_bytes) std::byte sum[8192];
    const std::byte* left = s.send + offset;
    for (int k = 1; k < p.ranks; ++k) {
      const bool last = k + 1 == p.ranks;
      p.kernel->apply(last && copies == 1 ? s.recv + offset : sum, left, at(s.send, k) + offset, n,
                      last && copies == 1 ? stores : Stores::plain);
      left = sum;
    }
    for (int k = 0; copies > 1 && k < copies; ++k)
      reduce::copy(at(s.recv, k) + offset, sum, n * p.element, stores);
  }
}

void limit_allreduce(const Problem& p, const Slot& s, Stores stores) {
  limit_reduction(p, s, stores, p.ranks);
}
void limit_reduce(const Problem& p, const Slot& s, Stores stores) {
  limit_reduction(p, s, stores, 1);
}

// ranks - 1 copies of the data are written; the slice of each is read once and stays in cache.
void limit_bcast(const Problem& p, const Slot& s, Stores stores) {
  const std::size_t total = p.bytes * static_cast<std::size_t>(p.ranks - 1);
  const std::size_t bytes = divide_up(total, static_cast<std::size_t>(p.ranks));
  reduce::copy(s.recv, s.send, bytes, stores);
}

void limit_barrier(const Problem& p, const Slot&, Stores) { p.page->exchange_flags(); }

constexpr Collective rows[] = {
    {"bcast", true, false, call_bcast, at_others, limit_bcast},
    {"reduce", true, true, call_reduce, at_root, limit_reduce},
    {"allreduce", true, true, call_allreduce, everywhere, limit_allreduce},
    {"barrier", false, false, call_barrier, nowhere, limit_barrier},
};

}  // namespace

std::span<const Collective> collectives() { return rows; }

}  // namespace tutti::bench
