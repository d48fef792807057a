// SPDX-License-Identifier: BSD-3-Clause
// What this program must know of an MPI's binary interface, for three families, so that one binary
// runs on all of them without mpi.h: the values of the predefined handles it uses. Open MPI's are
// addresses of exported objects; those of the other two are numbers, fixed by their ABIs.
// tests/bench/test_families.py compares every row with the real headers.
#pragma once

#include <cstdint>

#include "reduce/reduce.h"

namespace tutti::bench {

enum class Family : std::uint8_t { open_mpi, mpich, standard };

// The same thing in each family.
struct HandleRow {
  const char* open_mpi_symbol;
  std::uint32_t mpich;
  std::uint32_t standard;
};

inline constexpr HandleRow comm_world = {"ompi_mpi_comm_world", 0x44000000, 0x101};

struct TypeRow {
  const char* name;  // as users write it after --dtype
  reduce::Type type;
  HandleRow handle;
};

inline constexpr TypeRow types[] = {
    {"float", reduce::Type::f32, {"ompi_mpi_float", 0x4c00040a, 0x210}},
    {"double", reduce::Type::f64, {"ompi_mpi_double", 0x4c00080b, 0x214}},
    {"int8", reduce::Type::i8, {"ompi_mpi_int8_t", 0x4c000137, 0x240}},
    {"int16", reduce::Type::i16, {"ompi_mpi_int16_t", 0x4c000238, 0x248}},
    {"int32", reduce::Type::i32, {"ompi_mpi_int32_t", 0x4c000439, 0x250}},
    {"int64", reduce::Type::i64, {"ompi_mpi_int64_t", 0x4c00083a, 0x258}},
    {"uint8", reduce::Type::u8, {"ompi_mpi_uint8_t", 0x4c00013b, 0x241}},
    {"uint16", reduce::Type::u16, {"ompi_mpi_uint16_t", 0x4c00023c, 0x249}},
    {"uint32", reduce::Type::u32, {"ompi_mpi_uint32_t", 0x4c00043d, 0x251}},
    {"uint64", reduce::Type::u64, {"ompi_mpi_uint64_t", 0x4c00083e, 0x259}},
};

struct OpRow {
  const char* name;  // as users write it after --op
  reduce::Op op;
  HandleRow handle;
  bool integers_only;
};

inline constexpr OpRow ops[] = {
    {"sum", reduce::Op::sum, {"ompi_mpi_op_sum", 0x58000003, 0x21}, false},
    {"prod", reduce::Op::prod, {"ompi_mpi_op_prod", 0x58000004, 0x24}, false},
    {"min", reduce::Op::min, {"ompi_mpi_op_min", 0x58000002, 0x22}, false},
    {"max", reduce::Op::max, {"ompi_mpi_op_max", 0x58000001, 0x23}, false},
    {"band", reduce::Op::band, {"ompi_mpi_op_band", 0x58000006, 0x28}, true},
    {"bor", reduce::Op::bor, {"ompi_mpi_op_bor", 0x58000008, 0x29}, true},
    {"bxor", reduce::Op::bxor, {"ompi_mpi_op_bxor", 0x5800000a, 0x2a}, true},
};

}  // namespace tutti::bench
