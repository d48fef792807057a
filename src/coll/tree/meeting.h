// SPDX-License-Identifier: BSD-3-Clause
// What the split trees share (Denis et al. 2019, section 6.1). Everyone lends what others will read
// of it, and all see all the cards. The rank itself or its progress thread takes an edge.
//
// The reader of an edge does its work, so that the member that is read can serve several. That
// member says once that its data are complete (produce). Each reader says when it is through
// (land).
#pragma once

#include "coll/sliced.h"
#include "coll/tree/shape.h"

namespace tutti::coll::tree {

using fabric::Executor;

// The lowest work.levels levels of a tree have half of its work or more, but take few steps: all
// ranks do them at once. The long and narrow rest is the progress threads'.
inline Executor executor_of(const Work& work, int level) {
  return level <= work.levels ? Executor::rank : Executor::progress;
}

// The cards of all members, and after them memory for the algorithm.
template <Fabric F>
class Meeting {
 public:
  Meeting(F& f, std::size_t scratch_bytes) : f_(f), step_(f.next_step()) {
    const sliced::Table<F> table(f, limits::bounce_bytes + scratch_bytes);
    bounce_ = table.room();
    cards_ = table.cards();
    scratch_ = bounce_ + limits::bounce_bytes;
  }

  [[nodiscard]] Step step() const { return step_; }
  [[nodiscard]] std::byte* scratch() const { return scratch_; }

  // Lends `bytes` from `data` on, or nothing (nullptr), and awaits all others' cards.
  Task exchange(const void* data, std::size_t bytes) {
    const Card mine = data != nullptr ? f_.offer(data, bytes) : nothing_lent;
    cards_[f_.rank()] = {mine, mine};
    co_await sliced::exchange(f_, step_, cards_, transports_);
    f_.take(route_of(transports_.sends));
  }
  // Whether all that is lent can be read; everyone has seen everyone's cards, so everyone agrees.
  [[nodiscard]] bool reachable() const { return can_copy(transports_.sends); }

  // take(at, bytes, offset) for what `peer` lends from `begin` on, in one piece or several.
  template <class Take>
  void read(int peer, std::size_t begin, std::size_t bytes, std::size_t grain, Take take) {
    const Card& card = cards_[peer].send;
    if (const std::byte* theirs = f_.map(peer, card)) return take(theirs + begin, bytes, 0);
    const std::size_t piece = limits::bounce_bytes / grain * grain;
    for (std::size_t done = 0; done < bytes; done += piece) {
      const std::size_t n = std::min(piece, bytes - done);
      f_.read(peer, card, begin + done, bounce_, n);
      take(bounce_, n, done);
    }
  }

 private:
  F& f_;
  Step step_;
  sliced::Cards* cards_;
  sliced::WorstTransports transports_;
  std::byte* bounce_;
  std::byte* scratch_;
};

}  // namespace tutti::coll::tree
