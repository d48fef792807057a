// SPDX-License-Identifier: BSD-3-Clause
// The functions of the user's MPI that Tutti calls, in a family's own types. `H` is what a handle
// is there: int (MPICH) or void* (Open MPI, standard ABI).
#pragma once

#include <cctype>
#include <cstdint>
#include <cstdio>

#include "mpi/forms.h"
#include "mpi/library.h"

namespace tutti::mpi {

// What is of MPI 4 is nullptr where the MPI has none.
template <class H>
struct Native : Completing<H> {
  int (*init)(int*, char***);
  int (*init_thread)(int*, char***, int, int*);
  int (*finalize)();
  int (*initialized)(int*);
  int (*finalized)(int*);
  int (*session_init)(H info, H handler, void* session);
  int (*session_finalize)(void* session);
  int (*abort)(H comm, int code);
  int (*get_library_version)(char*, int*);

  int (*alloc_mem)(Aint, H info, void*);
  int (*free_mem)(void*);
  int (*info_get_nkeys)(H info, int*);
  int (*info_get_nthkey)(H info, int n, char* key);
  int (*info_get)(H info, const char* key, int most, char* value, int* found);

  int (*barrier)(H comm);
  Forms<H, int, int> small;
  Forms<H, Count, Aint> large;
  int (*ibarrier)(H comm, void* request);
  Forms<H, int, int, void*> small_started;
  Forms<H, Count, Aint, void*> large_started;

  int (*grequest_start)(int (*query)(void*, void* status), int (*free)(void*),
                        int (*cancel)(void*, int complete), void* extra, H* request);
  int (*grequest_complete)(H request);
  int (*status_set_elements)(void* status, H type, int count);
  int (*status_set_cancelled)(void* status, int flag);

  int (*reduce_local)(const void* in, void* in_out, int count, H type, H op);
  // Open MPI's: whether its progress yields the core when it has found nothing to do; returns what
  // held before. nullptr in others.
  bool (*set_yields)(bool yields);
  int (*op_commutative)(H op, int* commutes);
  int (*op_free)(H* op);
  int (*isend)(const void*, int count, H type, int to, int tag, H comm, void* request);
  int (*irecv)(void*, int count, H type, int from, int tag, H comm, void* request);
  int (*send)(const void*, int, H type, int to, int tag, H comm);
  int (*win_test)(H window, int* flag);
  int (*comm_revoke)(H comm);  // of an MPI that has ULFM
  int (*comm_size)(H comm, int*);
  int (*comm_rank)(H comm, int*);
  int (*comm_remote_size)(H comm, int*);
  int (*comm_test_inter)(H comm, int*);
  int (*comm_test_threadcomm)(H comm, int*);  // of an MPICH that has threads as ranks
  int (*comm_group)(H comm, H* group);
  int (*group_translate_ranks)(H from, int count, const int* ranks, H to, int* translated);
  int (*group_from_session_pset)(H session, const char* set, H* group);
  int (*group_incl)(H group, int count, const int* ranks, H* included);
  int (*group_rank)(H group, int*);
  int (*group_size)(H group, int*);
  int (*group_free)(H* group);
  int (*comm_create_group)(H comm, H group, int tag, H* made);
  int (*comm_split)(H comm, int color, int key, H* made);
  int (*comm_dup)(H comm, H* duplicate);
  int (*comm_free)(H* comm);
  int (*comm_call_errhandler)(H comm, int code);
  int (*comm_set_errhandler)(H comm, H handler);
  int (*comm_create_keyval)(int (*copy)(H, int, void*, void*, void*, int*),
                            int (*remove)(H, int, void*, void*), int* keyval, void* extra);
  int (*comm_free_keyval)(int* keyval);
  int (*comm_get_attr)(H comm, int keyval, void* value, int* flag);
  int (*comm_set_attr)(H comm, int keyval, void* value);
  int (*comm_delete_attr)(H comm, int keyval);

  int (*type_size)(H type, Count*);
  int (*type_get_extent)(H type, Count* lower_bound, Count* extent);
  int (*type_get_true_extent)(H type, Count* lower_bound, Count* extent);
  int (*type_create_hindexed)(int, const int* lengths, const Aint* displacements, H type, H*);
  int (*type_commit)(H* type);
  int (*type_dup)(H type, H* duplicate);
  int (*type_free)(H* type);
  int (*pack)(const void*, int, H type, void*, int, int* position, H comm);
  int (*unpack)(const void*, int, int* position, void*, int, H type, H comm);

