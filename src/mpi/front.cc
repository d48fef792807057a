// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/front.h"

#include <sys/auxv.h>

#include <cstdlib>

#include "base/base.h"
#include "commons/commons.h"
#include "os/loads.h"
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

template <class H>
const Entries& Front<H>::open(const Library& library) {
  self_ = new Front;
  self_->native.load(library);
  self_->datatypes.open(library);
  self_->operations.open(library);
  os::watch_loads();

  static Entries entries{};
  Life<H>::add_entries(entries);
  Allocations<H>::add_entries(entries);
  Requests<H>::add_entries(entries);
  Blocking<H>::add_entries(entries);
  add_calls<H>(entries);
  add_moves<H>(entries);
  self_->left_calls.lead_to_tools(entries);
  return entries;
}

template <class H>
bool Front<H>::serves(Call<H>& call, bool on_device) {
  if (call.team == nullptr) return !on_device || leave(call, on_a_device);
  if (!call.blocking() || !call.team->has_devices()) return true;
  if (!call.team->any(call.collective, call.work, on_device)) return true;
  return leave(call, on_a_device);
}

template class Front<int>;
template class Front<void*>;

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
