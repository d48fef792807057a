// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/handles.h"

#include <dlfcn.h>

namespace tutti::mpi {
namespace {

using reduce::Op;
using reduce::Type;

// clang-format off
constexpr DatatypeRow datatypes[] = {
    {"MPI_PACKED", "ompi_mpi_packed", 0x4c00010f, 0x207, 1, Type::u8, Arithmetic::none, Language::c},
    {"MPI_BYTE", "ompi_mpi_byte", 0x4c00010d, 0x247, 1, Type::u8, Arithmetic::bitwise, Language::c},
    {"MPI_CHAR", "ompi_mpi_char", 0x4c000101, 0x243, 1, Type::u8, Arithmetic::none, Language::c},
    {"MPI_SIGNED_CHAR", "ompi_mpi_signed_char", 0x4c000118, 0x244, 1, Type::i8, Arithmetic::full, Language::c},
    {"MPI_UNSIGNED_CHAR", "ompi_mpi_unsigned_char", 0x4c000102, 0x245, 1, Type::u8, Arithmetic::full, Language::c},
    {"MPI_SHORT", "ompi_mpi_short", 0x4c000203, 0x208, 2, Type::i16, Arithmetic::full, Language::c},
    {"MPI_UNSIGNED_SHORT", "ompi_mpi_unsigned_short", 0x4c000204, 0x20c, 2, Type::u16, Arithmetic::full, Language::c},
    {"MPI_INT", "ompi_mpi_int", 0x4c000405, 0x209, 4, Type::i32, Arithmetic::full, Language::c},
    {"MPI_UNSIGNED", "ompi_mpi_unsigned", 0x4c000406, 0x20d, 4, Type::u32, Arithmetic::full, Language::c},
    {"MPI_LONG", "ompi_mpi_long", 0x4c000807, 0x20a, 8, Type::i64, Arithmetic::full, Language::c},
    {"MPI_UNSIGNED_LONG", "ompi_mpi_unsigned_long", 0x4c000808, 0x20e, 8, Type::u64, Arithmetic::full, Language::c},
    {"MPI_LONG_LONG", "ompi_mpi_long_long_int", 0x4c000809, 0x20b, 8, Type::i64, Arithmetic::full, Language::c},
    {"MPI_UNSIGNED_LONG_LONG", "ompi_mpi_unsigned_long_long", 0x4c000819, 0x20f, 8, Type::u64, Arithmetic::full, Language::c},
    {"MPI_FLOAT", "ompi_mpi_float", 0x4c00040a, 0x210, 4, Type::f32, Arithmetic::full, Language::c},
    {"MPI_DOUBLE", "ompi_mpi_double", 0x4c00080b, 0x214, 8, Type::f64, Arithmetic::full, Language::c},
    {"MPI_LONG_DOUBLE", "ompi_mpi_long_double", 0x4c00100c, 0x220, 16, Type::f80, Arithmetic::full, Language::c},
    {"MPI_WCHAR", "ompi_mpi_wchar", 0x4c00040e, 0x23c, 4, Type::i32, Arithmetic::none, Language::c},
    {"MPI_INT8_T", "ompi_mpi_int8_t", 0x4c000137, 0x240, 1, Type::i8, Arithmetic::full, Language::c},
    {"MPI_INT16_T", "ompi_mpi_int16_t", 0x4c000238, 0x248, 2, Type::i16, Arithmetic::full, Language::c},
    {"MPI_INT32_T", "ompi_mpi_int32_t", 0x4c000439, 0x250, 4, Type::i32, Arithmetic::full, Language::c},
    {"MPI_INT64_T", "ompi_mpi_int64_t", 0x4c00083a, 0x258, 8, Type::i64, Arithmetic::full, Language::c},
    {"MPI_UINT8_T", "ompi_mpi_uint8_t", 0x4c00013b, 0x241, 1, Type::u8, Arithmetic::full, Language::c},
    {"MPI_UINT16_T", "ompi_mpi_uint16_t", 0x4c00023c, 0x249, 2, Type::u16, Arithmetic::full, Language::c},
    {"MPI_UINT32_T", "ompi_mpi_uint32_t", 0x4c00043d, 0x251, 4, Type::u32, Arithmetic::full, Language::c},
    {"MPI_UINT64_T", "ompi_mpi_uint64_t", 0x4c00083e, 0x259, 8, Type::u64, Arithmetic::full, Language::c},
    {"MPI_AINT", "ompi_mpi_aint", 0x4c000843, 0x201, 8, Type::i64, Arithmetic::full, Language::c},
    {"MPI_OFFSET", "ompi_mpi_offset", 0x4c000844, 0x203, 8, Type::i64, Arithmetic::full, Language::c},
    {"MPI_COUNT", "ompi_mpi_count", 0x4c000845, 0x202, 8, Type::i64, Arithmetic::full, Language::c},
    {"MPI_C_BOOL", "ompi_mpi_c_bool", 0x4c00013f, 0x238, 1, Type::boolean, Arithmetic::full, Language::c},
    {"MPI_CXX_BOOL", "ompi_mpi_cxx_bool", 0x4c000133, 0x239, 1, Type::boolean, Arithmetic::full, Language::c},
    {"MPI_C_FLOAT_COMPLEX", "ompi_mpi_c_float_complex", 0x4c000840, 0x212, 8, Type::c64, Arithmetic::full, Language::c},
    {"MPI_C_DOUBLE_COMPLEX", "ompi_mpi_c_double_complex", 0x4c001041, 0x216, 16, Type::c128, Arithmetic::full, Language::c},
    {"MPI_CXX_FLOAT_COMPLEX", "ompi_mpi_cxx_cplex", 0x4c000834, 0x213, 8, Type::c64, Arithmetic::full, Language::c},
    {"MPI_CXX_DOUBLE_COMPLEX", "ompi_mpi_cxx_dblcplex", 0x4c001035, 0x217, 16, Type::c128, Arithmetic::full, Language::c},
    {"MPI_C_LONG_DOUBLE_COMPLEX", "ompi_mpi_c_long_double_complex", 0x4c002042, 0x224, 32, Type::f80, Arithmetic::none, Language::c},
    {"MPI_CXX_LONG_DOUBLE_COMPLEX", "ompi_mpi_cxx_ldblcplex", 0x4c002036, 0x225, 32, Type::f80, Arithmetic::none, Language::c},
    {"MPI_FLOAT_INT", "ompi_mpi_float_int", 0x8c000000, 0x228, 8, Type::f32_i32, Arithmetic::full, Language::c},
    {"MPI_DOUBLE_INT", "ompi_mpi_double_int", 0x8c000001, 0x229, 12, Type::f64_i32, Arithmetic::full, Language::c},
    {"MPI_LONG_INT", "ompi_mpi_long_int", 0x8c000002, 0x22a, 12, Type::i64_i32, Arithmetic::full, Language::c},
    {"MPI_2INT", "ompi_mpi_2int", 0x4c000816, 0x22b, 8, Type::i32_i32, Arithmetic::full, Language::c},
    {"MPI_SHORT_INT", "ompi_mpi_short_int", 0x8c000003, 0x22c, 6, Type::i16_i32, Arithmetic::full, Language::c},
    {"MPI_LONG_DOUBLE_INT", "ompi_mpi_longdbl_int", 0x8c000004, 0x22d, 20, Type::f80_i32, Arithmetic::full, Language::c},
    {"MPI_CHARACTER", "ompi_mpi_character", 0x4c00011a, 0x21e, 1, Type::u8, Arithmetic::none, Language::fortran},
    {"MPI_LOGICAL", "ompi_mpi_logical", 0x4c00041d, 0x218, 4, Type::u32, Arithmetic::logical, Language::fortran},
    {"MPI_INTEGER", "ompi_mpi_integer", 0x4c00041b, 0x219, 4, Type::i32, Arithmetic::numbers, Language::fortran},
    {"MPI_REAL", "ompi_mpi_real", 0x4c00041c, 0x21a, 4, Type::f32, Arithmetic::full, Language::fortran},
    {"MPI_DOUBLE_PRECISION", "ompi_mpi_dblprec", 0x4c00081f, 0x21c, 8, Type::f64, Arithmetic::full, Language::fortran},
    {"MPI_COMPLEX", "ompi_mpi_cplex", 0x4c00081e, 0x21b, 8, Type::c64, Arithmetic::full, Language::fortran},
    {"MPI_DOUBLE_COMPLEX", "ompi_mpi_dblcplex", 0x4c001022, 0x21d, 16, Type::c128, Arithmetic::full, Language::fortran},
    {"MPI_INTEGER1", "ompi_mpi_integer1", 0x4c00012d, 0x2c1, 1, Type::i8, Arithmetic::numbers, Language::fortran},
    {"MPI_INTEGER2", "ompi_mpi_integer2", 0x4c00022f, 0x2c9, 2, Type::i16, Arithmetic::numbers, Language::fortran},
    {"MPI_INTEGER4", "ompi_mpi_integer4", 0x4c000430, 0x2d1, 4, Type::i32, Arithmetic::numbers, Language::fortran},
    {"MPI_INTEGER8", "ompi_mpi_integer8", 0x4c000831, 0x2d9, 8, Type::i64, Arithmetic::numbers, Language::fortran},
    {"MPI_REAL4", "ompi_mpi_real4", 0x4c000427, 0x2d2, 4, Type::f32, Arithmetic::full, Language::fortran},
    {"MPI_REAL8", "ompi_mpi_real8", 0x4c000829, 0x2da, 8, Type::f64, Arithmetic::full, Language::fortran},
    {"MPI_COMPLEX8", "ompi_mpi_complex8", 0x4c000828, 0x2db, 8, Type::c64, Arithmetic::full, Language::fortran},
    {"MPI_COMPLEX16", "ompi_mpi_complex16", 0x4c00102a, 0x2e3, 16, Type::c128, Arithmetic::full, Language::fortran},
    {"MPI_LOGICAL1", "ompi_mpi_logical1", 0x4c000147, 0x2c0, 1, Type::u8, Arithmetic::logical, Language::fortran},
    {"MPI_LOGICAL2", "ompi_mpi_logical2", 0x4c000248, 0x2c8, 2, Type::u16, Arithmetic::logical, Language::fortran},
    {"MPI_LOGICAL4", "ompi_mpi_logical4", 0x4c000449, 0x2d0, 4, Type::u32, Arithmetic::logical, Language::fortran},
    {"MPI_LOGICAL8", "ompi_mpi_logical8", 0x4c00084a, 0x2d8, 8, Type::u64, Arithmetic::logical, Language::fortran},
    {"MPI_INTEGER16", "ompi_mpi_integer16", 0x4c001032, 0x2e1, 16, Type::u8, Arithmetic::none, Language::fortran},
    {"MPI_REAL2", "ompi_mpi_real2", 0x4c000226, 0x2ca, 2, Type::u16, Arithmetic::none, Language::fortran},
    {"MPI_REAL16", "ompi_mpi_real16", 0x4c00102b, 0x2e2, 16, Type::f80, Arithmetic::none, Language::fortran},
    {"MPI_COMPLEX32", "ompi_mpi_complex32", 0x4c00202c, 0x2eb, 32, Type::f80, Arithmetic::none, Language::fortran},
    {"MPI_2REAL", "ompi_mpi_2real", 0x4c000821, 0x230, 8, Type::f32_f32, Arithmetic::full, Language::fortran},
    {"MPI_2DOUBLE_PRECISION", "ompi_mpi_2dblprec", 0x4c001023, 0x231, 16, Type::f64_f64, Arithmetic::full, Language::fortran},
    {"MPI_2INTEGER", "ompi_mpi_2integer", 0x4c000820, 0x232, 8, Type::i32_i32, Arithmetic::full, Language::fortran},
};

constexpr OpRow ops[] = {
    {"MPI_MAX", "ompi_mpi_op_max", 0x58000001, 0x23, Op::max},
    {"MPI_MIN", "ompi_mpi_op_min", 0x58000002, 0x22, Op::min},
    {"MPI_SUM", "ompi_mpi_op_sum", 0x58000003, 0x21, Op::sum},
    {"MPI_PROD", "ompi_mpi_op_prod", 0x58000004, 0x24, Op::prod},
    {"MPI_LAND", "ompi_mpi_op_land", 0x58000005, 0x30, Op::land},
    {"MPI_BAND", "ompi_mpi_op_band", 0x58000006, 0x28, Op::band},
    {"MPI_LOR", "ompi_mpi_op_lor", 0x58000007, 0x31, Op::lor},
    {"MPI_BOR", "ompi_mpi_op_bor", 0x58000008, 0x29, Op::bor},
    {"MPI_LXOR", "ompi_mpi_op_lxor", 0x58000009, 0x32, Op::lxor},
    {"MPI_BXOR", "ompi_mpi_op_bxor", 0x5800000a, 0x2a, Op::bxor},
    {"MPI_MINLOC", "ompi_mpi_op_minloc", 0x5800000b, 0x38, Op::minloc},
    {"MPI_MAXLOC", "ompi_mpi_op_maxloc", 0x5800000c, 0x39, Op::maxloc},
};
// clang-format on

}  // namespace

const char* name_of(Family family) {
  switch (family) {
    case Family::openmpi:
      return "openmpi";
    case Family::mpich:
      return "mpich";
    case Family::standard:
      return "standard";
  }
  return "?";
}

std::span<const DatatypeRow> datatype_rows() { return datatypes; }
std::span<const OpRow> op_rows() { return ops; }

void* Symbols::find(const char* name) const {
  // An executable linked with Open MPI holds copies of its objects: the default scope finds those.
  if (void* found = ::dlsym(RTLD_DEFAULT, name)) return found;
  return ::dlsym(library, name);
}

}  // namespace tutti::mpi
