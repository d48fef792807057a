// SPDX-License-Identifier: BSD-3-Clause
// Scan and Exscan between the users' buffers. Every member takes slices of the vector and folds
// them through all operands, in the order of the ranks, writing each prefix to the member that
// wants it: P - 1 operations an element for all prefixes together, nothing staged where memory is
// mapped.
#pragma once

#include "coll/scan/line.h"

namespace tutti::coll::scan {
namespace detail {

struct Cards {
  Card send;
  Card recv;
};

inline constexpr std::size_t mapped_block_bytes = std::size_t{8} << 10;  // stays in the first cache
inline constexpr std::size_t copied_block_bytes = std::size_t{64} << 10;

// All prefixes of elements [begin, begin + count), block by block. `scratch` holds three blocks.
template <Fabric F>
void fold(F& f, const Work& work, Kind kind, const Cards* cards, std::size_t begin,
          std::size_t count, std::size_t block_bytes, std::byte* scratch) {
  const std::size_t element = work.element_bytes;
  const std::size_t block = block_bytes / element;
  for (std::size_t done = 0; done < count; done += block) {
    const std::size_t n = std::min(block, count - done), bytes = n * element;
    const std::size_t offset = (begin + done) * element;
    const auto operand = [&](int q) -> const std::byte* {
      if (const std::byte* in = f.map(q, cards[q].send)) return in + offset;
      f.read(q, cards[q].send, offset, scratch, bytes);
      return scratch;
    };
    const auto give = [&](int q, const std::byte* prefix) {
      if (std::byte* out = f.map(q, cards[q].recv)) {
        if (out + offset != prefix) reduce::copy(out + offset, prefix, bytes, work.stores);
      } else {
        f.write(q, cards[q].recv, offset, prefix, bytes);
      }
    };
    std::byte* sum = scratch + block_bytes;
    std::byte* next = sum + block_bytes;
    std::memcpy(sum, operand(0), bytes);
    if (kind == Kind::inclusive) give(0, sum);
    for (int q = 1; q < f.size(); ++q) {
      // In place the result replaces the operand, which must have been used by then.
      const bool used = kind == Kind::inclusive || q < f.size() - 1;
      if (used) work.kernel->apply(next, sum, operand(q), n, Stores::plain);
      give(q, kind == Kind::inclusive ? next : sum);
      std::swap(sum, next);
    }
  }
}

}  // namespace detail

template <Fabric F, Kind kind>
Task direct(F& f, const Work& work) {
  const Step step = f.next_step();
  const int ranks = f.size();
  const std::size_t table = static_cast<std::size_t>(ranks) * sizeof(detail::Cards);
  std::byte* const scratch = f.scratch(3 * detail::copied_block_bytes + table);
  auto* const cards = reinterpret_cast<detail::Cards*>(scratch + 3 * detail::copied_block_bytes);
  detail::Cards& mine = cards[f.rank()];
  mine.send = f.offer(work.send, work.bytes());
  // Nobody gives the first member of an exclusive scan anything.
  const bool gets = kind == Kind::inclusive || f.rank() > 0;
  mine.recv = gets ? f.offer(work.recv, work.bytes()) : mine.send;
  f.open_share(step);
  co_await f.room(step);
  f.post(step, bytes_of(mine));
  bool mapped = true, reachable = true;
  for (int q = 0; q < ranks; ++q) {
    detail::Cards& theirs = cards[q];
    if (q != f.rank()) std::memcpy(&theirs, co_await f.posted(q, step), sizeof theirs);
    const Way worst = std::max(theirs.send.way, theirs.recv.way);
    mapped = mapped && worst == Way::mapped;
    reachable = reachable && worst != Way::staged;
  }
  f.everyone_arrived();
  // Everyone has seen everyone's cards, so everyone agrees.
  if (!reachable || (!mapped && work.bytes() < copied_bytes)) {
    f.finish(step);
    co_await staged<F, kind>(f, work);
    co_return;
  }
  f.take(mapped ? Route::mapped : Route::copied);
  const auto parts = static_cast<std::size_t>(ranks);
  const std::size_t most = mapped ? std::size_t{64} << 10 : std::size_t{256} << 10;
  const std::size_t chunk = chunk_of(work.count / parts + 64, most / work.element_bytes);
  const auto part_of = [&](int q) {
    return slice_of(work.count, parts, static_cast<std::size_t>(q));
  };
  const auto chunks_of = [&](int q) {
    return static_cast<std::uint32_t>(divide_up(part_of(q).count, chunk));
  };
  const std::size_t block = mapped ? detail::mapped_block_bytes : detail::copied_block_bytes;
  f.begin_work();
  for (int k = 0; k < ranks; ++k) {
    const int owner = (f.rank() + k) % ranks;
    const Slice slice = part_of(owner);
    std::int64_t index;
    while ((index = f.claim(owner, step, chunks_of(owner))) != fabric::no_chunk) {
      const std::size_t first = static_cast<std::size_t>(index) * chunk;
      detail::fold(f, work, kind, cards, slice.begin + first, std::min(chunk, slice.count - first),
                   block, scratch);
      f.land(owner, step);
      co_await f.pause();
    }
  }
  for (int k = 0; k < ranks; ++k) {
    const int owner = (f.rank() + k) % ranks;
    co_await f.landed(owner, step, chunks_of(owner));
  }
  f.end_work();
  f.finish(step);
}

}  // namespace tutti::coll::scan
