// SPDX-License-Identifier: BSD-3-Clause
// Front: what is asked of the MPI about its datatypes, and the calls that are left to it.
#pragma once

#include <tuple>
#include <type_traits>

#include "mpi/front.h"
#include "mpi/tools.h"

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
  const auto committed = [](H asked) { return self_->is_committed(asked); };
  if (const layout::Layout* layout = layouts_.find(element.type, committed)) {
    element.bytes = layout->bytes();
    element.extent = layout->extent();
    element.layout = layout;
    return true;
  }
  // Errors of the call, as the MPI will say.
  if (element.type == native_.null_type || !is_committed(element.type)) return false;
  return ask_for_size(element);
}

template <class H>
bool Front<H>::ask_for_size(Described<H>& element) {
  Count size = 0, lower_bound = 0, extent = 0;
  if (native_.type_size_x(element.type, &size) != 0 || size < 0) return false;
  if (native_.type_get_extent_x(element.type, &lower_bound, &extent) != 0) return false;
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
template <bool keeps, class Small, class Otherwise, class... Arguments>
int Front<H>::call_narrowed(Small small, H comm, Otherwise otherwise, Arguments... arguments) {
  int members = 0, inter = 0;
  native_.comm_test_inter(comm, &inter);
  (inter ? native_.comm_remote_size : native_.comm_size)(comm, &members);
  using Narrowed = std::tuple<Narrow<Arguments>...>;
  Narrowed narrowed(Narrow<Arguments>(arguments, members)...);
  if constexpr (keeps && (std::is_same_v<Arguments, const Count*> || ...)) {
    const std::lock_guard lock(retaining_);
    std::apply([&](auto&... argument) { (argument.outlive(retained_), ...); }, narrowed);
  }
  return std::apply(
      [&](const auto&... argument) {
        return (argument.fits && ...) ? small(argument.value...) : otherwise();
      },
      narrowed);
}

template <class H>
template <class N, class D, class... Request, class Function, class Small, class... Arguments>
int Front<H>::call_native(Function Forms<H, N, D, Request...>::*function,
                          Small Forms<H, int, int, Request...>::*small, H comm,
                          Arguments... arguments) {
  const auto native = native_.template forms<N, Request...>().*function;
  if constexpr (std::is_same_v<N, int>) {
    return native(arguments...);
  } else {
    if (native != nullptr) return native(arguments...);
    const auto refuse = [&] {
      const int code = error_classes(library_.family).count;
      native_.comm_call_errhandler(comm, code);
      return code;
    };
    return call_narrowed<(sizeof...(Request) > 0)>(native_.template forms<int, Request...>().*small,
                                                   comm, refuse, arguments...);
  }
}

template <class H>
template <auto small, auto large, bool starts, class... Arguments>
int Front<H>::call_tool(Arguments... arguments) {
  constexpr std::size_t last = sizeof...(Arguments) - 1;
  const Word comm = std::get < starts ? last - 1 : last > (std::tuple(arguments...));
  const auto ourselves = [&] {  // what only the large form can say, no tool would see
    if constexpr (starts)
      return (forms<Count, Aint, void*>().*large)(arguments...);
    else
      return (forms<Count, Aint>().*large)(arguments...);
  };
  const auto& tools = std::get < starts ? 1 : 0 > (self_->tools_);
  return self_->template call_narrowed<starts>(tools.*small, handle(comm), ourselves, arguments...);
}

template <class H>
template <auto small, auto large, bool starts, class... Arguments>
void Front<H>::lead_to_tool(bool is_native, int (*&entry)(Arguments...), const char* name) {
  void* tool = is_native ? nullptr : first_tools(name);
  if (tool == nullptr) return;
  auto& function = std::get < starts ? 1 : 0 > (tools_).*small;
  function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(tool);
  entry = call_tool<small, large, starts, Arguments...>;
}

// Where the MPI has no MPI_X_c, a program that finds Tutti's would call MPI_X without Tutti: if a
// tool wraps that, it is called.
template <class H>
void Front<H>::lead_to_tools(Entries& entries) {
#define TUTTI_COLLECTIVE(Name, name, count, more)                                                  \
  lead_to_tool<&Forms<Word, int, int>::name, &Forms<Word, Count, Aint>::name, false>(              \
      native_.large.name != nullptr, entries.large.name, "MPI_" #Name);                            \
  lead_to_tool<&Forms<Word, int, int, void*>::name, &Forms<Word, Count, Aint, void*>::name, true>( \
      native_.large_started.name != nullptr, entries.large_started.name, "MPI_I" #name);
#define TUTTI_FUNCTION(name, entry, count)
#define TUTTI_LOOKS(name, entry, count)
#define TUTTI_COMPLETES(name, entry, count)
#define TUTTI_MAKES(name, count, parent, last)
#include "mpi/exports.def"
#undef TUTTI_COLLECTIVE
#undef TUTTI_FUNCTION
#undef TUTTI_LOOKS
#undef TUTTI_COMPLETES
#undef TUTTI_MAKES
}

}  // namespace tutti::mpi
