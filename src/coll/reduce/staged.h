// SPDX-License-Identifier: BSD-3-Clause
// Reduce and Allreduce through staging slots, a piece at a time. Members copy their piece into
// their own slot. A small piece, or one of two ranks, is then folded by whoever wants the result.
// A larger one is cut into a slice a member: each folds its slice into its own slot, in place, and
// in a second step those who want the result collect the slices.
#pragma once

#include <cstring>

#include "coll/fold.h"

namespace tutti::coll::reduction {

inline constexpr int everyone = -1;  // as `root`: all members want the result

namespace detail {

// Reading P operands of this size costs less than a second step.
inline constexpr std::size_t whole_bytes = std::size_t{8} << 10;

template <Fabric F>
bool wants_result(const F& f, int root) {
  return root == everyone || root == f.rank();
}

template <Fabric F>
Task staged_piece(F& f, const Work& work, int root, std::size_t first, std::size_t count) {
  const std::size_t element = work.element_bytes;
  const bool whole = f.size() == 2 || count * element <= whole_bytes;
  const Step step = f.next_step();
  const Step collect = whole ? step : f.next_step();
  std::byte* out = static_cast<std::byte*>(work.recv) + (work.recv ? first * element : 0);
  const auto operand = [&](std::size_t begin) {
    return [&f, step, begin](int q) { return f.staging(q, step) + begin; };
  };

  co_await f.staging_room(collect);  // covers `step`, which is one less
  std::memcpy(f.staging(f.rank(), step), static_cast<const std::byte*>(work.send) + first * element,
              count * element);
  f.post(step, {});
  if (!whole || wants_result(f, root)) {
    for (int k = 1; k < f.size(); ++k) co_await f.posted((f.rank() + k) % f.size(), step);
    f.everyone_arrived();
  }
  if (whole) {
    if (wants_result(f, root)) fold(*work.kernel, f.size(), operand(0), out, count, element);
    f.finish(step);
    co_return;
  }

  const auto parts = static_cast<std::size_t>(f.size());
  const Slice mine = slice_of(count, parts, static_cast<std::size_t>(f.rank()));
  const std::size_t begin = mine.begin * element;
  // Only this member reads or writes its slice of any slot, so the fold may replace its operand;
  // it must not be written before it is read, though, hence the scratch.
  std::byte* sum = f.scratch(segment::staging_bytes);
  if (mine.count > 0) {
    fold(*work.kernel, f.size(), operand(begin), sum, mine.count, element);
    std::memcpy(f.staging(f.rank(), step) + begin, sum, mine.count * element);
  }
  f.post(collect, {});
  if (wants_result(f, root)) {
    for (int k = 0; k < f.size(); ++k) {
      const int q = (f.rank() + k) % f.size();
      const Slice slice = slice_of(count, parts, static_cast<std::size_t>(q));
      if (q != f.rank()) co_await f.posted(q, collect);
      if (slice.count > 0)
        std::memcpy(out + slice.begin * element, f.staging(q, step) + slice.begin * element,
                    slice.count * element);
    }
  }
  f.finish(collect);
}

}  // namespace detail

template <Fabric F>
Task staged_to(F& f, const Work& work, int root) {
  const std::size_t piece = segment::staging_bytes / work.element_bytes;
  f.take(Route::staged);
  for (std::size_t done = 0; done < work.count; done += piece)
    co_await detail::staged_piece(f, work, root, done, std::min(piece, work.count - done));
}

template <Fabric F>
Task staged(F& f, const Work& work) {
  return staged_to(f, work, work.root);
}

}  // namespace tutti::coll::reduction
