// SPDX-License-Identifier: BSD-3-Clause
// What a reduction computes with: the kernel of a predefined operation on a predefined type, or the
// user's function. Where there is neither, the MPI computes. To plan what a thread planned last
// takes a few instructions.
#pragma once

#include <array>
#include <cstddef>

#include "mpi/answers.h"
#include "mpi/arguments.h"
#include "mpi/call.h"
#include "mpi/datatypes.h"
#include "mpi/handle_map.h"

namespace tutti::mpi {

template <class H>
class Operations {
 public:
  Operations(const Native<H>& native, Arguments<H>& arguments, Datatypes<H>& datatypes,
             Answers<H>& answers)
      : native_(native), arguments_(arguments), datatypes_(datatypes), answers_(answers) {}

  // Calls nothing of the MPI.
  void open(const Library& library);

  // The kernel for a reduction, with the size of its elements. False: the MPI must do the call.
  [[nodiscard]] bool plan(Call<H>& call, H type, H op) {
    const Plan& last = recent().plan;
    if (last.kernel == nullptr || last.type != type || last.op != op) [[unlikely]]
      return make_plan(call, type, op);
    call.work.kernel = last.kernel;
    call.work.element_bytes = last.element_bytes;
    call.work.op = last.work_op;
    return true;
  }

  // Of a vector that a predefined operation computes, or more; 0 for one of the user's: other ranks
  // may describe the same data by another type.
  [[nodiscard]] std::size_t bytes_of(Count count, H type, H op);

 private:
  struct Plan {
    H type{}, op{};
    const reduce::Kernel* kernel = nullptr;
    std::size_t element_bytes = 0;
    int work_op = 0;  // as Work::op
  };
  // What a thread looked up last.
  struct Recent {
    Plan plan;      // of a predefined operation
    H operation{};  // of the user, and not freed when it was
  };
  [[nodiscard]] static Recent& recent() {
    thread_local Recent value;
    return value;
  }
  [[nodiscard]] bool make_plan(Call<H>& call, H type, H op);
  void pack(Call<H>& call, Described<H>& element);
  [[nodiscard]] bool make_user_plan(Call<H>& call, H type, H op);
  // Where members are on several nodes, fills in whether it commutes.
  [[nodiscard]] bool find_user_operation(Call<H>& call, H op);
  [[nodiscard]] bool spread_of(Call<H>& call, const Described<H>& element, Spread<H>& spread);

  const Native<H>& native_;
  Arguments<H>& arguments_;
  Datatypes<H>& datatypes_;
  Answers<H>& answers_;
  HandleMap<const OpRow> ops_;
  std::array<std::uint64_t, other_op_rows().size()> no_operations_{};
};

}  // namespace tutti::mpi
