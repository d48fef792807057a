// SPDX-License-Identifier: BSD-3-Clause
// What a call must know of a datatype: how large its elements are, and how they lie in memory. What
// Tutti does not understand is opaque, and the MPI packs it. To describe a predefined type without
// gaps takes a look into a table.
#pragma once

#include <atomic>
#include <cstddef>

#include "mpi/arguments.h"
#include "mpi/layouts.h"

namespace tutti::mpi {

// What is to be known of a datatype.
template <class H>
struct Described {
  H type{};
  std::size_t bytes = 0;  // of the data of one element
  Aint extent = 0;        // from one element to the next
  // Elements have gaps: they lie like this, or else only the MPI can pack them.
  const layout::Layout* layout = nullptr;
  bool opaque = false;
};

template <class H>
class Datatypes {
 public:
  Datatypes(const Native<H>& native, Arguments<H>& arguments)
      : native_(native),
        arguments_(arguments),
        layouts_(native, [this](H type) { return arguments_.is_committed(type); }) {}

  // As of Layouts.
  void open(const Library& library) { layouts_.open(library); }
  void close() { layouts_.close(); }
  void reopen() { layouts_.reopen(); }

  // False: an error of the call, which the MPI will say.
  [[nodiscard]] bool describe(H type, Described<H>& element) {
    element.type = type;
    auto* slot = layouts_.predefined().slot_of(type);
    element.bytes = slot != nullptr ? slot->dense_bytes.load(std::memory_order_relaxed) : 0;
    element.extent = static_cast<Aint>(element.bytes);
    if (element.bytes != 0) [[likely]]
      return true;
    return slot != nullptr ? describe_predefined(*slot, element) : describe_derived(element);
  }
  [[nodiscard]] Layouts<H>& layouts() { return layouts_; }
  [[nodiscard]] PredefinedTypes<H>& predefined() { return layouts_.predefined(); }

 private:
  [[nodiscard]] bool describe_predefined(typename PredefinedTypes<H>::Slot& slot,
                                         Described<H>& element);
  [[nodiscard]] bool describe_derived(Described<H>& element);
  [[nodiscard]] bool ask_for_size(Described<H>& element);

  const Native<H>& native_;
  Arguments<H>& arguments_;
  Layouts<H> layouts_;
};

}  // namespace tutti::mpi
