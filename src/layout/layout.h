// SPDX-License-Identifier: BSD-3-Clause
// layout: where the bytes of an MPI datatype lie in memory, and how they are packed and unpacked.
//
// A Typemap is composed like the datatype (contiguous, vector, struct, ...). A Layout is made from
// it and never changes afterwards. Unlike MPI_Pack a Layout starts at any packed byte. So any rank
// that reaches the memory can move a message in pieces of any size. Words: docs/glossary.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "layout/typemap.h"

namespace tutti::layout {

class Layout {
 public:
  explicit Layout(Typemap typemap);  // not of one that is too_long()

  [[nodiscard]] std::size_t bytes() const { return bytes_; }       // packed size of one element
  [[nodiscard]] std::ptrdiff_t extent() const { return extent_; }  // from an element to the next

  // This many consecutive elements are one block without gaps, in the order of the typemap. The
  // block begins at first() from the buffer's address.
  [[nodiscard]] bool dense(std::size_t elements) const {
    return solid_ && (elements <= 1 || gapless_);
  }
  [[nodiscard]] bool dense() const { return solid_ && gapless_; }  // any number of elements
  [[nodiscard]] std::ptrdiff_t first() const { return runs_.empty() ? 0 : runs_[0].offset; }

  // A pipeline had better cut the packed bytes at multiples of this. Where elements interleave, as
  // the columns of a matrix do, smaller pieces would fetch every cache line several times.
  [[nodiscard]] std::size_t grain() const { return grain_; }

  // The packed bytes [begin, begin + bytes) of consecutive elements at `base`, which may begin and
  // end in the midst of an element. `base` may be null: then offsets are addresses (MPI_BOTTOM).
  void pack(std::byte* to, const std::byte* base, std::size_t begin, std::size_t bytes) const;
  void unpack(std::byte* base, const std::byte* from, std::size_t begin, std::size_t bytes) const;

 private:
  // What a walk over a part of a layout needs; `packed` moves on with it.
  template <class Direction>
  struct Walk;

  // An element is `units_` units, each of all the runs, `step_` bytes apart. Where elements follow
  // each other as units do, `units_` is 1 and the unit takes the place of the element.
  std::vector<Run> runs_;
  std::vector<std::size_t> starts_;  // packed offset in the unit of each run
  std::size_t units_ = 1;
  std::size_t unit_bytes_ = 0;
  std::ptrdiff_t step_ = 0;
  std::size_t chunk_ = 1;  // units that are moved run by run, not unit by unit

  std::size_t bytes_ = 0;
  std::ptrdiff_t extent_ = 0;
  std::size_t grain_ = 1;
  bool solid_ = false;
  bool gapless_ = false;
};

}  // namespace tutti::layout
