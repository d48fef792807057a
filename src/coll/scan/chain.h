// SPDX-License-Identifier: BSD-3-Clause
// Scan and Exscan along a chain (Sanders and Traff 2006; the nonblocking one of Denis et al. 2019).
// Each member waits for the prefix of the one before it, adds its own operand and hands the result
// on. It does so in pieces, so that the next one adds the first pieces while this one is at later
// ones. Every member does a P-th of the work, and neighbours work at the same time.
//
// Needs memory that peers can reach. Cost: P - 1 folds (Exscan: and copies) of all bytes in all;
// the last member is done after one fold of all bytes and P - 1 of a piece.
#pragma once

#include "coll/scan/line.h"
#include "coll/sliced.h"

namespace tutti::coll::scan {
namespace detail {

// One member's link of the chain.
template <Fabric F>
class Link {
 public:
  // `prefix`: where this member's inclusive prefix grows, for the next one to read.
  Link(F& f, const Work& work, Kind kind, const Card& before, std::byte* prefix, std::byte* bounce)
      : f_(f), work_(work), kind_(kind), before_(before), prefix_(prefix), bounce_(bounce) {}

  void fold(std::size_t begin, std::size_t count) {
    const std::size_t offset = begin * work_.element_bytes, bytes = count * work_.element_bytes;
    const auto* mine = static_cast<const std::byte*>(work_.send) + offset;
    auto* result = static_cast<std::byte*>(work_.recv);
    if (f_.rank() == 0) {
      if (kind_ == Kind::inclusive && result + offset != mine)
        reduce::copy(result + offset, mine, bytes, work_.stores);
      return;
    }
    const std::byte* theirs = f_.map(f_.rank() - 1, before_);
    if (theirs != nullptr) {
      theirs += offset;
    } else {
      f_.read(f_.rank() - 1, before_, offset, bounce_, bytes);
      theirs = bounce_;
    }
    // In place the exclusive prefix replaces the operand, which must have been used by then.
    if (kind_ == Kind::inclusive || f_.rank() < f_.size() - 1)
      work_.kernel->apply(prefix_ + offset, theirs, mine, count, Stores::plain);
    if (kind_ == Kind::exclusive) reduce::copy(result + offset, theirs, bytes, work_.stores);
  }

  // How many bytes fold() has moved, when it has folded `bytes`.
  [[nodiscard]] std::size_t moved(std::size_t bytes) const {
    if (f_.rank() == 0) return kind_ == Kind::inclusive && work_.send != work_.recv ? bytes : 0;
    return kind_ == Kind::exclusive && f_.rank() < f_.size() - 1 ? 2 * bytes : bytes;
  }

 private:
  F& f_;
  const Work& work_;
  Kind kind_;
  Card before_;
  std::byte* prefix_;
  std::byte* bounce_;
};

}  // namespace detail

template <Fabric F, Kind kind>
Task chain(F& f, const Work& work) {
  co_await f.on(fabric::Executor::progress);
  const Step step = f.next_step();
  const int me = f.rank(), last = f.size() - 1;
  const std::size_t piece_bytes = std::max(
      work.piece_bytes != 0 ? work.piece_bytes : limits::chain_piece_bytes, work.element_bytes);
  const std::size_t piece = std::min(piece_bytes / work.element_bytes, work.count);
  const std::size_t room = kind == Kind::exclusive ? round_up(work.bytes(), 64) : 0;
  const sliced::Table<F> table(f, room + piece * work.element_bytes);
  std::byte* const scratch = table.room();
  sliced::Cards* const cards = table.cards();
  std::byte* const prefix = kind == Kind::exclusive ? scratch : static_cast<std::byte*>(work.recv);
  // The first member's operand is its inclusive prefix; nobody reads the last one's.
  const void* lent = me == 0 && kind == Kind::exclusive ? work.send : prefix;
  const Card mine = me < last ? f.offer(lent, work.bytes()) : nothing_lent;
  cards[me] = {mine, mine};
  sliced::WorstTransports transports;
  co_await sliced::exchange(f, step, cards, transports);
  // Everyone has seen everyone's cards, so everyone agrees.
  if (!can_copy(transports.sends)) {
    f.finish(step);
    co_await staged<F, kind>(f, work);
    co_return;
  }
  f.take(route_of(transports.sends));
  const Card before = me > 0 ? cards[me - 1].send : Card{};
  detail::Link<F> link(f, work, kind, before, prefix, scratch + room);
  f.begin_work();
  std::uint32_t pieces = 0;
  for (std::size_t done = 0; done < work.count; done += piece) {
    const std::size_t count = std::min(piece, work.count - done);
    ++pieces;
    if (me > 0) co_await f.produced(me - 1, step, pieces);
    link.fold(done, count);
    co_await f.pause(link.moved(count * work.element_bytes));
    if (me < last) f.produce(step, pieces);
  }
  if (me > 0) f.land(me - 1, step);
  // My prefix is mine again when the next member has read it.
  if (me < last) co_await f.landed(me, step, 1);
  f.end_work();
  f.finish(step);
}

}  // namespace tutti::coll::scan
