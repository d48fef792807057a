// SPDX-License-Identifier: BSD-3-Clause
#include "layout/layout.h"

#include <algorithm>
#include <utility>

#include "base/bits.h"
#include "layout/kernels.h"

namespace tutti::layout {
namespace {

constexpr std::size_t without_end = ~std::size_t{0};

// From the first byte of the runs to behind the last.
std::size_t span_of(const std::vector<Run>& runs) {
  std::ptrdiff_t low = runs[0].offset, high = low;
  for (const Run& run : runs) {
    const std::ptrdiff_t across = step_of(run.count - 1, run.stride);
    const std::ptrdiff_t down = step_of(run.rows - 1, run.row_stride);
    const std::ptrdiff_t least =
        std::min<std::ptrdiff_t>(across, 0) + std::min<std::ptrdiff_t>(down, 0);
    const std::ptrdiff_t most =
        std::max<std::ptrdiff_t>(across, 0) + std::max<std::ptrdiff_t>(down, 0);
    low = std::min(low, run.offset + least);
    high = std::max(high, run.offset + most + static_cast<std::ptrdiff_t>(run.block));
  }
  return static_cast<std::size_t>(high - low);
}

}  // namespace

Layout::Layout(Typemap typemap) : bytes_(typemap.bytes()), extent_(typemap.extent()) {
  runs_ = std::move(typemap.runs_);
  units_ = typemap.times_;
  step_ = units_ > 1 ? typemap.step_ : extent_;
  solid_ = units_ == 1 && (runs_.empty() || (runs_.size() == 1 && runs_[0].single()));
  gapless_ = runs_.empty() || step_of(1, extent_) == static_cast<std::ptrdiff_t>(bytes_);

  // Elements that continue what is repeated within one: the smallest such thing is the unit.
  if (units_ > 1 && step_of(units_, step_) == extent_) units_ = 1;
  if (units_ == 1 && runs_.size() == 1) {
    Run& run = runs_[0];
    if (run.rows > 1 && step_of(run.rows, run.row_stride) == step_) {
      run.rows = 1;
      step_ = run.row_stride;
    }
    if (run.rows == 1 && run.count > 1 && step_of(run.count, run.stride) == step_) {
      run.count = 1;
      step_ = run.stride;
    }
  }

  for (const Run& run : runs_) {
    starts_.push_back(unit_bytes_);
    unit_bytes_ += run.bytes();
  }
  if (runs_.empty()) return;
  const std::size_t span = span_of(runs_);
  const std::size_t step = std::max<std::size_t>(1, static_cast<std::size_t>(std::abs(step_)));
  if (span > step) {
    grain_ = units_ == 1 ? divide_up(64, step) * unit_bytes_ : 1;
    chunk_ = runs_.size() == 1 ? without_end : std::max<std::size_t>(16, 128 / step);
  } else {
    // Unit by unit costs more than run by run over as many as fit the first-level cache.
    chunk_ = runs_.size() == 1 && runs_[0].single()
                 ? without_end
                 : std::max<std::size_t>(1, (16 << 10) / std::max(step, unit_bytes_));
  }
}

// All arithmetic on `base` is on integers, as MPI_BOTTOM is null.
template <class Direction>
struct Layout::Walk {
  const Layout& layout;
  std::byte* packed;

  static std::byte* at(std::uintptr_t base, std::ptrdiff_t offset) {
    return reinterpret_cast<std::byte*>(base + static_cast<std::uintptr_t>(offset));
  }

  void elements(std::uintptr_t base, std::size_t begin, std::size_t bytes) {
    if (layout.units_ == 1) return units(base, begin, bytes);
    base += begin / layout.bytes_ * static_cast<std::uintptr_t>(layout.extent_);
    begin %= layout.bytes_;
    while (bytes > 0) {
      const std::size_t some = std::min(bytes, layout.bytes_ - begin);
      units(base, begin, some);
      base += static_cast<std::uintptr_t>(layout.extent_);
      bytes -= some;
      begin = 0;
    }
  }

  // The packed bytes [begin, begin + bytes) of consecutive units at `base`.
  void units(std::uintptr_t base, std::size_t begin, std::size_t bytes) {
    const std::size_t unit_bytes = layout.unit_bytes_;
    const auto step = static_cast<std::uintptr_t>(layout.step_);
    if (begin > 0) {
      base += begin / unit_bytes * step;
      begin %= unit_bytes;
    }
    if (begin > 0) {
      const std::size_t some = std::min(bytes, unit_bytes - begin);
      part_of_unit(base, begin, some);
      base += step;
      bytes -= some;
    }
    const std::size_t whole = bytes / unit_bytes;
    if (whole > 0) whole_units(base, whole);
    if (const std::size_t rest = bytes - whole * unit_bytes; rest > 0)
      part_of_unit(base + whole * step, 0, rest);
  }

