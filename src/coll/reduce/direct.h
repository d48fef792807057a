// SPDX-License-Identifier: BSD-3-Clause
// Reduce, Allreduce and Reduce_scatter between the users' buffers, after Hashmi and Panda's truly
// zero-copy reductions: operands are read in place, each member folds a slice of the vector and
// writes it straight into the result buffers of all who want it. Nothing is staged where memory is
// mapped.
#pragma once

#include <cstring>

#include "coll/late/gathered.h"
#include "coll/reduce/in_turn.h"
#include "coll/reduce/staged.h"
#include "coll/sliced.h"

namespace tutti::coll::reduction {
namespace detail {

using sliced::Cards;

// Whether a member that gets a result gets it in the place of its operand.
inline bool is_in_place(const Cards& cards) {
  return cards.send.address == cards.recv.address && cards.send.transport == cards.recv.transport;
}

// The fold of one chunk by one member, whoever's slice it is from.
template <Fabric F>
class Chunk {
 public:
  // `scratch` holds scratch_bytes(work, ranks, mapped).
  Chunk(F& f, const Work& work, const Cards* cards, int root, bool mapped, std::byte* scratch)
      : f_(f),
        work_(work),
        cards_(cards),
        root_(root),
        mapped_(mapped),
        block_bytes_(sliced::block_of(work, block_bytes(mapped))),
        scratch_(scratch) {}

  [[nodiscard]] static std::size_t scratch_bytes(const Work& work, int ranks, bool mapped) {
    return places_of(ranks) * sliced::block_of(work, block_bytes(mapped));
  }

  // `begin` is in the vector; `part` is that of `owner`.
  void fold(int owner, const Slice& part, std::size_t begin, std::size_t count) {
    const std::size_t element = work_.element_bytes;
    first_ = root_ == everyone ? 0 : root_ == each_owner ? owner : root_;
    last_ = root_ == everyone ? f_.size() : first_ + 1;
    shift_ = root_ == each_owner ? part.begin * element : 0;
    if (mapped_ && f_.size() == 2 && last_ - first_ == 2) return fold_pair(begin, count);
    const std::size_t block = block_bytes_ / element;
    for (std::size_t done = 0; done < count; done += block)
      fold_block((begin + done) * element, std::min(block, count - done));
  }

 private:
  // Two ranks: one pass writes both results.
  void fold_pair(std::size_t begin, std::size_t count) {
    const std::size_t offset = begin * work_.element_bytes;
    work_.kernel->apply2(f_.map(0, cards_[0].recv) + offset, f_.map(1, cards_[1].recv) + offset,
                         f_.map(0, cards_[0].send) + offset, f_.map(1, cards_[1].send) + offset,
                         count, work_.stores);
  }

  static constexpr std::size_t block_bytes(bool mapped) {
    return mapped ? limits::fold_block_bytes : limits::copied_chunk_bytes;
  }

  void fold_block(std::size_t offset, std::size_t count) {
    const std::size_t bytes = count * work_.element_bytes;
    // The last sum is made in a result if there is only one, or in mine where the kernel copies: as
    // passes over memory are what costs there. Else it is made in the first cache and then copied.
    const int me = f_.rank();
    const int here = first_ <= me && me < last_ ? me : first_;
    const bool one = last_ - first_ == 1;
    std::byte* const result = one || !mapped_ ? f_.map(here, cards_[here].recv) : nullptr;
    std::byte* const sum = result != nullptr ? result + offset - shift_ : scratch_;
    const auto at = [&](int q, std::byte* place) { return operand(q, offset, bytes, place); };
    fold_at(scratch_, block_bytes_, work_, f_.size(), at, sum, count,
            one && result != nullptr ? work_.stores : Stores::plain);
    for (int q = first_; q < last_; ++q) {
      if (q == here && result != nullptr) continue;
      if (std::byte* out = f_.map(q, cards_[q].recv))
        reduce::copy(out + offset - shift_, sum, bytes, work_.stores);
      else
        f_.write(q, cards_[q].recv, offset - shift_, sum, bytes);
    }
  }

  // Member q's elements, where they are or in `into`.
  const std::byte* operand(int q, std::size_t offset, std::size_t bytes, std::byte* into) {
    const std::byte* in = f_.map(q, cards_[q].send);
    const bool crossed = shift_ != 0 && shift_ < bytes && q == first_ && is_in_place(cards_[q]);
    if (in != nullptr && !crossed) [[likely]]
      return in + offset;
    if (in != nullptr)  // the sum would overwrite a part of it
      std::memcpy(into, in + offset, bytes);
    else
      f_.read(q, cards_[q].send, offset, into, bytes);
    return into;
  }

