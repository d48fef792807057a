// SPDX-License-Identifier: BSD-3-Clause
// What reductions between the users' own buffers share. Every member tells where its operand is and
// where its result goes. Then all of them take chunks of the vector, first those of their own slice
// and then those of the others. So a rank that has arrived but lost its core holds up nobody for
// long.
#pragma once

#include <cstring>

#include "coll/coll.h"

namespace tutti::coll::sliced {

struct Cards {
  Card send;
  Card recv;
};

// Everyone's cards, at the start of this rank's scratch, and so many bytes of it behind them.
template <Fabric F>
class Table {
 public:
  explicit Table(F& f, std::size_t bytes_behind = 0)
      : f_(f), all_(f.scratch(bytes() + bytes_behind)) {}
  [[nodiscard]] Cards* cards() const { return reinterpret_cast<Cards*>(all_); }
  [[nodiscard]] std::byte* room() const { return all_ + bytes(); }
  // More of them. The cards may move.
  [[nodiscard]] std::byte* room(std::size_t bytes_behind) {
    all_ = f_.scratch(bytes() + bytes_behind);
    return room();
  }

 private:
  [[nodiscard]] std::size_t bytes() const {
    return round_up(static_cast<std::size_t>(f_.size()) * sizeof(Cards), line_bytes);
  }

  F& f_;
  std::byte* all_;
};

// Slices begin at multiples of so many elements.
constexpr std::size_t grain_of(const Work& work) {
  return work.element_bytes > most_slot_element_bytes ? 1 : 64;
}
// How many elements make a chunk: `most` bytes. Slices have up to `longest` elements.
constexpr std::size_t chunk_of(const Work& work, std::size_t longest, std::size_t most) {
  if (grain_of(work) > 1) return coll::chunk_of(longest + 64, most / work.element_bytes);
  return std::max({std::size_t{1}, most / work.element_bytes,
                   divide_up(longest, std::size_t{segment::most_chunks})});
}
// The size of blocks of so many bytes, or of one element that is larger.
constexpr std::size_t block_of(const Work& work, std::size_t bytes) {
  return std::max(bytes, round_up(work.element_bytes, 64));
}

// The worst ways of all members.
struct WorstTransports {
  Transport sends = best_transport;
  Transport recvs = best_transport;
};

// Posts cards[rank] and fills in all the others.
template <Fabric F>
Task exchange(F& f, Step step, Cards* cards, WorstTransports& transports) {
  f.open_share(step);
  co_await f.room(step);
  f.post(step, bytes_of(cards[f.rank()]));
  for (int q = 0; q < f.size(); ++q) {
    Cards& theirs = cards[q];
    if (q != f.rank()) std::memcpy(&theirs, co_await f.posted(q, step), sizeof theirs);
    transports.sends = worse_of(transports.sends, theirs.send.transport);
    transports.recvs = worse_of(transports.recvs, theirs.recv.transport);
  }
  f.everyone_arrived();
}

// Calls work_on(owner, begin, count) for every chunk that this member gets. `begin` and `count` are
// in elements of `element` bytes. `alone`: it takes chunks of its own slice alone, else anybody's.
// Ends when all chunks of all members are done. `passes`: how often each element is folded or
// copied. `late`: only a thread of the rank may take chunks.
template <Fabric F, class PartOf, class WorkOn>
Task share_out(F& f, Step step, std::size_t element, int passes, std::size_t chunk, bool alone,
               bool late, PartOf part_of, WorkOn work_on) {
  const int ranks = f.size();
  const auto chunks_of = [&](int q) {
    return static_cast<std::uint32_t>(divide_up(part_of(q).count, chunk));
  };
  // A late reduction waits for a thread of the rank. Others may have done all before one comes.
  for (int q = 0; late && q < ranks; ++q) co_await f.folding(q, step, chunks_of(q));
  f.begin_shared_work();
  for (int k = 0; k < (alone ? 1 : ranks); ++k) {
    // Ranks that share this core and have not had it yet had better do their slices themselves:
    // they find more of them in the caches, and in the page tables.
    if (k == 1) f.step_aside();
    const int owner = member_after(f, k);
    const Slice slice = part_of(owner);
    const std::uint32_t chunks = chunks_of(owner);
    std::int64_t index;
    while ((index = f.claim(owner, step, chunks)) != fabric::no_chunk) {
      const std::size_t first = static_cast<std::size_t>(index) * chunk;
      const std::size_t size = std::min(chunk, slice.count - first);
      work_on(owner, slice.begin + first, size);
      co_await f.pause(size * element * static_cast<std::size_t>(passes), passes);
      f.land(owner, step);
    }
  }
  for (int k = 0; k < ranks; ++k) {
    const int owner = member_after(f, k);
    co_await f.landed(owner, step, chunks_of(owner));
  }
  f.end_work();
  f.finish(step);
}

}  // namespace tutti::coll::sliced
