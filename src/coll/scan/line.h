// SPDX-License-Identifier: BSD-3-Clause
// Scan and Exscan of an operand that rides in the flag's own line, or in a slot. Every member folds
// what those before it have posted. Nobody waits for members behind it.
#pragma once

#include "coll/coll.h"

namespace tutti::coll::scan {

enum class Kind : std::uint8_t { inclusive, exclusive };

namespace detail {

// One piece of the vectors, through slots.
template <Fabric F>
Task piece(F& f, const Work& work, Kind kind, std::size_t begin, std::size_t count) {
  f.take(Route::staged);
  const std::size_t bytes = count * work.element_bytes;
  const auto* operand = static_cast<const std::byte*>(work.send) + begin * work.element_bytes;
  auto* result = static_cast<std::byte*>(work.recv) + begin * work.element_bytes;
  const Step step = f.next_step();
  if (f.rank() < f.size() - 1) {
    co_await f.staging_room(step);
    reduce::copy(f.staging(f.rank(), step), operand, bytes);
    f.post(step, {});
    f.reserve(step + 1, bytes);
  }
  const std::byte* before = nullptr;  // the fold of those before
  for (int q = 0; q < f.rank(); ++q) {
    co_await f.posted(q, step);
    f.expect(q, step + 1);  // in a row of scans those before are ahead
    const std::byte* theirs = f.staging(q, step);
    if (q > 0) {
      std::byte* sum = f.scratch(segment::staging_bytes);
      work.kernel->apply(sum, before, theirs, count, Stores::plain);
      theirs = sum;
    }
    before = theirs;
  }
  if (before == nullptr) {
    if (kind == Kind::inclusive) std::memmove(result, operand, bytes);
  } else if (kind == Kind::inclusive) {
    work.kernel->apply(result, before, operand, count, Stores::plain);
  } else {
    reduce::copy(result, before, bytes);
  }
  if (f.size() == 2 && f.rank() == 1) hand_back(f, f.staging(0, step), bytes);
  f.finish(step);
}

template <Fabric F>
Task pieces(F& f, const Work& work, Kind kind) {
  const std::size_t each = segment::staging_bytes / work.element_bytes;
  for (std::size_t done = 0; done < work.count; done += each)
    co_await piece(f, work, kind, done, std::min(each, work.count - done));
}

}  // namespace detail

template <Fabric F, Kind kind>
Task line(F& f, const Work& work) {
  const Step step = f.next_step();
  f.take(Route::line);
  const Bytes operand{static_cast<const std::byte*>(work.send), work.bytes()};
  if (f.rank() < f.size() - 1) {
    co_await f.room(step);
    f.post(step, operand);
  }
  if (f.rank() > 0) {
    LineBuffer sum;
    const std::byte* before = nullptr;  // the fold of those before
    for (int q = 0; q < f.rank(); ++q) {
      const std::byte* theirs = co_await f.posted(q, step);
      f.expect(q, step + 1);  // in a row of scans those before are ahead
      if (q > 0) work.kernel->apply(sum.bytes, before, theirs, work.count, Stores::plain);
      before = q > 0 ? sum.bytes : theirs;
    }
    if (kind == Kind::inclusive)
      work.kernel->apply(work.recv, before, operand.data(), work.count, Stores::plain);
    else
      std::memcpy(work.recv, before, operand.size());
  } else if (kind == Kind::inclusive) {
    std::memmove(work.recv, operand.data(), operand.size());
  }
  f.finish(step);
}

template <Fabric F, Kind kind>
Task staged(F& f, const Work& work) {
  if (work.bytes() <= segment::staging_bytes) return detail::piece(f, work, kind, 0, work.count);
  return detail::pieces(f, work, kind);
}

}  // namespace tutti::coll::scan
