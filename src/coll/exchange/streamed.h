// SPDX-License-Identifier: BSD-3-Clause
// For senders whose buffers nobody can reach. In each step all of them send a piece of every block,
// through their staging slots. There are as many steps as the longest block needs, so everybody
// must know of every such sender.
#pragma once

#include <vector>

#include "coll/exchange/incoming.h"
#include "coll/exchange/outgoing.h"

namespace tutti::coll::exchange {

// Who sends this member a stream, and where it goes.
struct Source {
  int peer;
  Block into;
  bool in_exchange = false;  // this member streams a block to that one as well: see pairwise.h
};

template <Fabric F>
class Streams {
 public:
  // `blocks`: how many a sender has, one for all members or one for each.
  Streams(F& f, std::size_t blocks) : f_(f), single_(blocks == 1) {
    const std::size_t part = segment::staging_bytes / blocks;
    piece_ = part > 64 ? part / 64 * 64 : part;
  }

  // These are called while the posts are looked at.
  void add(Outgoing<F>& mine) {
    if (mine.protocol() != Protocol::streamed || mine.header().in_place) return;
    mine_ = &mine;
    lengthen(mine.longest());
  }
  void add(int peer, Incoming<F>& theirs, int index, const Block& into) {
    if (theirs.protocol() != Protocol::streamed) return;
    sources_.push_back({peer, {into.address, theirs.admitted(index, into), into.layout}, false});
    lengthen(theirs.longest());
  }
  void add_exchange(int peer, const Block& into) { sources_.push_back({peer, into, true}); }

  [[nodiscard]] std::span<const Source> sources() const { return sources_; }
  [[nodiscard]] bool sends() const { return mine_ != nullptr; }  // to all who take streams

  // To be asked when all that is not streamed has been taken. True: nothing is left but to finish
  // the step. False: run() is to be called.
  [[nodiscard]] bool empty() const { return longest_ == 0; }

  // Finishes the last step.
  [[nodiscard]] Task run() {
    for (std::size_t begin = 0; begin < longest_; begin += piece_) {
      const Step step = f_.next_step();
      if (mine_ != nullptr) {
        co_await f_.staging_room(step);
        for (int q = 0; q < (single_ ? 1 : f_.size()); ++q) {
          const Block& block = mine_->to(q);
          if (begin < block.bytes && (single_ || q != f_.rank()))
            pack(part(f_.rank(), step, q), block, begin, std::min(piece_, block.bytes - begin));
        }
        f_.post(step, {});
      }
      for (const Source& source : sources_) {
        co_await f_.posted(source.peer, step);
        if (begin >= source.into.bytes) continue;
        const std::size_t bytes = std::min(piece_, source.into.bytes - begin);
        std::byte* const from = part(source.peer, step, f_.rank());
        unpack(source.into, begin, from, bytes);
        if (!single_ || f_.size() == 2) hand_back(f_, from, bytes);
      }
      f_.finish(step);
    }
  }

 private:
  [[nodiscard]] std::byte* part(int owner, Step step, int index) const {
    return f_.staging(owner, step) + (single_ ? 0 : static_cast<std::size_t>(index) * piece_);
  }
  void lengthen(std::size_t bytes) { longest_ = std::max(longest_, bytes); }

  F& f_;
  bool single_;
  std::size_t piece_;
  std::size_t longest_ = 0;
  Outgoing<F>* mine_ = nullptr;
  std::vector<Source> sources_;
};

}  // namespace tutti::coll::exchange
