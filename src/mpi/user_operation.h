// SPDX-License-Identifier: BSD-3-Clause
// Operations of the user as kernels. The MPI computes them, by MPI_Reduce_local, as it knows the
// language they are written in; Tutti says on what and in which order. On the rank's own threads
// alone: the function may be none that another thread may run.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <utility>

#include "base/base.h"
#include "mpi/spread.h"
#include "reduce/reduce.h"

namespace tutti::mpi {

template <class H>
class UserOperation {
 public:
  // `spread`: of elements with gaps, which travel packed; nullptr: they have none.
  UserOperation() = default;
  UserOperation(const Native<H>& native, H type, H op, std::size_t element_bytes,
                const Spread<H>* spread)
      : reduce_local_(native.reduce_local), type_(type), op_(op), element_bytes_(element_bytes) {
    if (spread != nullptr) spread_ = *spread;
  }

  // What the kernel of this thread computes from now on, until another is set. Of a blocking call.
  static void set(const UserOperation& operation) {
    thread_local UserOperation own;
    own = operation;
    t_now = &own;
  }
  // The same of one that lives elsewhere; what it was before, to be bound again.
  static const void* bind(const void* operation) {
    return std::exchange(t_now, static_cast<const UserOperation*>(operation));
  }
  [[nodiscard]] static const reduce::Kernel& kernel() {
    static constexpr reduce::Kernel all{apply, apply2, apply4};
    return all;
  }

 private:
  [[nodiscard]] bool is_spread() const { return spread_.native != nullptr; }

  void reduce(const std::byte* left, std::byte* right, std::size_t count) const {
    if (reduce_local_(left, right, static_cast<int>(count), type_, op_) == 0) return;
    log::fatal("the MPI could not apply an operation of the user (MPI_Reduce_local)");
    std::abort();
  }

  // out = left op right; `out` may be either. MPI_Reduce_local gives its result in the place of the
  // right operand.
  void combine(std::byte* out, const std::byte* left, const std::byte* right,
               std::size_t count) const {
    if (is_spread()) return combine_spread(out, left, right, count);
    const std::size_t bytes = count * element_bytes_;
    if (out == left) {
      Room copy(bytes);
      std::memcpy(copy.get(), left, bytes);
      if (out != right) std::memcpy(out, right, bytes);
      return reduce(copy.get(), out, count);
    }
    if (out != right) std::memcpy(out, right, bytes);
    reduce(left, out, count);
  }
  void combine_spread(std::byte* out, const std::byte* left, const std::byte* right,
                      std::size_t count) const {
    Room left_room(spread_.room(count)), right_room(spread_.room(count));
    std::byte* const from = spread_.origin(left_room.get(), count);
    std::byte* const to = spread_.origin(right_room.get(), count);
    spread_.lay(from, left, count);
    spread_.lay(to, right, count);
    reduce(from, to, count);
    spread_.collect(out, to, count);
  }

  // Calls visit(offset, elements) for one block after the other.
  template <class Visit>
  void for_each_block(std::size_t count, Visit visit) const {
    const std::size_t usual = std::max<std::size_t>(1, Room::usual_bytes / element_bytes_);
    const std::size_t most = is_spread() ? spread_.most() : usual;
    for (std::size_t done = 0; done < count; done += most)
      visit(done * element_bytes_, std::min(most, count - done));
  }
  static const std::byte* at(const void* operand, std::size_t offset) {
    return static_cast<const std::byte*>(operand) + offset;
  }

  static void apply(void* out, const void* left, const void* right, std::size_t count,
                    reduce::Stores) {
    const UserOperation& with = *t_now;
    with.for_each_block(count, [&](std::size_t offset, std::size_t n) {
      with.combine(static_cast<std::byte*>(out) + offset, at(left, offset), at(right, offset), n);
    });
  }

  static void apply2(void* out_a, void* out_b, const void* left, const void* right,
                     std::size_t count, reduce::Stores) {
    const UserOperation& with = *t_now;
    with.for_each_block(count, [&](std::size_t offset, std::size_t n) {
      const std::size_t bytes = n * with.element_bytes_;
      Room sum(bytes);
      with.combine(sum.get(), at(left, offset), at(right, offset), n);
      for (void* out : {out_a, out_b})
        std::memcpy(static_cast<std::byte*>(out) + offset, sum.get(), bytes);
    });
  }

  static void apply4(void* out, const void* const in[4], std::size_t count, reduce::Stores) {
    const UserOperation& with = *t_now;
    with.for_each_block(count, [&](std::size_t offset, std::size_t n) {
      const std::size_t bytes = n * with.element_bytes_;
      Room first(bytes), second(bytes);
      with.combine(first.get(), at(in[0], offset), at(in[1], offset), n);
      with.combine(second.get(), at(in[2], offset), at(in[3], offset), n);
      with.combine(second.get(), first.get(), second.get(), n);
      std::memcpy(static_cast<std::byte*>(out) + offset, second.get(), bytes);
    });
  }

  static inline constinit thread_local const UserOperation* t_now = nullptr;

  int (*reduce_local_)(const void* in, void* in_out, int count, H type, H op) = nullptr;
  H type_{}, op_{};
  std::size_t element_bytes_ = 1;
  Spread<H> spread_;
};

}  // namespace tutti::mpi
