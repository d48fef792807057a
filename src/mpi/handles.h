// SPDX-License-Identifier: BSD-3-Clause
// What is known of the three ABI families: the predefined handles, one row each with a column a
// family. Open MPI's handles are the addresses of exported objects, MPICH's (and Intel's) are
// integers, those of the MPI-5 standard ABI small integers in pointers.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "reduce/reduce.h"

namespace tutti::mpi {

enum class Family : std::uint8_t { openmpi, mpich, standard };
inline constexpr int family_count = 3;
[[nodiscard]] const char* name_of(Family family);

// What may be computed on a type.
enum class Arithmetic : std::uint8_t {
  none,     // moved only: characters, packed data
  full,     // whatever reduce::find knows for `type`
  numbers,  // the same, but nothing logical: Fortran's integers
  bitwise,  // MPI_BYTE
  logical,  // Fortran's LOGICAL: to every MPI what is not 0 is true, and its results are 0 and 1
};

enum class Language : std::uint8_t { c, fortran };

struct DatatypeRow {
  const char* name;        // "MPI_FLOAT"
  const char* openmpi;     // "ompi_mpi_float"; nullptr where the family has no such type
  std::uint32_t mpich;     // 0: none
  std::uint32_t standard;  // 0: none
  std::uint32_t bytes;     // of the data of one element, without padding: MPI_Type_size
  reduce::Type type;
  Arithmetic arithmetic;
  Language
      language;  // what it is a type of; a Fortran compiler has options for the sizes of its own
};
[[nodiscard]] std::span<const DatatypeRow> datatype_rows();

struct OpRow {
  const char* name;
  const char* openmpi;
  std::uint32_t mpich;
  std::uint32_t standard;
  reduce::Op op;
};
[[nodiscard]] std::span<const OpRow> op_rows();

// Predefined ones that no reduction takes, or that the MPI alone computes.
struct OtherOpRow {
  const char* openmpi;
  std::uint32_t mpich;
  std::uint32_t standard;
};
[[nodiscard]] constexpr std::array<OtherOpRow, 4> other_op_rows() {
  return {{{"ompi_mpi_op_null", 0x18000000, 0x20},
           {"ompi_mpi_op_replace", 0x5800000d, 0x3c},
           {"ompi_mpi_op_no_op", 0x5800000e, 0x3d},
           {nullptr, 0x5800000f, 0}}};  // MPIX_EQUAL: its result is one flag, of any type
}

// The error classes that Tutti has a use for.
struct ErrorClasses {
  int count;
  int truncate;
  int other;
  int in_status;
  int pending;
  int revoked;  // of an extension that not every MPI of the family has
};
[[nodiscard]] constexpr ErrorClasses error_classes(Family family) {
  switch (family) {
    case Family::openmpi:
      return {2, 15, 16, 18, 19, 77};
    case Family::mpich:
      return {2, 14, 15, 17, 18, 103};
    case Family::standard:
      return {2, 15, 16, 19, 18, 16};
  }
  return {};
}

// MPI_PROC_NULL.
[[nodiscard]] constexpr int null_rank(Family family) {
  switch (family) {
    case Family::openmpi:
      return -2;
    case Family::mpich:
      return -1;
    case Family::standard:
      return -3;
  }
  return 0;
}

// MPI_ANY_SOURCE, MPI_ANY_TAG.
[[nodiscard]] constexpr int any_source(Family family) { return family == Family::mpich ? -2 : -1; }

[[nodiscard]] constexpr int any_tag(Family family) { return family == Family::standard ? -2 : -1; }

// MPI_TAG_UB.
[[nodiscard]] constexpr int key_of_largest_tag(Family family) {
  switch (family) {
    case Family::openmpi:
      return 0;
    case Family::mpich:
      return 0x64400001;
    case Family::standard:
      return 501;
  }
  return 0;
}

// How an MPI_Status lies in memory, in bytes, and the value of MPI_STATUSES_IGNORE and
// MPI_STATUS_IGNORE.
struct StatusLayout {
  std::size_t bytes;
  std::size_t error;  // MPI_ERROR, an int
  std::uintptr_t ignore;

  // Of an array that may be ignored: then its elements are.
  [[nodiscard]] void* at(void* statuses, std::size_t index) const {
    return ignores(statuses) ? statuses : static_cast<std::byte*>(statuses) + index * bytes;
  }
  void set_error(void* status, int code) const {
    if (!ignores(status)) std::memcpy(static_cast<std::byte*>(status) + error, &code, sizeof code);
  }
  [[nodiscard]] int error_of(const void* status) const { return field(status, error); }
  // In all families MPI_SOURCE and MPI_TAG come right before MPI_ERROR.
  [[nodiscard]] int source_of(const void* status) const {
    return field(status, error - 2 * sizeof(int));
  }

  [[nodiscard]] bool ignores(const void* status) const {
    return reinterpret_cast<std::uintptr_t>(status) == ignore;
  }

 private:
  [[nodiscard]] static int field(const void* status, std::size_t offset) {
    int value = 0;
    std::memcpy(&value, static_cast<const std::byte*>(status) + offset, sizeof value);
    return value;
  }
};
[[nodiscard]] constexpr StatusLayout status_layout(Family family) {
  switch (family) {
    case Family::openmpi:
      return {24, 8, 0};
    case Family::mpich:
      return {20, 16, 1};
    case Family::standard:
      return {32, 8, 0};
  }
  return {};
}

// A row's handle in a family, widened to 64 bits; 0 where the family has none. `symbol` finds an
// exported object of the MPI library.
struct Symbols {
  void* library;  // for dlsym
  [[nodiscard]] void* find(const char* name) const;
};
template <class Row>
[[nodiscard]] std::uint64_t handle_of(const Row& row, Family family, const Symbols& symbols) {
  switch (family) {
    case Family::openmpi:
      return row.openmpi ? reinterpret_cast<std::uint64_t>(symbols.find(row.openmpi)) : 0;
    case Family::mpich:
      return row.mpich;
    case Family::standard:
      return row.standard;
  }
  return 0;
}

}  // namespace tutti::mpi
