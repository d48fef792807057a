// SPDX-License-Identifier: BSD-3-Clause
// For an MPI without the `_c` forms: a call with large counts as one with counts of int. What does
// not fit becomes a negative count, which the MPI refuses by its own error handling.
#pragma once

#include <climits>
#include <memory>
#include <type_traits>

#include "mpi/forms.h"

namespace tutti::mpi {

// One argument, and what it needs to live until the call is over. `members`: the length of arrays.
template <class T>
struct Narrow {
  Narrow(T argument, int) : value(argument) {}
  T value;
};

template <>
struct Narrow<Count> {
  Narrow(Count argument, int)
      : value(argument > INT_MAX || argument < INT_MIN ? -1 : static_cast<int>(argument)) {}
  int value;
};

template <>
struct Narrow<const Count*> {
  Narrow(const Count* argument, int members) {
    if (argument == nullptr) return;
    values.reset(new int[static_cast<std::size_t>(members)]);
    for (int i = 0; i < members; ++i) values[i] = Narrow<Count>(argument[i], 0).value;
    value = values.get();
  }
  std::unique_ptr<int[]> values;
  const int* value = nullptr;
};
static_assert(std::is_same_v<Count, Aint>, "displacements are narrowed like counts");

}  // namespace tutti::mpi
