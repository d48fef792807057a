// SPDX-License-Identifier: BSD-3-Clause
// Reduce and Allreduce through staging slots. Members copy pieces of their operand into slots of
// their own, and then either
//   whole   those who want the result fold every piece: few ranks or few bytes. Pieces are small
//   and
//           posted some ahead, so that one rank's copying overlaps another one's folding.
//   sliced  each member folds a slice of the piece, in place in its own slot, and in a second step
//           those who want the result collect the slices.
#pragma once

#include "coll/fold.h"

namespace tutti::coll::reduction {

// As `root`: who wants the result.
inline constexpr int everyone = -1;
inline constexpr int each_owner = -2;  // of its part: Reduce_scatter

namespace detail {

// Reading P operands of this size costs less than a second step.
inline constexpr std::size_t whole_bytes = std::size_t{8} << 10;
// A smaller piece costs more in flags than it gains in overlap.
inline constexpr std::size_t least_piece_bytes = std::size_t{2} << 10;

template <Fabric F>
bool wants_result(const F& f, int root) {
  return root < 0 || root == f.rank();
}

template <Fabric F>
Task staged_whole(F& f, const Work& work, int root) {
  constexpr std::size_t ahead = segment::slots / 2;
  const std::size_t element = work.element_bytes;
  const std::size_t piece_bytes =
      std::clamp(round_up(work.bytes() / 4, 512), least_piece_bytes, segment::staging_bytes);
  const std::size_t piece = piece_bytes / element;
  const std::size_t pieces = divide_up(work.count, piece);
  const auto size_of = [&](std::size_t k) { return std::min(piece, work.count - k * piece); };
  const bool gets = wants_result(f, root);
  const bool gives = root == everyone || !gets;  // somebody else folds my operand
  // In place among more than two, the result would overwrite my operand before its turn.
  const bool own_slot = f.size() > 2 && work.send == work.recv;
  const auto* in = static_cast<const std::byte*>(work.send);
  auto* out = static_cast<std::byte*>(work.recv);

  const Step first = f.next_step();
  for (std::size_t k = 1; k < pieces; ++k) (void)f.next_step();
  std::size_t given = 0;
  for (std::size_t k = 0; k < pieces; ++k) {
    for (; given < std::min(pieces, k + ahead); ++given) {
      if (!gives && !own_slot) continue;
      co_await f.staging_room(first + given);
      reduce::copy(f.staging(f.rank(), first + given), in + given * piece * element,
                   size_of(given) * element);
      if (gives) f.post(first + given, {});
    }
    const Step step = first + k;
    if (gets) {
      for (int i = 1; i < f.size(); ++i) co_await f.posted((f.rank() + i) % f.size(), step);
      f.everyone_arrived();
      const auto operand = [&](int q) -> const std::byte* {
        return q == f.rank() && !own_slot ? in + k * piece * element : f.staging(q, step);
      };
      fold(*work.kernel, f.size(), operand, out + k * piece * element, size_of(k), element);
    }
    f.finish(step);
  }
}

template <Fabric F>
Task sliced_piece(F& f, const Work& work, int root, std::size_t first, std::size_t count) {
  const std::size_t element = work.element_bytes;
  const Step step = f.next_step();
  const Step collect = f.next_step();
  std::byte* out = static_cast<std::byte*>(work.recv) + (work.recv ? first * element : 0);
  const auto operand = [&](std::size_t begin) {
    return [&f, step, begin](int q) { return f.staging(q, step) + begin; };
  };

  co_await f.staging_room(collect);  // covers `step`, which is one less
  reduce::copy(f.staging(f.rank(), step),
               static_cast<const std::byte*>(work.send) + first * element, count * element);
  f.post(step, {});
  for (int k = 1; k < f.size(); ++k) co_await f.posted((f.rank() + k) % f.size(), step);
  f.everyone_arrived();

  const auto parts = static_cast<std::size_t>(f.size());
  const Slice mine = slice_of(count, parts, static_cast<std::size_t>(f.rank()));
  const std::size_t begin = mine.begin * element;
  // Only this member reads or writes its slice of any slot, so the fold may replace its operand;
  // it must not be written before it is read, though, hence the scratch.
  std::byte* sum = f.scratch(segment::staging_bytes);
  if (mine.count > 0) {
    fold(*work.kernel, f.size(), operand(begin), sum, mine.count, element);
    reduce::copy(f.staging(f.rank(), step) + begin, sum, mine.count * element);
  }
  f.post(collect, {});
  if (wants_result(f, root)) {
    for (int k = 0; k < f.size(); ++k) {
      const int q = (f.rank() + k) % f.size();
      const Slice slice = slice_of(count, parts, static_cast<std::size_t>(q));
      if (q != f.rank()) co_await f.posted(q, collect);
      if (slice.count > 0)
        reduce::copy(out + slice.begin * element, f.staging(q, step) + slice.begin * element,
                     slice.count * element);
    }
  }
  f.finish(collect);
}

}  // namespace detail

template <Fabric F>
Task staged_to(F& f, const Work& work, int root) {
  f.take(Route::staged);
  if (f.size() == 2 || work.bytes() <= detail::whole_bytes) {
    co_await detail::staged_whole(f, work, root);
    co_return;
  }
  const std::size_t piece = segment::staging_bytes / work.element_bytes;
  for (std::size_t done = 0; done < work.count; done += piece)
    co_await detail::sliced_piece(f, work, root, done, std::min(piece, work.count - done));
}

// Reduce_scatter: a step carries a piece of every part, and everyone folds those of its own out of
// the others' slots. Posted some ahead, as in staged_whole. Room for an element of every part in a
// slot is a precondition.
template <Fabric F>
Task staged_parts(F& f, const Work& work) {
  constexpr std::size_t ahead = segment::slots / 2;
  const std::size_t element = work.element_bytes;
  const auto ranks = static_cast<std::size_t>(f.size()), me = static_cast<std::size_t>(f.rank());
  f.take(Route::staged);
  std::size_t longest = 0;
  for (const Slice& part : work.parts) longest = std::max(longest, part.count);
  const std::size_t most = segment::staging_bytes / ranks;
  const std::size_t piece_bytes = std::min(
      most, std::max(detail::least_piece_bytes, round_up(longest * element / 4, std::size_t{512})));
  const std::size_t piece = piece_bytes / element;
  const std::size_t pieces = divide_up(longest, piece);
  const auto size_of = [&](std::size_t q, std::size_t k) {
    return std::min(piece, work.parts[q].count - std::min(work.parts[q].count, k * piece));
  };
  const auto* send = static_cast<const std::byte*>(work.send);
  const auto sent_at = [&](std::size_t q, std::size_t k) {
    return send + (work.parts[q].begin + k * piece) * element;
  };

  const Step first = f.next_step();
  for (std::size_t k = 1; k < pieces; ++k) (void)f.next_step();
  std::size_t given = 0;
  for (std::size_t k = 0; k < pieces; ++k) {
    for (; given < std::min(pieces, k + ahead); ++given) {
      co_await f.staging_room(first + given);
      std::byte* slot = f.staging(f.rank(), first + given);
      for (std::size_t q = 0; q < ranks; ++q)
        if (q != me && size_of(q, given) > 0)
          reduce::copy(slot + q * piece * element, sent_at(q, given), size_of(q, given) * element);
      f.post(first + given, {});
    }
    const Step step = first + k;
    if (size_of(me, k) > 0) {
      for (int i = 1; i < f.size(); ++i) co_await f.posted((f.rank() + i) % f.size(), step);
      f.everyone_arrived();
      const auto operand = [&](int q) -> const std::byte* {
        return q == f.rank() ? sent_at(me, k) : f.staging(q, step) + me * piece * element;
      };
      fold(*work.kernel, f.size(), operand,
           static_cast<std::byte*>(work.recv) + k * piece * element, size_of(me, k), element);
    }
    f.finish(step);
  }
}

template <Fabric F>
Task staged(F& f, const Work& work) {
  return staged_to(f, work, work.root);
}

}  // namespace tutti::coll::reduction
