// SPDX-License-Identifier: BSD-3-Clause
// For senders whose buffers nobody can reach: all of them send a piece of every block a step,
// through their staging slots. As many steps as the longest block needs, so everybody must know of
// every such sender.
//
// What is received where it is sent from is safe: a piece comes to its place when the one that lay
// there is in the slot.
#pragma once

#include <vector>

#include "coll/exchange/incoming.h"
#include "coll/exchange/outgoing.h"

namespace tutti::coll::exchange {

template <Fabric F>
class Streams {
 public:
  // `blocks`: how many a sender has, one for all members or one for each.
  Streams(F& f, std::size_t blocks)
      : f_(f), single_(blocks == 1), piece_(piece_of(segment::staging_bytes, blocks)) {}

  // While the posts are looked at.
  void add(Outgoing<F>& mine) {
    if (mine.mode() != Mode::streamed || mine.header().in_place) return;
    mine_ = &mine;
    lengthen(mine.longest());
  }
  void add(int peer, Incoming<F>& theirs, int index, const Block& into) {
    if (theirs.mode() != Mode::streamed) return;
    sources_.push_back({peer, {into.address, theirs.admitted(index, into), into.layout}});
    lengthen(theirs.longest());
  }
  // By a deal: see deal.h. All learn of its length later.
  void add(Outgoing<F>& mine, int peer, const Block& into) {
    mine_ = &mine;
    sources_.push_back({peer, into});
  }
  // Half of all slots are then filled in a step, as each step brings a round between all who
  // stream. `step` is the one before the first; of all slots of that and of earlier ones, all are
  // free when it is over.
  void deal(Step step, std::size_t longest) {
    if (longest == 0) return;
    lengthen(longest);
    before_ = step;
    piece_ = piece_of(half_bytes, static_cast<std::size_t>(f_.size()) - 1);
  }

  // After all that is not streamed has been taken: nothing is left but to finish the step, or to
  // run.
  [[nodiscard]] bool empty() const { return longest_ == 0; }

  // Finishes the last step.
  [[nodiscard]] Task run() {
    if (before_ != 0) f_.finish(before_);
    for (std::size_t begin = 0; begin < longest_; begin += piece_) {
      const Step step = f_.next_step();
      if (mine_ != nullptr) {
        if (before_ != 0)
          co_await f_.drained(std::max(before_, step - 2));
        else
          co_await f_.staging_room(step);
        give(step, begin);
        f_.post(step, {});
      }
      for (const Source& source : sources_) {
        co_await f_.posted(source.peer, step);
        if (begin >= source.into.bytes) continue;
        const std::size_t bytes = std::min(piece_, source.into.bytes - begin);
        std::byte* const from = part(source.peer, step, f_.rank());
        unpack(source.into, begin, from, bytes);
        if (!single_ || f_.size() == 2) hand_back(from, bytes);
      }
      f_.finish(step);
    }
    // Later steps ask for the room of one slot only.
    if (before_ != 0 && mine_ != nullptr) co_await f_.drained(f_.last_step());
  }

 private:
  static constexpr std::size_t half_slots = segment::slots / 2;
  static constexpr std::size_t half_bytes = half_slots * segment::staging_bytes;

  struct Source {
    int peer;
    Block into;
  };

  [[nodiscard]] static std::size_t piece_of(std::size_t bytes, std::size_t blocks) {
    const std::size_t part = bytes / blocks;
    return part > 64 ? part / 64 * 64 : part;
  }
  void give(Step step, std::size_t begin) {
    for (int q = 0; q < (single_ ? 1 : f_.size()); ++q) {
      const Block& block = mine_->to(q);
      if (begin < block.bytes && (single_ || q != f_.rank()))
        pack(part(f_.rank(), step, q), block, begin, std::min(piece_, block.bytes - begin));
    }
  }
  [[nodiscard]] std::byte* part(int owner, Step step, int index) const {
    if (before_ != 0) {  // nothing for the owner
      const auto before = static_cast<std::size_t>(index < owner ? index : index - 1);
      return f_.staging(owner, step % 2 * half_slots) + before * piece_;
    }
    return f_.staging(owner, step) + (single_ ? 0 : static_cast<std::size_t>(index) * piece_);
  }
  void lengthen(std::size_t bytes) { longest_ = std::max(longest_, bytes); }

  F& f_;
  bool single_;
  std::size_t piece_;
  std::size_t longest_ = 0;
  Step before_ = 0;  // 0: no deals
  Outgoing<F>* mine_ = nullptr;
  std::vector<Source> sources_;
};

}  // namespace tutti::coll::exchange
