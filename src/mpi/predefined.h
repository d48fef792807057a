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
#include "mpi/datatypes.h"
#include "mpi/library.h"
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

// What the MPI is asked. Those of MPI-5 are nullptr where it has none.
template <class H>
struct PredefinedNative {
  int (*type_size)(H type, int* bytes);
  int (*get_extent)(H type, Aint* lower_bound, Aint* extent);
  int (*abi_get_fortran_info)(H* info);
  int (*abi_set_fortran_info)(H info);
  int (*info_free)(H* info);

  void load(const Library& mpi) {
    mpi.load(type_size, "PMPI_Type_size");
    mpi.load(get_extent, "PMPI_Type_get_extent");
    mpi.load(abi_get_fortran_info, "PMPI_Abi_get_fortran_info");
    mpi.load(abi_set_fortran_info, "PMPI_Abi_set_fortran_info");
    mpi.load(info_free, "PMPI_Info_free");
  }
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

  // Calls nothing of the MPI.
  void open(const Library& library) {
    native_.load(library);
    const Symbols symbols{library.handle};
    for (const DatatypeRow& row : datatype_rows())
      slots_.insert(handle_of(row, library.family, symbols), all_.emplace_back(row));
    struct {
      const char* openmpi = "ompi_mpi_info_null";
      std::uint32_t mpich = 0x1c000000, standard = 0x130;
    } const null;
    null_info_ = handle_of(null, library.family, symbols);
    fortran_is_final_ = !native_.abi_get_fortran_info || !native_.abi_set_fortran_info;
  }

  // nullptr: not predefined, or nothing that Tutti has heard of.
  [[nodiscard]] Slot* slot_of(H type) const { return slots_.find(key_of(type)); }

  // Needs an initialised MPI, which is asked once. What is found lives as long as the process.
  [[nodiscard]] const Known& known(Slot& slot, H type) {
    const Known* found = slot.known.load(std::memory_order_acquire);
    return found != nullptr && is_final(slot) ? *found : ask(slot, type);
  }

  // What was found may be remembered.
  [[nodiscard]] bool is_final(const Slot& slot) const {
    return slot.row->language != Language::fortran ||
           fortran_is_final_.load(std::memory_order_acquire);
  }

 private:
  const Known& ask(Slot& slot, H type) {
    const std::lock_guard lock(asking_);
    if (!is_final(slot)) look_for_fortran();
    int bytes = 0;
    Aint lower_bound = 0, extent = 0;
    if (native_.type_size(type, &bytes) != 0 ||
        native_.get_extent(type, &lower_bound, &extent) != 0)
      bytes = 0;
    Known now(*slot.row, bytes, lower_bound, extent);
    const Known* known = slot.known.load(std::memory_order_relaxed);
    if (known == nullptr || known->sort != now.sort || known->bytes != now.bytes)
      known = &found_.emplace_back(std::move(now));
    slot.known.store(known, std::memory_order_release);
    if (known->sort == Known::Sort::dense && is_final(slot))
      slot.dense_bytes.store(known->bytes, std::memory_order_relaxed);
    return *known;
  }

  // The program may tell an MPI of the standard ABI what its Fortran types are, at any time, but
  // once. Until it has, what the MPI says is good for one call; afterwards it is asked once more.
  void look_for_fortran() {
    H info{};
    if (native_.abi_get_fortran_info(&info) != 0 || key_of(info) == null_info_) return;
    native_.info_free(&info);
    for (Slot& slot : all_)
      if (slot.row->language == Language::fortran)
        slot.known.store(nullptr, std::memory_order_relaxed);
    fortran_is_final_.store(true, std::memory_order_release);
  }

  PredefinedNative<H> native_{};
  std::uint64_t null_info_ = 0;
  std::atomic<bool> fortran_is_final_{true};
  std::mutex asking_;
  std::deque<Slot> all_;  // which stay where they are
  std::deque<Known> found_;
  HandleMap<Slot> slots_;
};

}  // namespace tutti::mpi