  void load(const Library& mpi) {
    mpi.load(init, "PMPI_Init");
    mpi.load(init_thread, "PMPI_Init_thread");
    mpi.load(finalize, "PMPI_Finalize");
    mpi.load(initialized, "PMPI_Initialized");
    mpi.load(finalized, "PMPI_Finalized");
    mpi.load(session_init, "PMPI_Session_init");
    mpi.load(session_finalize, "PMPI_Session_finalize");
    mpi.load(abort, "PMPI_Abort");
    mpi.load(get_library_version, "PMPI_Get_library_version");
    mpi.load(alloc_mem, "PMPI_Alloc_mem");
    mpi.load(free_mem, "PMPI_Free_mem");
    mpi.load(info_get_nkeys, "PMPI_Info_get_nkeys");
    mpi.load(info_get_nthkey, "PMPI_Info_get_nthkey");
    mpi.load(info_get, "PMPI_Info_get");
    mpi.load(barrier, "PMPI_Barrier");
    mpi.load(ibarrier, "PMPI_Ibarrier");
    Completing<H>::for_each([&mpi](auto& function, const char* name) {
      char symbol[48];
      std::snprintf(symbol, sizeof symbol, "PMPI_%s", name);
      mpi.load(function, symbol);
    });
    const auto find = [&mpi](bool starts, const char* suffix) {
      return [&mpi, starts, suffix](auto& function, const char* name) {
        char symbol[48];
        const int first = starts ? std::tolower(static_cast<unsigned char>(*name)) : *name;
        std::snprintf(symbol, sizeof symbol, "PMPI_%s%c%s%s", starts ? "I" : "", first, name + 1,
                      suffix);
        mpi.load(function, symbol);
      };
    };
    small.for_each(find(false, ""));
    large.for_each(find(false, "_c"));
    small_started.for_each(find(true, ""));
    large_started.for_each(find(true, "_c"));
    mpi.load(grequest_start, "PMPI_Grequest_start");
    mpi.load(grequest_complete, "PMPI_Grequest_complete");
    mpi.load(status_set_elements, "PMPI_Status_set_elements");
    mpi.load(status_set_cancelled, "PMPI_Status_set_cancelled");
    mpi.load(reduce_local, "PMPI_Reduce_local");
    mpi.load(set_yields, "opal_progress_set_yield_when_idle");
    mpi.load(op_commutative, "PMPI_Op_commutative");
    mpi.load(op_free, "PMPI_Op_free");
    mpi.load(isend, "PMPI_Isend");
    mpi.load(irecv, "PMPI_Irecv");
    mpi.load(send, "PMPI_Send");
    mpi.load(win_test, "PMPI_Win_test");
    mpi.load(comm_revoke, "PMPIX_Comm_revoke");
    mpi.load(comm_size, "PMPI_Comm_size");
    mpi.load(comm_rank, "PMPI_Comm_rank");
    mpi.load(comm_remote_size, "PMPI_Comm_remote_size");
    mpi.load(comm_call_errhandler, "PMPI_Comm_call_errhandler");
    mpi.load(comm_set_errhandler, "PMPI_Comm_set_errhandler");
    mpi.load(comm_test_inter, "PMPI_Comm_test_inter");
    mpi.load(comm_test_threadcomm, "PMPIX_Comm_test_threadcomm");
    mpi.load(comm_group, "PMPI_Comm_group");
    mpi.load(group_translate_ranks, "PMPI_Group_translate_ranks");
    mpi.load(group_from_session_pset, "PMPI_Group_from_session_pset");
    mpi.load(group_incl, "PMPI_Group_incl");
    mpi.load(group_rank, "PMPI_Group_rank");
    mpi.load(group_size, "PMPI_Group_size");
    mpi.load(group_free, "PMPI_Group_free");
    mpi.load(comm_create_group, "PMPI_Comm_create_group");
    mpi.load(comm_split, "PMPI_Comm_split");
    mpi.load(comm_dup, "PMPI_Comm_dup");
    mpi.load(comm_free, "PMPI_Comm_free");
    mpi.load(comm_create_keyval, "PMPI_Comm_create_keyval");
    mpi.load(comm_free_keyval, "PMPI_Comm_free_keyval");
    mpi.load(comm_get_attr, "PMPI_Comm_get_attr");
    mpi.load(comm_set_attr, "PMPI_Comm_set_attr");
    mpi.load(comm_delete_attr, "PMPI_Comm_delete_attr");
    mpi.load(type_size, "PMPI_Type_size_x");
    mpi.load(type_get_extent, "PMPI_Type_get_extent_x");
    mpi.load(type_get_true_extent, "PMPI_Type_get_true_extent_x");
    mpi.load(type_create_hindexed, "PMPI_Type_create_hindexed");
    mpi.load(type_commit, "PMPI_Type_commit");
    mpi.load(type_dup, "PMPI_Type_dup");
    mpi.load(type_free, "PMPI_Type_free");
    mpi.load(pack, "PMPI_Pack");
    mpi.load(unpack, "PMPI_Unpack");
  }
};

}  // namespace tutti::mpi
