// SPDX-License-Identifier: BSD-3-Clause
// Reduce and Allreduce through staging slots. Members copy pieces of their operand into slots of
// their own, and then either
//   whole   those who want the result fold every piece. It is for few bytes or few members. Pieces
//           are small and posted some ahead, so that one rank's copying overlaps another's folding.
//   sliced  each member folds a slice of the piece into the slots of those who want the result.
//           They collect it from there in a second step.
#pragma once

#include "coll/fold.h"
#include "coll/reduce/costs.h"

namespace tutti::coll::reduction {
namespace detail {

template <Fabric F>
bool wants_result(const F& f, int root) {
  return root < 0 || root == f.rank();
}

// How a vector passes through slots: so many pieces, of `piece` elements but for the last.
struct Pieces {
  std::size_t piece, count;
};

// `most`: how many bytes a piece can have. What fits in one piece is found without a division.
constexpr Pieces pieces_of(std::size_t elements, std::size_t element, std::size_t most) {
  const std::size_t bytes = elements * element;
  if (bytes > 0 && bytes <= std::min(most, limits::least_reduce_piece_bytes)) return {elements, 1};
  const std::size_t piece = piece_of(bytes, limits::least_reduce_piece_bytes, most) / element;
  return {piece, divide_up(elements, piece)};
}

template <Fabric F>
Task staged_whole(F& f, const Work& work, int root) {
  f.take(Route::staged);
  constexpr std::size_t ahead = segment::slots / 2;
  const std::size_t element = work.element_bytes;
  const Pieces cut = pieces_of(work.count, element, segment::staging_bytes);
  const std::size_t piece = cut.piece, pieces = cut.count;
  const auto size_of = [&](std::size_t k) { return std::min(piece, work.count - k * piece); };
  const bool gets = wants_result(f, root);
  const bool gives = root == everyone || !gets;  // somebody else folds my operand
  const auto* in = static_cast<const std::byte*>(work.send);
  auto* out = static_cast<std::byte*>(work.recv);

  const Step first = next_steps(f, pieces);
  std::size_t given = 0;
  for (std::size_t k = 0; k < pieces; ++k) {
    for (; gives && given < std::min(pieces, k + ahead); ++given) {
      co_await f.staging_room(first + given);
      reduce::copy(f.staging(f.rank(), first + given), in + given * piece * element,
                   size_of(given) * element);
      f.post(first + given, {});
      f.reserve(first + given + 1, size_of(given) * element);
    }
    const Step step = first + k;
    if (gets) {
      for (int i = 1; i < f.size(); ++i) co_await f.posted(member_after(f, i), step);
      f.everyone_arrived();
      const auto operand = [&](int q) -> const std::byte* {
        return q == f.rank() ? in + k * piece * element : f.staging(q, step);
      };
      fold(f, work, operand, out + k * piece * element, size_of(k));
      if (f.size() == 2 || root != everyone) hand_all_back(f, step, 0, size_of(k) * element);
    }
    f.finish(step);
  }
}

// One piece of the vector after another, each in two steps. In the first step the slots hold its
// operands, in the second the sums, in the same places. Each member folds its slice of the piece
// and writes it into the slots of those who want it. These then find all of it in their own slot.
template <Fabric F>
class SlicedPieces {
 public:
  SlicedPieces(F& f, const Work& work, int root)
      : f_(f), work_(work), root_(root), first_(next_steps(f, 2 * count())) {}

  [[nodiscard]] std::size_t count() const { return divide_up(work_.count, most()); }

  // My operand, but for my own slice.
  Task give(std::size_t k) {
    co_await f_.staging_room(operands(k));
    const std::size_t all = size(k) * element(), begin = slice(k, f_.rank()).begin * element(),
                      end = begin + slice(k, f_.rank()).count * element();
    const std::byte* in = send(k);
    reduce::copy(slot(f_.rank(), k), in, begin);
    reduce::copy(slot(f_.rank(), k) + end, in + end, all - end);
    f_.post(operands(k), {});
  }

  Task fold_slice(std::size_t k) {
    for (int i = 1; i < f_.size(); ++i) co_await f_.posted(member_after(f_, i), operands(k));
    f_.everyone_arrived();
    const Slice mine = slice(k, f_.rank());
    if (mine.count > 0) fold_into_slots(k, mine.begin * element(), mine.count);
    f_.post(sums(k), {});
  }

  // The sums of the others, from my own slot. Finishes both steps.
  Task collect(std::size_t k) {
    for (int i = 1; wants_result(f_, root_) && i < f_.size(); ++i) {
      const int q = member_after(f_, i);
      const std::size_t begin = slice(k, q).begin * element();
      co_await f_.posted(q, sums(k));
      reduce::copy(recv(k) + begin, slot(f_.rank(), k) + begin, slice(k, q).count * element());
    }
    f_.finish(sums(k));
  }

 private:
  [[nodiscard]] std::size_t element() const { return work_.element_bytes; }
  [[nodiscard]] std::size_t most() const { return segment::staging_bytes / element(); }
  [[nodiscard]] std::size_t size(std::size_t k) const {
    return std::min(most(), work_.count - k * most());
  }
  [[nodiscard]] Slice slice(std::size_t k, int q) const {
    return slice_of(size(k), static_cast<std::size_t>(f_.size()), static_cast<std::size_t>(q),
                    divide_up(line_bytes, element()));
  }
  [[nodiscard]] Step operands(std::size_t k) const { return first_ + 2 * k; }
  [[nodiscard]] Step sums(std::size_t k) const { return operands(k) + 1; }
  [[nodiscard]] std::byte* slot(int q, std::size_t k) const { return f_.staging(q, operands(k)); }
  [[nodiscard]] const std::byte* send(std::size_t k) const {
    return static_cast<const std::byte*>(work_.send) + k * most() * element();
  }
  [[nodiscard]] std::byte* recv(std::size_t k) const {
    return static_cast<std::byte*>(work_.recv) + k * most() * element();
  }