  void whole_units(std::uintptr_t base, std::size_t count) {
    if (layout.solid_ && layout.gapless_) {
      Direction::move(packed, at(base, layout.runs_[0].offset), count * layout.unit_bytes_);
      packed += count * layout.unit_bytes_;
      return;
    }
    const auto step = static_cast<std::uintptr_t>(layout.step_);
    while (count > 0) {
      const std::size_t some = std::min(count, layout.chunk_);
      if (some == 1) {
        for (const Run& run : layout.runs_) whole_run(run, base);
      } else {
        std::byte* to = packed;
        for (const Run& run : layout.runs_) {
          run_of_units(run, base, to, some);
          to += run.bytes();
        }
        packed += some * layout.unit_bytes_;
      }
      base += some * step;
      count -= some;
    }
  }

  void run_of_units(const Run& run, std::uintptr_t base, std::byte* to, std::size_t count) {
    const Dimension units{count, layout.step_, static_cast<std::ptrdiff_t>(layout.unit_bytes_)};
    const Dimension blocks{run.count, run.stride, static_cast<std::ptrdiff_t>(run.block)};
    with_kernel<Direction>(run.block, [&](auto kernel) {
      for (std::size_t row = 0; row < run.rows; ++row)
        kernel.plane(to + row * run.count * run.block,
                     at(base, run.offset + step_of(row, run.row_stride)), units, blocks, run.block);
    });
  }

  void part_of_unit(std::uintptr_t base, std::size_t begin, std::size_t bytes) {
    const auto& starts = layout.starts_;
    auto k = static_cast<std::size_t>(std::upper_bound(starts.begin(), starts.end(), begin) -
                                      starts.begin() - 1);
    begin -= starts[k];
    for (; bytes > 0; ++k, begin = 0) {
      const Run& run = layout.runs_[k];
      const std::size_t some = std::min(bytes, run.bytes() - begin);
      if (some == run.bytes())
        whole_run(run, base);
      else
        part_of_run(run, base, begin, some);
      bytes -= some;
    }
  }

  void whole_run(const Run& run, std::uintptr_t base) {
    if (run.single()) {
      Direction::move(packed, at(base, run.offset), run.block);
      packed += run.block;
    } else {
      rows(run, at(base, run.offset), run.rows);
    }
  }

  void rows(const Run& run, std::byte* memory, std::size_t count) {
    const std::size_t row_bytes = run.count * run.block;
    const Dimension outer{count, run.row_stride, static_cast<std::ptrdiff_t>(row_bytes)};
    const Dimension inner{run.count, run.stride, static_cast<std::ptrdiff_t>(run.block)};
    with_kernel<Direction>(
        run.block, [&](auto kernel) { kernel.plane(packed, memory, outer, inner, run.block); });
    packed += count * row_bytes;
  }

  void part_of_run(const Run& run, std::uintptr_t base, std::size_t begin, std::size_t bytes) {
    const std::size_t row_bytes = run.count * run.block;
    std::size_t row = begin / row_bytes;
    begin -= row * row_bytes;
    const auto memory = [&] { return at(base, run.offset + step_of(row, run.row_stride)); };
    if (begin > 0) {
      const std::size_t some = std::min(bytes, row_bytes - begin);
      part_of_row(run, memory(), begin, some);
      bytes -= some;
      ++row;
    }
    if (const std::size_t whole = bytes / row_bytes; whole > 0) {
      rows(run, memory(), whole);
      bytes -= whole * row_bytes;
      row += whole;
    }
    if (bytes > 0) part_of_row(run, memory(), 0, bytes);
  }

  void part_of_row(const Run& run, std::byte* memory, std::size_t begin, std::size_t bytes) {
    std::size_t i = begin / run.block;
    begin -= i * run.block;
    const auto block = [&] { return memory + step_of(i, run.stride); };
    const auto part = [&](std::size_t some) {
      Direction::move(packed, block() + begin, some);
      packed += some;
      bytes -= some;
    };
    if (begin > 0) {
      part(std::min(bytes, run.block - begin));
      begin = 0;
      ++i;
    }
    if (const std::size_t whole = bytes / run.block; whole > 0) {
      const Dimension blocks{whole, run.stride, static_cast<std::ptrdiff_t>(run.block)};
      with_kernel<Direction>(run.block,
                             [&](auto kernel) { kernel.row(packed, block(), blocks, run.block); });
      packed += whole * run.block;
      bytes -= whole * run.block;
      i += whole;
    }
    if (bytes > 0) part(bytes);
  }
};

void Layout::pack(std::byte* to, const std::byte* base, std::size_t begin,
                  std::size_t bytes) const {
  if (bytes == 0 || runs_.empty()) return;
  Walk<Packing>{*this, to}.elements(reinterpret_cast<std::uintptr_t>(base), begin, bytes);
}

void Layout::unpack(std::byte* base, const std::byte* from, std::size_t begin,
                    std::size_t bytes) const {
  if (bytes == 0 || runs_.empty()) return;
  Walk<Unpacking>{*this, const_cast<std::byte*>(from)}.elements(
      reinterpret_cast<std::uintptr_t>(base), begin, bytes);
}

}  // namespace tutti::layout
