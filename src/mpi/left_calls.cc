// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/left_calls.h"

namespace tutti::mpi {

template <class H>
bool LeftCalls<H>::has_root_arguments(int root, H comm) const {
  if (native_.is_no_comm(comm)) return false;  // the MPI's error comes first
  int rank = -1, inter = 0;
  native_.comm_test_inter(comm, &inter);
  native_.comm_rank(comm, &rank);
  return inter ? root < 0 : rank == root;  // the root of an intercommunicator says MPI_ROOT
}

// On an intercommunicator a Reduce_scatter has a count for each rank of the caller's own group, all
// others have one for each of the remote one.
template <class H>
int LeftCalls<H>::count_members(H comm, bool remote) const {
  int members = 0, inter = 0;
  if (native_.is_no_comm(comm)) return 0;
  native_.comm_test_inter(comm, &inter);
  (inter && remote ? native_.comm_remote_size : native_.comm_size)(comm, &members);
  return members;
}

template class LeftCalls<int>;
template class LeftCalls<void*>;

}  // namespace tutti::mpi
