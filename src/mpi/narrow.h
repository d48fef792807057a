// SPDX-License-Identifier: BSD-3-Clause
// For an MPI without the `_c` forms: a call with large counts as one with counts of int, if all of
// them fit.
#pragma once

#include <type_traits>
#include <utility>
#include <vector>

#include "mpi/forms.h"

namespace tutti::mpi {

// The arrays of a call, which the MPI may read until it is over.
using NarrowArrays = std::vector<std::vector<int>>;

// One argument, and what it needs to live until the call is over. `members`: the length of arrays.
template <class T>
struct Narrow {
  Narrow(T argument, int) : value(argument) {}
  void hand_over(NarrowArrays&) {}
  T value;
  bool fits = true;
};

template <>
struct Narrow<Count> {
  Narrow(Count argument, int) : value(static_cast<int>(argument)), fits(value == argument) {}
  void hand_over(NarrowArrays&) {}
  int value;
  bool fits;
};

template <>
struct Narrow<const Count*> {
  Narrow(const Count* argument, int members) {
    if (argument == nullptr) return;
    values.reserve(static_cast<std::size_t>(members));
    for (int i = 0; i < members; ++i) {
      const Narrow<Count> narrow(argument[i], 0);
      values.push_back(narrow.value);
      fits = fits && narrow.fits;
    }
    value = values.data();
  }
  // A move takes the array along.
  Narrow(Narrow&&) = default;
  Narrow(const Narrow&) = delete;
  // `value` is good as long as what has been handed over.
  void hand_over(NarrowArrays& arrays) { arrays.push_back(std::move(values)); }
  std::vector<int> values;
  const int* value = nullptr;
  bool fits = true;
};
static_assert(std::is_same_v<Count, Aint>, "displacements are narrowed like counts");

}  // namespace tutti::mpi
