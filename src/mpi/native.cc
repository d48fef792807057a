// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/native.h"

#include <cctype>
#include <cstdio>

namespace tutti::mpi {
namespace {

struct Row {
  const char* openmpi;
  std::uint32_t mpich, standard;
};

// For Forms::for_each: looks up MPI_Bcast, MPI_Bcast_c, MPI_Ibcast or MPI_Ibcast_c.
auto finder(const Library& mpi, bool starts, const char* suffix) {
  return [&mpi, starts, suffix](auto& function, const char* name) {
    char symbol[48];
    const int first = starts ? std::tolower(static_cast<unsigned char>(*name)) : *name;
    std::snprintf(symbol, sizeof symbol, "PMPI_%s%c%s%s", starts ? "I" : "", first, name + 1,
                  suffix);
    mpi.load(function, symbol);
  };
}

template <class H>
void find_constants(Native<H>& native, const Library& mpi) {
  const Symbols symbols{mpi.handle};
  const auto resolve = [&](const Row& row) {
    return handle_from<H>(handle_of(row, mpi.family, symbols));
  };
  native.world = resolve({"ompi_mpi_comm_world", 0x44000000, 0x101});
  native.self_comm = resolve({"ompi_mpi_comm_self", 0x44000001, 0x102});
  native.null_comm = resolve({"ompi_mpi_comm_null", 0x04000000, 0x100});
  native.null_info = resolve({"ompi_mpi_info_null", 0x1c000000, 0x130});
  native.null_request = resolve({"ompi_request_null", 0x2c000000, 0x180});
  native.null_type = resolve({"ompi_mpi_datatype_null", 0x0c000000, 0x200});
  native.errors_return = resolve({"ompi_mpi_errors_return", 0x54000001, 0x143});
  native.errors_are_fatal = resolve({"ompi_mpi_errors_are_fatal", 0x54000000, 0x141});
  native.byte = resolve({"ompi_mpi_byte", 0x4c00010d, 0x247});
  native.packed = resolve({"ompi_mpi_packed", 0x4c00010f, 0x207});
  native.uint64 = resolve({"ompi_mpi_uint64_t", 0x4c00083e, 0x259});
  native.sum = resolve({"ompi_mpi_op_sum", 0x58000003, 0x21});
  native.bor = resolve({"ompi_mpi_op_bor", 0x58000008, 0x29});
  native.null_op = resolve({"ompi_mpi_op_null", 0x18000000, 0x20});
  native.in_place = reinterpret_cast<const void*>(mpi.family == Family::mpich ? -1l : 1l);
}

}  // namespace

template <class H>
void Native<H>::load(const Library& mpi) {
#define TUTTI_NATIVE(symbol, name, parameters) mpi.load(name, #symbol);
#include "mpi/native.def"
#undef TUTTI_NATIVE
  if (type_size_x == nullptr) mpi.load(type_size_x, "PMPI_Type_size_c");
  mpi.load(set_yields, "opal_progress_set_yield_when_idle");
  Completing<H>::for_each(finder(mpi, false, ""));
  small.for_each(finder(mpi, false, ""));
  large.for_each(finder(mpi, false, "_c"));
  small_started.for_each(finder(mpi, true, ""));
  large_started.for_each(finder(mpi, true, "_c"));
  family = mpi.family;
  find_constants(*this, mpi);
}

template <class H>
bool Native<H>::any_thread_may_call() const {
  int level = 0;
  return query_thread(&level) == 0 && level >= (family == Family::standard ? 4096 : 3);
}

// The default handler ends all processes of the job. MPICH's ends those of the communicator at
// most, and this one alone if it is called by MPI_Comm_call_errhandler; its launcher then leaves
// those of other hosts.
template <class H>
void tell_error(const Native<H>& native, H comm, int code) {
  H handler{};
  if (native.comm_get_errhandler(comm, &handler) == 0) {
    if (handler == native.errors_are_fatal) native.abort(native.world, code);
    native.errhandler_free(&handler);
  }
  native.comm_call_errhandler(comm, code);
}

template <class H>
H alone_of(const Native<H>& native, H comm) {
  H group{}, alone{}, made = native.null_comm;
  int rank = 0;
  native.comm_rank(comm, &rank);
  if (native.comm_group(comm, &group) != 0) return native.null_comm;
  if (native.group_incl(group, 1, &rank, &alone) == 0) {
    if (native.comm_create_group(comm, alone, 0, &made) != 0) made = native.null_comm;
    native.group_free(&alone);
  }
  native.group_free(&group);
  return made;
}

template struct Native<int>;
template struct Native<void*>;
template void tell_error(const Native<int>&, int, int);
template void tell_error(const Native<void*>&, void*, int);
template int alone_of(const Native<int>&, int);
template void* alone_of(const Native<void*>&, void*);

}  // namespace tutti::mpi
