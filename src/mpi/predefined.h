// SPDX-License-Identifier: BSD-3-Clause
// The predefined datatypes as the MPI of this process has them. Handles say nothing of sizes: an
// MPI may be built for a Fortran compiler whose INTEGER has 8 bytes, and that of the standard ABI
// be told by the program. So each type is compared with the MPI's before its first use. The ranks
// of a job have one MPI, and so all get the same answers.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <mutex>

#include "layout/layout.h"
#include "mpi/handle_map.h"
#include "mpi/native.h"

namespace tutti::mpi {

// A predefined datatype as the MPI has it.
struct Known {
  enum class Sort : std::uint8_t {
    dense,    // elements without gaps
    gapped,   // as `layout` says
    unknown,  // only the MPI can pack it
    absent,   // the MPI has no such type
  };
  // What is known of a row if the MPI's type has this size and these bounds.
  Known(const DatatypeRow& row, std::int64_t bytes, Aint lower_bound, Aint extent);
  [[nodiscard]] bool usable() const { return sort == Sort::dense || sort == Sort::gapped; }

  Sort sort;
  std::size_t bytes;  // of the data of one element
  reduce::Type type;
  Arithmetic arithmetic;
  layout::Typemap typemap;
  layout::Layout layout;
};

template <class H>
class PredefinedTypes {
 public:
  struct Slot {
    explicit Slot(const DatatypeRow& its_row) : row(&its_row) {}
    const DatatypeRow* row;
    // Of an element, once it is known to have no gaps and not to change any more; or 0.
    std::atomic<std::size_t> dense_bytes{0};
    std::atomic<const Known*> known{nullptr};
  };

  explicit PredefinedTypes(const Native<H>& native) : native_(native) {}
  // Calls nothing of the MPI. The native functions have been loaded.
  void open(const Library& library);

  // nullptr: not predefined, or nothing that Tutti has heard of.
  [[nodiscard]] Slot* slot_of(H type) const { return slots_.find(key_of(type)); }

  // Needs an initialised MPI, which is asked once. What is found lives as long as the process.
  [[nodiscard]] const Known& known(Slot& slot, H type) {
    const bool final = is_final(slot);  // before what is found: that may change until then
    const Known* found = slot.known.load(std::memory_order_acquire);
    return found != nullptr && final ? *found : ask(slot, type);
  }

  // What was found may be remembered.
  [[nodiscard]] bool is_final(const Slot& slot) const {
    return slot.row->language != Language::fortran ||
           fortran_is_final_.load(std::memory_order_acquire);
  }

 private:
  const Known& ask(Slot& slot, H type);
  void look_for_fortran();

  const Native<H>& native_;
  std::atomic<bool> fortran_is_final_{true};
  std::mutex asking_;
  std::deque<Slot> all_;  // which stay where they are
  std::deque<Known> found_;
  HandleMap<Slot> slots_;
};

}  // namespace tutti::mpi
