// SPDX-License-Identifier: BSD-3-Clause
// The functions of the user's MPI that Tutti calls, in a family's own types. `H` is what a handle
// is there: int (MPICH) or void* (Open MPI, standard ABI).
#pragma once

#include <cstdint>

#include "mpi/library.h"

namespace tutti::mpi {

using Aint = std::intptr_t;
using Count = std::int64_t;

template <class H>
struct Native {
  int (*init)(int*, char***);
  int (*init_thread)(int*, char***, int, int*);
  int (*finalize)();
  int (*initialized)(int*);
  int (*finalized)(int*);
  int (*abort)(H comm, int code);
  int (*get_library_version)(char*, int*);

  int (*alloc_mem)(Aint, H info, void*);
  int (*free_mem)(void*);

  int (*barrier)(H comm);
  int (*bcast)(void*, int, H type, int root, H comm);
  int (*reduce)(const void*, void*, int, H type, H op, int root, H comm);
  int (*allreduce)(const void*, void*, int, H type, H op, H comm);
  // MPI-4's forms for large counts; nullptr where the MPI has none.
  int (*bcast_c)(void*, Count, H type, int root, H comm);
  int (*reduce_c)(const void*, void*, Count, H type, H op, int root, H comm);
  int (*allreduce_c)(const void*, void*, Count, H type, H op, H comm);

  int (*allgather)(const void*, int, H, void*, int, H, H comm);
  int (*comm_size)(H comm, int*);
  int (*comm_rank)(H comm, int*);
  int (*comm_test_inter)(H comm, int*);
  int (*comm_create_keyval)(int (*copy)(H, int, void*, void*, void*, int*),
                            int (*remove)(H, int, void*, void*), int* keyval, void* extra);
  int (*comm_free_keyval)(int* keyval);
  int (*comm_get_attr)(H comm, int keyval, void* value, int* flag);
  int (*comm_set_attr)(H comm, int keyval, void* value);
  int (*comm_delete_attr)(H comm, int keyval);

  int (*type_size)(H type, int*);
  int (*type_get_extent)(H type, Aint* lower_bound, Aint* extent);
  int (*type_create_hindexed)(int, const int* lengths, const Aint* displacements, H type, H*);
  int (*type_commit)(H* type);
  int (*type_free)(H* type);
  int (*pack)(const void*, int, H type, void*, int, int* position, H comm);
  int (*unpack)(const void*, int, int* position, void*, int, H type, H comm);

  void load(const Library& mpi) {
    mpi.load(init, "PMPI_Init");
    mpi.load(init_thread, "PMPI_Init_thread");
    mpi.load(finalize, "PMPI_Finalize");
    mpi.load(initialized, "PMPI_Initialized");
    mpi.load(finalized, "PMPI_Finalized");
    mpi.load(abort, "PMPI_Abort");
    mpi.load(get_library_version, "PMPI_Get_library_version");
    mpi.load(alloc_mem, "PMPI_Alloc_mem");
    mpi.load(free_mem, "PMPI_Free_mem");
    mpi.load(barrier, "PMPI_Barrier");
    mpi.load(bcast, "PMPI_Bcast");
    mpi.load(reduce, "PMPI_Reduce");
    mpi.load(allreduce, "PMPI_Allreduce");
    mpi.load(bcast_c, "PMPI_Bcast_c");
    mpi.load(reduce_c, "PMPI_Reduce_c");
    mpi.load(allreduce_c, "PMPI_Allreduce_c");
    mpi.load(allgather, "PMPI_Allgather");
    mpi.load(comm_size, "PMPI_Comm_size");
    mpi.load(comm_rank, "PMPI_Comm_rank");
    mpi.load(comm_test_inter, "PMPI_Comm_test_inter");
    mpi.load(comm_create_keyval, "PMPI_Comm_create_keyval");
    mpi.load(comm_free_keyval, "PMPI_Comm_free_keyval");
    mpi.load(comm_get_attr, "PMPI_Comm_get_attr");
    mpi.load(comm_set_attr, "PMPI_Comm_set_attr");
    mpi.load(comm_delete_attr, "PMPI_Comm_delete_attr");
    mpi.load(type_size, "PMPI_Type_size");
    mpi.load(type_get_extent, "PMPI_Type_get_extent");
    mpi.load(type_create_hindexed, "PMPI_Type_create_hindexed");
    mpi.load(type_commit, "PMPI_Type_commit");
    mpi.load(type_free, "PMPI_Type_free");
    mpi.load(pack, "PMPI_Pack");
    mpi.load(unpack, "PMPI_Unpack");
  }
};

}  // namespace tutti::mpi
