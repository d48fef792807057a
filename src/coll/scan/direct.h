// SPDX-License-Identifier: BSD-3-Clause
// Scan and Exscan between the users' buffers. Every member takes slices of the vector. It folds
// them through all operands, in the order of the ranks, and writes each prefix to the member that
// wants it. That is P - 1 operations an element for all prefixes together. Nothing is staged where
// memory is mapped.
#pragma once

#include "coll/late/gathered.h"
#include "coll/scan/line.h"
#include "coll/sliced.h"

namespace tutti::coll::scan {
namespace detail {

using sliced::Cards;

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
    // For prefixes that this member cannot make in place, or reads again after a streaming store.
    std::byte* next = scratch + block_bytes;
    std::byte* other = next + block_bytes;
    const std::byte* sum = operand(0);
    if (sum == scratch) sum = static_cast<std::byte*>(std::memcpy(other, sum, bytes));
    if (kind == Kind::inclusive) give(0, sum);
    for (int q = 1; q < f.size(); ++q) {
      const bool last = q == f.size() - 1;
      if (kind == Kind::exclusive) {
        // In place the result replaces the operand, which must have been used by then.
        if (!last) work.kernel->apply(next, sum, operand(q), n, Stores::plain);
        give(q, sum);
      } else if (std::byte* out = f.map(q, cards[q].recv);
                 out != nullptr && (last || work.stores == Stores::plain)) {
        work.kernel->apply(out + offset, sum, operand(q), n, work.stores);
        sum = out + offset;
        continue;
      } else {
        work.kernel->apply(next, sum, operand(q), n, Stores::plain);
        give(q, next);
      }
      sum = next;
      std::swap(next, other);
    }
  }
}

}  // namespace detail

template <Fabric F, Kind kind>
Task direct(F& f, const Work& work) {
  const Step step = f.next_step();
  const int ranks = f.size();
  sliced::Table<F> table(f);
  detail::Cards& mine = table.cards()[f.rank()];
  mine.send = f.offer(work.send, work.bytes());
  // Nobody gives the first member of an exclusive scan anything.
  const bool gets = kind == Kind::inclusive || f.rank() > 0;
  mine.recv = gets ? f.offer(work.recv, work.bytes()) : mine.send;
  if (gets) f.populate(work.recv, work.bytes());
  sliced::WorstTransports transports;
  co_await sliced::exchange(f, step, table.cards(), transports);
  const Transport worst = worse_of(transports.sends, transports.recvs);
  const bool mapped = can_map(worst);
  // Everyone has seen everyone's cards, so everyone agrees.
  if (!can_copy(worst) || (!mapped && work.bytes() < limits::copied_bytes)) {
    f.finish(step);
    if (work.operands != nullptr)
      co_await late::gathered(f, work, late::everyone);
    else
      co_await staged<F, kind>(f, work);
    co_return;
  }
  f.take(route_of(worst));
  const auto parts = static_cast<std::size_t>(ranks);
  const std::size_t chunk =
      sliced::chunk_of(work, divide_up(work.count, parts), most_chunk_bytes(worst));
  const auto part_of = [&](int q) {
    return slice_of(work.count, parts, static_cast<std::size_t>(q), sliced::grain_of(work));
  };
  const std::size_t block =
      sliced::block_of(work, mapped ? limits::fold_block_bytes : limits::copied_block_bytes);
  std::byte* const scratch = table.room(3 * block);
  const auto fold = [&](int, std::size_t begin, std::size_t count) {
    detail::fold(f, work, kind, table.cards(), begin, count, block, scratch);
  };
  co_await sliced::share_out(f, step, work.element_bytes, ranks - 1, chunk, false,
                             work.operands != nullptr, part_of, fold);
}

}  // namespace tutti::coll::scan
