// SPDX-License-Identifier: BSD-3-Clause
#include "base/base.h"
#include "mpi/front_alone.h"
#include "mpi/front_arguments.h"
#include "mpi/front_calls.h"
#include "mpi/front_life.h"
#include "mpi/front_moves.h"
#include "mpi/front_native.h"
#include "mpi/front_requests.h"
#include "mpi/front_roll.h"
#include "mpi/front_sessions.h"
#include "mpi/front_trace.h"

#include <sys/auxv.h>

#include "commons/commons.h"
#include "os/references.h"

namespace tutti::mpi {
namespace {

// What the MPI's library allocates is for itself, unless it is part of the program.
void keep_apart(const Library& library) {
  const os::ObjectRange code = os::object_with(library.find("PMPI_Init"));
  if (!code.holds(reinterpret_cast<const void*>(::getauxval(AT_ENTRY))))
    commons::keep_apart(code.first, code.end - code.first);
}

}  // namespace

// MPICH's handles are ints, the others' pointers; nothing else differs once the handles are known.
const Entries& find_entries() {
  static const Entries& found = []() -> const Entries& {
    const Library library = find_library();
    if (library.handle == nullptr) {
      log::fatal("an MPI function was called, but no MPI library is loaded in this process");
      std::_Exit(1);
    }
    keep_apart(library);
    const bool mpich = library.family == Family::mpich;
    return mpich ? Front<int>::open(library) : Front<void*>::open(library);
  }();
  g_entries.store(&found, std::memory_order_release);
  return found;
}

}  // namespace tutti::mpi
