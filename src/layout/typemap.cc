// SPDX-License-Identifier: BSD-3-Clause
#include "layout/typemap.h"

#include <algorithm>

namespace tutti::layout {

Typemap Typemap::contiguous(std::int64_t count) const { return vector(1, count, 0); }

Typemap Typemap::vector(std::int64_t count, std::int64_t length, std::ptrdiff_t stride) const {
  Typemap all = *this;
  all.lower_ = all.upper_ = 0;
  all.covers_ = false;
  all.repeat(static_cast<std::size_t>(length), extent());
  all.repeat(static_cast<std::size_t>(count), stride);
  if (count > 0) {
    all.cover(*this, length, 0);
    all.cover(*this, length, (count - 1) * stride);
  }
  return all;
}

Typemap Typemap::indexed(Numbers lengths, Numbers displacements) const {
  Typemap all, group;
  std::int64_t grouped = -1;
  all.too_long_ = too_long_;
  for (std::size_t i = 0; i < displacements.size(); ++i) {
    const std::int64_t length = lengths[lengths.size() == 1 ? 0 : i];
    if (length != grouped) group = contiguous(grouped = length);
    all.append(group, displacements[i]);
    if (all.too_long_) break;
    all.cover(*this, length, displacements[i]);
  }
  while (all.merge_last()) {
  }
  return all;
}

Typemap Typemap::structure(std::span<const Field> fields) {
  Typemap all;
  for (const Field& field : fields) {
    all.append(field.type->contiguous(field.length), field.displacement);
    if (all.too_long_) break;
    all.cover(*field.type, field.length, field.displacement);
  }
  while (all.merge_last()) {
  }
  return all;
}

Typemap Typemap::subarray(Numbers sizes, Numbers subsizes, Numbers starts, Order order) const {
  Typemap all = *this;
  const std::size_t dimensions = sizes.size();
  std::ptrdiff_t stride = extent(), offset = 0;
  for (std::size_t i = 0; i < dimensions; ++i) {
    const std::size_t d = order == Order::c ? dimensions - 1 - i : i;
    all.repeat(static_cast<std::size_t>(subsizes[d]), stride);
    offset += starts[d] * stride;
    stride *= sizes[d];
  }
  for (Run& run : all.runs_) run.offset += offset;
  return all.resized(0, stride);
}

Typemap Typemap::resized(std::ptrdiff_t lower_bound, std::ptrdiff_t extent) const {
  Typemap all = *this;
  all.lower_ = lower_bound;
  all.upper_ = lower_bound + extent;
  return all;
}

std::size_t Typemap::bytes() const {
  std::size_t sum = 0;
  for (const Run& run : runs_) sum += run.bytes();
  return sum * times_;
}

// A single run takes a repetition as one more dimension, while it has one to spare. Anything else
// is repeated as a whole, which a Layout can do once; a second time it is written out.
void Typemap::repeat(std::size_t count, std::ptrdiff_t stride) {
  if (count == 0) {
    runs_.clear();
    times_ = 1;
  }
  if (count <= 1 || runs_.empty()) return;
  if (runs_.size() == 1 && times_ == 1) {
    Run& run = runs_[0];
    if (run.single()) {
      if (stride == static_cast<std::ptrdiff_t>(run.block)) {
        run.block *= count;
      } else {
        run.count = count;
        run.stride = stride;
      }
      return;
    }
    if (run.rows == 1) {
      if (stride == static_cast<std::ptrdiff_t>(run.count) * run.stride) {
        run.count *= count;
      } else {
        run.rows = count;
        run.row_stride = stride;
      }
      return;
    }
    if (stride == static_cast<std::ptrdiff_t>(run.rows) * run.row_stride) {
      run.rows *= count;
      return;
    }
  }
  if (times_ > 1 && stride == static_cast<std::ptrdiff_t>(times_) * step_) {
    times_ *= count;
    return;
  }
  flatten();
  times_ = count;
  step_ = stride;
}

void Typemap::flatten() {
  if (times_ == 1) return;
  Typemap flat;
  flat.too_long_ = too_long_;
  flat.append(*this, 0);
  while (flat.merge_last()) {
  }
  runs_ = std::move(flat.runs_);
  too_long_ = flat.too_long_;
  times_ = 1;
}

void Typemap::append(const Typemap& part, std::ptrdiff_t shift) {
  too_long_ = too_long_ || part.too_long_;
  for (std::size_t i = 0; i < part.times_ && !too_long_; ++i)
    for (Run run : part.runs_) {
      run.offset += shift + static_cast<std::ptrdiff_t>(i) * part.step_;
      append(run);
    }
}

// Blocks that touch are joined at once; the last run is looked at as a dimension of the one before
// it only when nothing more can touch it.
void Typemap::append(const Run& run) {
  if (too_long_) return;
  if (!runs_.empty()) {
    Run& last = runs_.back();
    if (last.single() && run.single() &&
        last.offset + static_cast<std::ptrdiff_t>(last.block) == run.offset) {
      last.block += run.block;
      return;
    }
    while (merge_last()) {
    }
  }
  if (runs_.size() == most_runs || ++work_ > most_work) {
    too_long_ = true;
    runs_.clear();
    return;
  }
  runs_.push_back(run);
}

// Makes the last two runs one if they are one; false: they are not.
bool Typemap::merge_last() {
  if (runs_.size() < 2) return false;
  Run& a = runs_[runs_.size() - 2];
  const Run& b = runs_.back();
  const std::ptrdiff_t distance = b.offset - a.offset;
  if (a.block != b.block || b.rows != 1) return false;
  const bool alike = a.count == b.count && (a.count == 1 || a.stride == b.stride);
  if (a.rows > 1) {
    if (!alike || distance != static_cast<std::ptrdiff_t>(a.rows) * a.row_stride) return false;
    ++a.rows;
  } else if (a.count == 1 && b.count == 1) {
    a.count = 2;
    a.stride = distance;
  } else if (a.count > 1 && distance == static_cast<std::ptrdiff_t>(a.count) * a.stride &&
             (b.count == 1 || b.stride == a.stride)) {
    a.count += b.count;
  } else if (alike) {
    a.rows = 2;
    a.row_stride = distance;
  } else {
    return false;
  }
  runs_.pop_back();
  return true;
}

// Widens the bounds to `length` consecutive elements at `displacement`.
void Typemap::cover(const Typemap& part, std::int64_t length, std::ptrdiff_t displacement) {
  if (length <= 0) return;
  const std::ptrdiff_t last = (length - 1) * part.extent();
  const std::ptrdiff_t low = displacement + part.lower_ + std::min<std::ptrdiff_t>(0, last);
  const std::ptrdiff_t high = displacement + part.upper_ + std::max<std::ptrdiff_t>(0, last);
  lower_ = covers_ ? std::min(lower_, low) : low;
  upper_ = covers_ ? std::max(upper_, high) : high;
  covers_ = true;
}

}  // namespace tutti::layout