  void fold_into_slots(std::size_t k, std::size_t begin, std::size_t count) {
    const auto operand = [&](int q) -> const std::byte* {
      return (q == f_.rank() ? send(k) : slot(q, k)) + begin;
    };
    if (f_.size() == 2 && root_ == everyone)
      return work_.kernel->apply2(recv(k) + begin, slot(1 - f_.rank(), k) + begin, operand(0),
                                  operand(1), count, Stores::plain);
    const int home = root_ == everyone ? f_.rank() : root_;
    std::byte* const sum = (home == f_.rank() ? recv(k) : slot(home, k)) + begin;
    fold(f_, work_, operand, sum, count);
    for (int q = 0; root_ == everyone && q < f_.size(); ++q)
      if (q != home) reduce::copy(slot(q, k) + begin, sum, count * element());
  }

  F& f_;
  const Work& work_;
  int root_;
  Step first_;
};

template <Fabric F>
Task staged_sliced(F& f, const Work& work, int root) {
  f.take(Route::staged);
  SlicedPieces<F> pieces(f, work, root);
  const std::size_t count = pieces.count();
  co_await pieces.give(0);
  for (std::size_t k = 0; k < count; ++k) {
    if (k + 1 < count) co_await pieces.give(k + 1);
    co_await pieces.fold_slice(k);
    if (k > 0) co_await pieces.collect(k - 1);
  }
  co_await pieces.collect(count - 1);
}

}  // namespace detail

template <Fabric F>
Task staged_to(F& f, const Work& work, int root) {
  const Costs& costs = f.costs();
  if (work.bytes() <= (root == everyone ? costs.whole_bytes : costs.whole_to_root_bytes))
    return detail::staged_whole(f, work, root);
  return detail::staged_sliced(f, work, root);
}

// Reduce_scatter: a step carries a piece of every part, and everyone folds the pieces of its own
// part out of the others' slots. Pieces are posted some ahead, as in staged_whole. A slot must have
// room for an element of every part.
//
// In place a member's result replaces its operands from the first on. A piece of the result never
// comes where a later piece of some part lies. So what it replaces is in the slots by then, or is
// what is folded now. Where it would lie across that, the member's own operands go by its slot,
// too.
template <Fabric F>
Task staged_parts(F& f, const Work& work) {
  constexpr std::size_t ahead = segment::slots / 2;
  const std::size_t element = work.element_bytes;
  const auto ranks = static_cast<std::size_t>(f.size()), me = static_cast<std::size_t>(f.rank());
  f.take(Route::staged);
  std::size_t longest = 0;
  for (const Slice& part : work.parts) longest = std::max(longest, part.count);
  const detail::Pieces cut = detail::pieces_of(longest, element, segment::staging_bytes / ranks);
  const std::size_t piece = cut.piece, pieces = cut.count;
  // Each part has another reader. What they hand back is not two parts' of a cache line, if there
  // is room.
  const std::size_t tight = piece * element, lines = round_up(tight, line_bytes);
  const bool alone = tight >= limits::handed_back_bytes && lines * ranks <= segment::staging_bytes;
  const std::size_t apart = alone ? lines : tight;
  const auto size_of = [&](std::size_t q, std::size_t k) {
    return std::min(piece, work.parts[q].count - std::min(work.parts[q].count, k * piece));
  };
  const auto* send = static_cast<const std::byte*>(work.send);
  const bool crossed =
      work.send == work.recv && work.parts[me].begin > 0 && work.parts[me].begin < piece;
  const auto sent_at = [&](std::size_t q, std::size_t k) {
    return send + (work.parts[q].begin + k * piece) * element;
  };

  const Step first = next_steps(f, pieces);
  std::size_t given = 0;
  for (std::size_t k = 0; k < pieces; ++k) {
    for (; given < std::min(pieces, k + ahead); ++given) {
      co_await f.staging_room(first + given);
      std::byte* slot = f.staging(f.rank(), first + given);
      for (std::size_t q = 0; q < ranks; ++q)
        if ((q != me || crossed) && size_of(q, given) > 0)
          reduce::copy(slot + q * apart, sent_at(q, given), size_of(q, given) * element);
      f.post(first + given, {});
    }
    const Step step = first + k;
    if (size_of(me, k) > 0) {
      for (int i = 1; i < f.size(); ++i) co_await f.posted(member_after(f, i), step);
      f.everyone_arrived();
      const auto operand = [&](int q) -> const std::byte* {
        if (q == f.rank() && !crossed) return sent_at(me, k);
        return f.staging(q, step) + me * apart;
      };
      fold(f, work, operand, static_cast<std::byte*>(work.recv) + k * piece * element,
           size_of(me, k));
      hand_all_back(f, step, me * apart, size_of(me, k) * element);
    }
    f.finish(step);
  }
}

template <Fabric F>
Task staged(F& f, const Work& work) {
  return staged_to(f, work, work.root);
}

}  // namespace tutti::coll::reduction
