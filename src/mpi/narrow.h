// SPDX-License-Identifier: BSD-3-Clause
// For an MPI without the `_c` forms: a call with large counts as one with counts of int, if all of
// them fit.
#pragma once

#include <memory>
#include <type_traits>

#include "mpi/forms.h"

namespace tutti::mpi {

// One argument, and what it needs to live until the call is over. `members`: the length of arrays.
template <class T>
struct Narrow {
  Narrow(T argument, int) : value(argument) {}
  T value;
  bool fits = true;
};

template <>
struct Narrow<Count> {
  Narrow(Count argument, int) : value(static_cast<int>(argument)), fits(value == argument) {}
  int value;
  bool fits;
};

template <>
struct Narrow<const Count*> {
  Narrow(const Count* argument, int members) {
    if (argument == nullptr) return;
    values.reset(new int[static_cast<std::size_t>(members)]);
    for (int i = 0; i < members; ++i) {
      const Narrow<Count> narrow(argument[i], 0);
      values[i] = narrow.value;
      fits = fits && narrow.fits;
    }
    value = values.get();
  }
  std::unique_ptr<int[]> values;
  const int* value = nullptr;
  bool fits = true;
};
static_assert(std::is_same_v<Count, Aint>, "displacements are narrowed like counts");

}  // namespace tutti::mpi
