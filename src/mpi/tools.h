// SPDX-License-Identifier: BSD-3-Clause
// Tools that wrap MPI functions, wherever they stand in the loader's search order. Without Tutti a
// call goes to the first of them, from each to the next or, as PMPI_X, to the MPI. So it does with
// Tutti, which stands where the MPI does: after all of them.
#pragma once

namespace tutti::mpi {

// The function of that name that comes next after this library if it is not the MPI's. nullptr:
// there is none.
[[nodiscard]] void* next_tools(const char* name);
// The one that a call of the program's finds first, before this library or after it.
[[nodiscard]] void* first_tools(const char* name);

}  // namespace tutti::mpi