  F& f_;
  const Work& work_;
  const Cards* cards_;
  int root_;
  int first_ = 0, last_ = 0;  // the members that want the result
  std::size_t shift_ = 0;     // where in the vector their result buffers begin, in bytes
  bool mapped_;
  std::size_t block_bytes_;
  std::byte* scratch_;
};

// What everyone finds alike in everyone's cards.
struct Agreement {
  bool in_turn = false;  // the result of a part lies where other parts' operands are
  bool alone = false;    // the owner of a part computes it, as others cannot write its result
  bool staged = false;   // by slots, whatever is mapped
  Transport worst = best_transport;  // of all that is read and written
};

template <class PartOf>
Agreement agreement(const Cards* cards, int ranks, const sliced::WorstTransports& transports,
                    const Work& work, int root, PartOf part_of) {
  Agreement agreed;
  // In place, the result of the first part lies where its own operands are, and harms nobody.
  for (int q = 0; root == each_owner && q < ranks; ++q)
    agreed.in_turn =
        agreed.in_turn || (part_of(q).count > 0 && part_of(q).begin > 0 && is_in_place(cards[q]));
  // If others cannot write a part's result, its owner can: small parts of large vectors are not in
  // the commons.
  const bool late = work.operands != nullptr;
  const bool alone =
      !late && root == each_owner && (agreed.in_turn || transports.recvs > transports.sends);
  agreed.alone = alone;
  agreed.worst = alone ? transports.sends : worse_of(transports.sends, transports.recvs);
  // If only the kernel reaches the buffers of member 0, that member has chosen the kernel's copy.
  const bool chosen =
      needs_kernel(cards[0].send.transport) || needs_kernel(cards[0].recv.transport);
  agreed.staged = !can_copy(agreed.worst) ||
                  (!can_map(agreed.worst) && !chosen && work.bytes() < limits::copied_bytes);
  return agreed;
}

template <class PartOf>
std::size_t longest_part(int ranks, PartOf part_of) {
  std::size_t longest = 0;
  for (int q = 0; q < ranks; ++q) longest = std::max(longest, part_of(q).count);
  return longest;
}

}  // namespace detail

template <Fabric F>
Task direct_to(F& f, const Work& work, int root) {
  const Step step = f.next_step();
  const int ranks = f.size();
  sliced::Table<F> table(f);
  detail::Cards& mine = table.cards()[f.rank()];
  mine.send = as_chosen(f.offer(work.send, work.bytes()), work.cico);
  const auto parts = static_cast<std::size_t>(ranks);
  const auto part_of = [&](int q) -> Slice {
    const auto index = static_cast<std::size_t>(q);
    return root == each_owner ? work.parts[index]
                              : slice_of(work.count, parts, index, sliced::grain_of(work));
  };
  const std::size_t result = root == each_owner ? part_of(f.rank()).count : work.count;
  mine.recv = mine.send;
  const bool replaces = root == each_owner && work.send == work.recv;
  if (detail::wants_result(f, root) && result > 0 && !replaces) {
    mine.recv = as_chosen(f.offer(work.recv, result * work.element_bytes), work.cico);
    f.populate(work.recv, result * work.element_bytes);
  }
  sliced::WorstTransports transports;
  co_await sliced::exchange(f, step, table.cards(), transports);
  const auto [in_turn, alone, staged, worst] =
      detail::agreement(table.cards(), ranks, transports, work, root, part_of);
  const bool late = work.operands != nullptr;
  if (staged) {
    f.finish(step);
    f.begin_work();
    if (late)
      co_await late::gathered(f, work, root);
    else if (root == each_owner)
      co_await staged_parts(f, work);
    else
      co_await staged_to(f, work, root);
    if (work.cico && work.timed) co_await f.drained(f.last_step());
    f.end_work();
    co_return;
  }

  f.take(route_of(worst));
  const bool mapped = can_map(worst);
  const std::size_t longest = detail::longest_part(ranks, part_of);
  const std::size_t chunk = sliced::chunk_of(work, longest, most_chunk_bytes(worst));
  std::byte* const scratch = table.room(detail::Chunk<F>::scratch_bytes(work, ranks, mapped));
  detail::Chunk<F> folder(f, work, table.cards(), root, mapped, scratch);
  const auto fold = [&](int owner, std::size_t begin, std::size_t count) {
    folder.fold(owner, part_of(owner), begin, count);
  };
  const int passes = root == everyone ? 2 * (ranks - 1) : ranks - 1;
  if (in_turn) {
    const std::size_t piece = detail::turn_bytes(longest * work.element_bytes, mapped) /
                              limits::fold_block_bytes *
                              (limits::fold_block_bytes / work.element_bytes);
    const auto fold_mine = [&](std::size_t begin, std::size_t count) {
      fold(f.rank(), begin, count);
    };
    co_return co_await detail::fold_in_turn(f, step, work, piece, replaces, fold_mine);
  }
  co_await sliced::share_out(f, step, work.element_bytes, passes, chunk, alone, late, part_of,
                             fold);
}

template <Fabric F>
Task direct(F& f, const Work& work) {
  return direct_to(f, work, work.root);
}

}  // namespace tutti::coll::reduction
