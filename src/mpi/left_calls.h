// SPDX-License-Identifier: BSD-3-Clause
// Calls that are left to the MPI, in the caller's form: or in its small form where it has no other,
// if all counts fit.
#pragma once

#include <cstring>
#include <map>
#include <mutex>
#include <tuple>
#include <type_traits>
#include <utility>

#include "choice/contest.h"
#include "mpi/entries.h"
#include "mpi/narrow.h"
#include "mpi/native.h"

namespace tutti::mpi {

template <class H>
class LeftCalls {
 public:
  // There is one in a process.
  explicit LeftCalls(const Native<H>& native) : native_(native) { self_ = this; }

  // Where the MPI has no MPI_X_c, a program that finds Tutti's would call MPI_X without Tutti: if a
  // tool wraps that, it is called. Once all entries are there.
  void lead_to_tools(Entries& entries) const;

  // The MPI's function in the caller's form, or in its small form where there is no other.
  template <class N, class D, class... Request, class Function, class Small, class... Arguments>
  int call_native(Function Forms<H, N, D, Request...>::*function,
                  Small Forms<H, int, int, Request...>::*small, H comm, Arguments... arguments);
  // `small` with counts of int if all fit. `starts`: the last argument points to the request that
  // it gives. `members`: how many counts an array has.
  template <bool starts, class Small, class Otherwise, class... Arguments>
  int call_narrowed(Small small, int members, Otherwise otherwise, Arguments... arguments);
  // Whether this rank's arguments are the root's, of which the others' are not significant.
  [[nodiscard]] bool has_root_arguments(int root, H comm) const;

 private:
  // With how many the call exchanges; `form`: a member of Forms.
  template <class AllForms, class Form>
  [[nodiscard]] int count_members(Form AllForms::*form, H comm) const {
    if constexpr (std::is_same_v<decltype(form), decltype(&AllForms::reduce_scatter)>)
      if (form == &AllForms::reduce_scatter) return count_members(comm, false);
    return count_members(comm, true);
  }
  [[nodiscard]] int count_members(H comm, bool remote) const;
  template <auto small, auto large, bool starts, class... Arguments>
  static int call_tool(Arguments... arguments);
  template <auto small, auto large, bool starts, class... Arguments>
  static void lead_to_tool(bool is_native, int (*&entry)(Arguments...), const char* name);

  static inline LeftCalls* self_ = nullptr;

  const Native<H>& native_;
  // What the MPI may read until a nonblocking collective is over. Only the MPI knows when that is;
  // but it gives no request twice before. So there are as many as were under way at once.
  std::mutex keeping_;
  std::map<H, NarrowArrays> kept_;
};

template <class H>
template <bool starts, class Small, class Otherwise, class... Arguments>
int LeftCalls<H>::call_narrowed(Small small, int members, Otherwise otherwise,
                                Arguments... arguments) {
  std::tuple<Narrow<Arguments>...> narrowed(Narrow<Arguments>(arguments, members)...);
  if (!std::apply([](const auto&... each) { return (each.fits && ...); }, narrowed))
    return otherwise();
  const int code = std::apply([&](const auto&... each) { return small(each.value...); }, narrowed);
  if constexpr (starts && (std::is_same_v<Arguments, const Count*> || ...)) {
    if (code != 0) return code;
    NarrowArrays arrays;
    std::apply([&](auto&... each) { (each.hand_over(arrays), ...); }, narrowed);
    H request{};
    std::memcpy(&request, std::get<sizeof...(Arguments) - 1>(narrowed).value, sizeof request);
    const std::lock_guard lock(keeping_);
    kept_[request].swap(arrays);
  }
  return code;
}

template <class H>
template <class N, class D, class... Request, class Function, class Small, class... Arguments>
int LeftCalls<H>::call_native(Function Forms<H, N, D, Request...>::*function,
                              Small Forms<H, int, int, Request...>::*small, H comm,
                              Arguments... arguments) {
  const choice::Turn turn;
  const auto native = native_.template forms<N, Request...>().*function;
  if constexpr (std::is_same_v<N, int>) {
    return turn.ends(native(arguments...));
  } else {
    if (native != nullptr) return turn.ends(native(arguments...));
    const auto refuse = [&] {
      const int code = error_classes(native_.family).count;
      tell_error(native_, comm, code);
      return code;
    };
    return turn.ends(
        call_narrowed<(sizeof...(Request) > 0)>(native_.template forms<int, Request...>().*small,
                                                count_members(small, comm), refuse, arguments...));
  }
}

}  // namespace tutti::mpi
