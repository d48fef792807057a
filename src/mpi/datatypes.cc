// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/datatypes.h"

namespace tutti::mpi {

// One with gaps, one that was not asked for yet, or one that may still change.
template <class H>
bool Datatypes<H>::describe_predefined(typename PredefinedTypes<H>::Slot& slot,
                                       Described<H>& element) {
  const Known& known = layouts_.predefined().known(slot, element.type);
  if (known.sort == Known::Sort::absent) return false;  // as the MPI will say
  if (known.sort == Known::Sort::unknown) return ask_for_size(element);
  element.bytes = known.bytes;
  element.extent = known.layout.extent();
  if (known.sort == Known::Sort::gapped) element.layout = &known.layout;
  return true;
}

template <class H>
bool Datatypes<H>::describe_derived(Described<H>& element) {
  if (const layout::Layout* layout = layouts_.find(element.type)) {
    element.bytes = layout->bytes();
    element.extent = layout->extent();
    element.layout = layout;
    return true;
  }
  // Errors of the call, as the MPI will say.
  if (native_.is_no_type(element.type) || !arguments_.is_committed(element.type)) return false;
  return ask_for_size(element);
}

template <class H>
bool Datatypes<H>::ask_for_size(Described<H>& element) {
  Count size = 0, lower_bound = 0, extent = 0;
  if (native_.type_size_x(element.type, &size) != 0 || size < 0) return false;
  if (native_.type_get_extent_x(element.type, &lower_bound, &extent) != 0) return false;
  element.bytes = static_cast<std::size_t>(size);
  element.extent = extent;
  element.opaque = true;
  return true;
}

template class Datatypes<int>;
template class Datatypes<void*>;

}  // namespace tutti::mpi
