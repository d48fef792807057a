// SPDX-License-Identifier: BSD-3-Clause
// Calls with large counts that a tool wraps in their small form alone.
#include <tuple>
#include <type_traits>

#include "mpi/left_calls.h"
#include "mpi/tools.h"

namespace tutti::mpi {
namespace {

// The tools' functions, and ours with large counts; blocking and not.
using Small = std::tuple<Forms<Word, int, int>, Forms<Word, int, int, void*>>;
using Large = std::tuple<Forms<Word, Count, Aint>, Forms<Word, Count, Aint, void*>>;
constinit Small tools{};
constinit Large ours{};

}  // namespace

template <class H>
template <auto small, auto large, bool starts, class... Arguments>
int LeftCalls<H>::call_tool(Arguments... arguments) {
  constexpr std::size_t last = sizeof...(Arguments) - 1, form = starts ? 1 : 0;
  const Word comm = std::get < starts ? last - 1 : last > (std::tuple(arguments...));
  // What only the large form can say, no tool would see.
  const auto ourselves = [&] { return (std::get<form>(ours).*large)(arguments...); };
  return self_->template call_narrowed<starts>(std::get<form>(tools).*small,
                                               self_->count_members(small, handle_from<H>(comm)),
                                               ourselves, arguments...);
}

template <class H>
template <auto small, auto large, bool starts, class... Arguments>
void LeftCalls<H>::lead_to_tool(bool is_native, int (*&entry)(Arguments...), const char* name) {
  constexpr std::size_t form = starts ? 1 : 0;
  void* tool = is_native ? nullptr : first_tools(name);
  if (tool == nullptr) return;
  auto& function = std::get<form>(tools).*small;
  function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(tool);
  std::get<form>(ours).*large = entry;
  entry = call_tool<small, large, starts, Arguments...>;
}

template <class H>
void LeftCalls<H>::lead_to_tools(Entries& entries) const {
#define TUTTI_BARRIER(name, Name)
#define TUTTI_COLLECTIVE(name, Name, ...)                                                          \
  lead_to_tool<&Forms<Word, int, int>::name, &Forms<Word, Count, Aint>::name, false>(              \
      native_.large.name != nullptr, entries.large.name, "MPI_" #Name);                            \
  lead_to_tool<&Forms<Word, int, int, void*>::name, &Forms<Word, Count, Aint, void*>::name, true>( \
      native_.large_started.name != nullptr, entries.large_started.name, "MPI_I" #name);
#include "base/collectives.def"
#undef TUTTI_COLLECTIVE
#undef TUTTI_BARRIER
}

template void LeftCalls<int>::lead_to_tools(Entries&) const;
template void LeftCalls<void*>::lead_to_tools(Entries&) const;

}  // namespace tutti::mpi
