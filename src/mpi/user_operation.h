// SPDX-License-Identifier: BSD-3-Clause
// Operations of the user as kernels. The MPI computes them, by MPI_Reduce_local, as it knows the
// language they are written in; Tutti says on what and in which order. On the thread that called
// the collective alone: the function may be none that another thread may run.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "base/base.h"
#include "reduce/reduce.h"

namespace tutti::mpi {

template <class H>
struct UserOperation {
  using ReduceLocal = int (*)(const void* in, void* in_out, int count, H type, H op);

  // What the kernel of this thread computes, until another is set.
  ReduceLocal reduce_local = nullptr;
  H type{}, op{};
  std::size_t element_bytes = 1;

  // Elements have no gaps, and are at most so large: some fit in each block and slot.
  static constexpr std::size_t most_element_bytes = 256;

  static void set(const UserOperation& operation) { t_now = operation; }
  [[nodiscard]] static const reduce::Kernel& kernel() {
    static constexpr reduce::Kernel all{apply, apply2, apply4};
    return all;
  }

 private:
  // MPI_Reduce_local gives its result in the place of the right operand.
  static constexpr std::size_t block_bytes = std::size_t{8} << 10;
  struct alignas(64) Block {
    std::byte bytes[block_bytes];
  };

  // out = left op right; `out` is neither, or the right one.
  static void combine(const UserOperation& with, std::byte* out, const void* left,
                      const void* right, std::size_t count) {
    if (out != right) std::memcpy(out, right, count * with.element_bytes);
    if (with.reduce_local(left, out, static_cast<int>(count), with.type, with.op) == 0) return;
    log::fatal("the MPI could not apply an operation of the user (MPI_Reduce_local)");
    std::abort();
  }

  // Calls visit(offset, elements) for one block after the other.
  template <class Visit>
  static void for_each_block(std::size_t count, Visit visit) {
    const std::size_t element = t_now.element_bytes, most = block_bytes / element;
    for (std::size_t done = 0; done < count; done += most)
      visit(done * element, std::min(most, count - done));
  }
  static const std::byte* at(const void* operand, std::size_t offset) {
    return static_cast<const std::byte*>(operand) + offset;
  }

  static void apply(void* out, const void* left, const void* right, std::size_t count,
                    reduce::Stores) {
    const UserOperation with = t_now;
    for_each_block(count, [&](std::size_t offset, std::size_t n) {
      auto* const to = static_cast<std::byte*>(out) + offset;
      if (out != left) return combine(with, to, at(left, offset), at(right, offset), n);
      Block copy;
      std::memcpy(copy.bytes, to, n * with.element_bytes);
      combine(with, to, copy.bytes, at(right, offset), n);
    });
  }

  static void apply2(void* out_a, void* out_b, const void* left, const void* right,
                     std::size_t count, reduce::Stores) {
    const UserOperation with = t_now;
    for_each_block(count, [&](std::size_t offset, std::size_t n) {
      Block sum;
      combine(with, sum.bytes, at(left, offset), at(right, offset), n);
      for (void* out : {out_a, out_b})
        std::memcpy(static_cast<std::byte*>(out) + offset, sum.bytes, n * with.element_bytes);
    });
  }

  static void apply4(void* out, const void* const in[4], std::size_t count, reduce::Stores) {
    const UserOperation with = t_now;
    for_each_block(count, [&](std::size_t offset, std::size_t n) {
      Block first, second;
      combine(with, first.bytes, at(in[0], offset), at(in[1], offset), n);
      combine(with, second.bytes, at(in[2], offset), at(in[3], offset), n);
      combine(with, second.bytes, first.bytes, second.bytes, n);
      std::memcpy(static_cast<std::byte*>(out) + offset, second.bytes, n * with.element_bytes);
    });
  }

  static inline constinit thread_local UserOperation t_now{};
};

}  // namespace tutti::mpi
