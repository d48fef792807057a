// SPDX-License-Identifier: BSD-3-Clause
// The user's MPI, found in the running process; Tutti is linked with none.
#pragma once

#include <cstdint>

#include "mpi/handles.h"

namespace tutti::mpi {

struct Library {
  void* handle = nullptr;  // for dlsym; nullptr: no MPI in this process
  Family family = Family::mpich;

  // The MPI's own function, past any interposer; nullptr when it has none.
  template <class Function>
  void load(Function*& function, const char* name) const {
    function = reinterpret_cast<Function*>(find(name));
  }
  [[nodiscard]] void* find(const char* name) const;
};

// Looks for whoever provides PMPI_Bcast: after this library in the link order, else in any loaded
// object, as Python modules load their MPI for themselves (RTLD_LOCAL).
[[nodiscard]] Library find_library();

}  // namespace tutti::mpi
