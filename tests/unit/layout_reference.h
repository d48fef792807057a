// SPDX-License-Identifier: BSD-3-Clause
// The reference for layouts: a type as the list of its bytes' offsets, composed in the most naive
// way, and random types composed both ways at once.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <random>
#include <vector>

#include "layout/layout.h"

namespace tutti::layout::testing {

struct Bytes {
  std::vector<std::ptrdiff_t> offsets;  // in packed order
  std::ptrdiff_t lower = 0, upper = 0;
  bool covers = false;

  [[nodiscard]] std::ptrdiff_t extent() const { return upper - lower; }
  void place(const Bytes& part, std::ptrdiff_t at) {
    for (const std::ptrdiff_t offset : part.offsets) offsets.push_back(at + offset);
    lower = covers ? std::min(lower, at + part.lower) : at + part.lower;
    upper = covers ? std::max(upper, at + part.upper) : at + part.upper;
    covers = true;
  }
  void place_group(const Bytes& part, std::int64_t length, std::ptrdiff_t at) {
    for (std::int64_t i = 0; i < length; ++i) place(part, at + i * part.extent());
  }
  [[nodiscard]] bool overlaps(std::size_t elements) const {
    std::vector<std::ptrdiff_t> all;
    for (std::size_t e = 0; e < elements; ++e)
      for (const std::ptrdiff_t offset : offsets)
        all.push_back(offset + static_cast<std::ptrdiff_t>(e) * extent());
    std::sort(all.begin(), all.end());
    return std::adjacent_find(all.begin(), all.end()) != all.end();
  }
};

inline Bytes block(std::size_t bytes) {
  Bytes all;
  all.offsets.resize(bytes);
  std::iota(all.offsets.begin(), all.offsets.end(), 0);
  all.upper = static_cast<std::ptrdiff_t>(bytes);
  return all;
}

struct Both {
  Typemap typemap;
  Bytes bytes;
};

class RandomTypes {
 public:
  explicit RandomTypes(std::uint64_t seed) : random_(seed) {}

  std::int64_t number(std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(random_);
  }

  Both make(int depth) {
    if (depth == 0) return leaf();
    Both child = make(depth - 1);
    if (child.bytes.offsets.size() > 3000) return child;
    switch (number(0, 7)) {
      case 0:
        return contiguous(child);
      case 1:
      case 2:
        return vector(child);
      case 3:
        return indexed(child);
      case 4:
        return structure(child, depth);
      case 5:
        return subarray(child);
      default:
        return resized(child);
    }
  }

 private:
  Both leaf() {
    const std::size_t sizes[] = {0, 1, 2, 3, 4, 8, 12, 16, 24, 32, 40, 100};
    const std::size_t bytes = sizes[number(0, std::ssize(sizes) - 1)];
    return {Typemap(bytes), block(bytes)};
  }
  Both contiguous(const Both& child) {
    const std::int64_t count = number(0, 5);
    Both both{child.typemap.contiguous(count), {}};
    both.bytes.place_group(child.bytes, count, 0);
    return both;
  }
  Both vector(const Both& child) {
    const std::int64_t count = number(0, 12), length = number(0, 3);
    std::ptrdiff_t stride = number(-5, 6) * child.bytes.extent();
    if (number(0, 3) == 0) stride += number(-9, 9);
    Both both{child.typemap.vector(count, length, stride), {}};
    for (std::int64_t i = 0; i < count; ++i)
      both.bytes.place_group(child.bytes, length, i * stride);
    return both;
  }
  Both indexed(const Both& child) {
    const std::int64_t count = number(0, 7), regular = number(0, 1), apart = number(-60, 60);
    const bool alike = number(0, 2) == 0;
    std::vector<std::int64_t> lengths, displacements;
    for (std::int64_t i = 0; i < count; ++i) {
      lengths.push_back(alike && i > 0 ? lengths[0] : number(0, 3));
      displacements.push_back(regular ? i * apart : number(-300, 300));
    }
    std::vector<std::int64_t> given = lengths;
    if (alike && count > 0) given.resize(1);
    Both both{child.typemap.indexed(given, displacements), {}};
    for (std::size_t i = 0; i < lengths.size(); ++i)
      both.bytes.place_group(child.bytes, lengths[i], displacements[i]);
    return both;
  }
  Both structure(const Both& child, int depth) {
    const Both other = make(static_cast<int>(number(0, depth - 1)));
    std::vector<Typemap::Field> fields;
    Both both;
    std::ptrdiff_t at = 0;
    for (std::int64_t i = number(0, 4); i > 0; --i) {
      const Both& one = number(0, 1) ? child : other;
      const std::int64_t length = number(0, 2);
      fields.push_back({length, at, &one.typemap});
      both.bytes.place_group(one.bytes, length, at);
      at += number(0, 3) ? length * one.bytes.extent() : number(-50, 50);
    }
    both.typemap = Typemap::structure(fields);
    return both;
  }
  Both subarray(const Both& child) {
    const bool fortran = number(0, 1);
    std::vector<std::int64_t> sizes, subsizes, starts;
    for (std::int64_t d = number(1, 4); d > 0; --d) {
      sizes.push_back(number(1, 5));
      subsizes.push_back(number(1, sizes.back()));
      starts.push_back(number(0, sizes.back() - subsizes.back()));
    }
    Both both{child.typemap.subarray(sizes, subsizes, starts,
                                     fortran ? Typemap::Order::fortran : Typemap::Order::c),
              {}};
    const std::size_t n = sizes.size();
    std::ptrdiff_t elements = 1;
    for (const std::int64_t size : sizes) elements *= size;
    // Every element of the array in memory order, if it is in the part.
    for (std::ptrdiff_t e = 0; e < elements; ++e) {
      bool inside = true;
      std::ptrdiff_t rest = e;
      for (std::size_t i = 0; i < n; ++i) {
        const std::size_t d = fortran ? i : n - 1 - i;
        const std::ptrdiff_t index = rest % sizes[d];
        rest /= sizes[d];
        inside = inside && index >= starts[d] && index < starts[d] + subsizes[d];
      }
      if (inside) both.bytes.place(child.bytes, e * child.bytes.extent());
    }
    both.bytes.lower = 0;
    both.bytes.upper = elements * child.bytes.extent();
    return both;
  }
  Both resized(const Both& child) {
    const std::ptrdiff_t lower = number(-20, 20);
    const std::ptrdiff_t choice[] = {child.bytes.extent(), 8, number(-40, 200)};
    const std::ptrdiff_t extent = choice[number(0, 2)];
    Both both{child.typemap.resized(lower, extent), child.bytes};
    both.bytes.lower = lower;
    both.bytes.upper = lower + extent;
    return both;
  }

  std::mt19937_64 random_;
};

}  // namespace tutti::layout::testing
