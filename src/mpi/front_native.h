// SPDX-License-Identifier: BSD-3-Clause
// Front: what is asked of the MPI about its datatypes, and the calls that are left to it.
#pragma once

#include <tuple>

#include "mpi/front.h"

namespace tutti::mpi {

// One with gaps, one that was not asked for yet, or one that may still change.
template <class H>
bool Front<H>::describe_predefined(typename PredefinedTypes<H>::Slot& slot, Described<H>& element) {
  const Known& known = layouts_.predefined().known(slot, element.type);
  if (known.sort == Known::Sort::absent) return false;  // as the MPI will say
  if (known.sort == Known::Sort::unknown) return ask_for_size(element);
  element.bytes = known.bytes;
  element.extent = known.layout.extent();
  if (known.sort == Known::Sort::gapped) element.layout = &known.layout;
  return true;
}

template <class H>
bool Front<H>::describe_derived(Described<H>& element) {
  const auto committed = [this](H asked) { return is_committed(asked); };
  if (const layout::Layout* layout = layouts_.find(element.type, committed)) {
    element.bytes = layout->bytes();
    element.extent = layout->extent();
    element.layout = layout;
    return true;
  }
  // Errors of the call, as the MPI will say.
  if (layouts_.is_null(element.type) || !is_committed(element.type)) return false;
  return ask_for_size(element);
}

template <class H>
bool Front<H>::ask_for_size(Described<H>& element) {
  Count size = 0, lower_bound = 0, extent = 0;
  if (native_.type_size(element.type, &size) != 0 || size < 0) return false;
  if (native_.type_get_extent(element.type, &lower_bound, &extent) != 0) return false;
  element.bytes = static_cast<std::size_t>(size);
  element.extent = extent;
  element.opaque = true;
  return true;
}

template <class H>
bool Front<H>::has_root_arguments(int root, H comm) const {
  int rank = -1, inter = 0;
  native_.comm_test_inter(comm, &inter);
  native_.comm_rank(comm, &rank);
  return inter ? root < 0 : rank == root;  // the root of an intercommunicator says MPI_ROOT
}

template <class H>
template <class N, class... Request>
const auto& Front<H>::native_forms() const {
  constexpr bool small = std::is_same_v<N, int>;
  if constexpr (sizeof...(Request) == 0) {
    if constexpr (small)
      return native_.small;
    else
      return native_.large;
  } else {
    if constexpr (small)
      return native_.small_started;
    else
      return native_.large_started;
  }
}

template <class H>
template <class N, class D, class... Request, class Function, class Small, class... Arguments>
int Front<H>::call_native(Function Forms<H, N, D, Request...>::*function,
                          Small Forms<H, int, int, Request...>::*small, H comm,
                          Arguments... arguments) {
  const auto native = native_forms<N, Request...>().*function;
  if constexpr (std::is_same_v<N, int>) {
    return native(arguments...);
  } else {
    if (native != nullptr) return native(arguments...);
    int members = 0, inter = 0;
    native_.comm_test_inter(comm, &inter);
    (inter ? native_.comm_remote_size : native_.comm_size)(comm, &members);
    using Narrowed = std::tuple<Narrow<Arguments>...>;
    const auto narrow = std::make_shared<const Narrowed>(Narrow<Arguments>(arguments, members)...);
    if (sizeof...(Request) > 0 && (std::is_same_v<Arguments, const Count*> || ...)) {
      const std::lock_guard lock(retaining_);
      retained_.push_back(narrow);
    }
    return std::apply(
        [&](const auto&... argument) {
          if ((argument.fits && ...))
            return (native_forms<int, Request...>().*small)(argument.value...);
          const int code = error_classes(library_.family).count;
          native_.comm_call_errhandler(comm, code);
          return code;
        },
        *narrow);
  }
}

}  // namespace tutti::mpi
