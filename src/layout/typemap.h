// SPDX-License-Identifier: BSD-3-Clause
// Typemap: composes a datatype's bytes, in MPI's order, from few strided runs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace tutti::layout {

// rows x count blocks: the block of (row, i) lies at offset + row * row_stride + i * stride.
struct Run {
  std::ptrdiff_t offset = 0;
  std::size_t block = 0;  // bytes
  std::size_t count = 1;
  std::ptrdiff_t stride = 0;
  std::size_t rows = 1;
  std::ptrdiff_t row_stride = 0;

  [[nodiscard]] std::size_t bytes() const { return block * count * rows; }
  [[nodiscard]] bool single() const { return count == 1 && rows == 1; }
};

// Displacements are in bytes, counts in elements. Bounds follow MPI, but without the padding that a
// compiler would add to a struct: that is the caller's to say, by resized().
class Typemap {
 public:
  struct Field;
  enum class Order : std::uint8_t { c, fortran };
  using Numbers = std::span<const std::int64_t>;

  Typemap() = default;                 // of no bytes
  explicit Typemap(std::size_t bytes)  // one block
      : runs_{{.block = bytes}}, upper_(static_cast<std::ptrdiff_t>(bytes)) {
    if (bytes == 0) runs_.clear();
  }

  [[nodiscard]] Typemap contiguous(std::int64_t count) const;
  // `count` groups of `length` elements, `stride` bytes from one to the next.
  [[nodiscard]] Typemap vector(std::int64_t count, std::int64_t length,
                               std::ptrdiff_t stride) const;
  // A group of lengths[i] elements at displacements[i]; a single length holds for all.
  [[nodiscard]] Typemap indexed(Numbers lengths, Numbers displacements) const;
  [[nodiscard]] static Typemap structure(std::span<const Field> fields);
  // Precondition: the three have the same length.
  [[nodiscard]] Typemap subarray(Numbers sizes, Numbers subsizes, Numbers starts,
                                 Order order) const;
  [[nodiscard]] Typemap resized(std::ptrdiff_t lower_bound, std::ptrdiff_t extent) const;

  [[nodiscard]] std::size_t bytes() const;
  [[nodiscard]] std::ptrdiff_t lower_bound() const { return lower_; }
  [[nodiscard]] std::ptrdiff_t extent() const { return upper_ - lower_; }
  // It would take more runs than are worth it. Whatever is made of such a one is such a one too.
  [[nodiscard]] bool too_long() const { return too_long_; }

 private:
  friend class Layout;
  static constexpr std::size_t most_runs = 1 << 16;
  static constexpr std::size_t most_work = 1 << 22;  // runs looked at to compose one level

  void repeat(std::size_t count, std::ptrdiff_t stride);
  void flatten();
  void append(const Typemap& part, std::ptrdiff_t shift);
  void append(const Run& run);
  bool merge_last();
  void cover(const Typemap& part, std::int64_t length, std::ptrdiff_t displacement);

  // The runs, `times_` times over, `step_` bytes apart.
  std::vector<Run> runs_;
  std::size_t times_ = 1;
  std::ptrdiff_t step_ = 0;

  std::ptrdiff_t lower_ = 0, upper_ = 0;
  bool covers_ = false;  // the bounds are of something
  bool too_long_ = false;
  std::size_t work_ = 0;
};

struct Typemap::Field {
  std::int64_t length;
  std::ptrdiff_t displacement;
  const Typemap* type;
};

}  // namespace tutti::layout
