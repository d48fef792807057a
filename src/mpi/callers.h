// SPDX-License-Identifier: BSD-3-Clause
// Who calls PMPI_X: the Fortran bindings of the user's MPI, the MPI itself, or anybody else; told
// by the return address.
//
// Wrappers store what was returned in `ierror`, so none of them jumps to the function in place of
// calling it, and the return address is theirs. A tool's wrapper may jump: then the return address
// is that of the tool's caller. Objects that have called are remembered and kept from being
// unloaded, so a call costs a few comparisons. An object that is loaded later is met at its first
// call.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

namespace tutti::mpi {

// What the file of such a library is called: libmpi_mpifh.so.40, libmpichfort.so.12 ...
[[nodiscard]] bool is_fortran_library(const char* path);

// `shut_out`: the Fortran bindings where TUTTI_FORTRAN is 0.
enum class Caller : std::uint8_t { other, fortran, shut_out, mpi };

class Callers {
 public:
  [[nodiscard]] Caller of(const void* return_address) {
    const auto address = reinterpret_cast<std::uintptr_t>(return_address);
    const int count = count_.load(std::memory_order_acquire);
    for (int i = 0; i < count; ++i)
      if (address - known_[i].begin < known_[i].bytes) return known_[i].caller;
    return meet(address);
  }

 private:
  struct Known {
    std::uintptr_t begin;
    std::uintptr_t bytes;
    Caller caller;
  };

  Caller meet(std::uintptr_t address);
  void remember(const Known& object);

  std::array<Known, 32> known_{};  // those beyond are looked up each time
  std::atomic<int> count_{0};
};
inline constinit Callers callers;

}  // namespace tutti::mpi
