// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/left_calls.h"

namespace tutti::mpi {

template <class H>
bool LeftCalls<H>::has_root_arguments(int root, H comm) const {
  int rank = -1, inter = 0;
  native_.comm_test_inter(comm, &inter);
  native_.comm_rank(comm, &rank);
  return inter ? root < 0 : rank == root;  // the root of an intercommunicator says MPI_ROOT
}

// With whom the call exchanges.
template <class H>
int LeftCalls<H>::count_members(H comm) const {
  int members = 0, inter = 0;
  native_.comm_test_inter(comm, &inter);
  (inter ? native_.comm_remote_size : native_.comm_size)(comm, &members);
  return members;
}

template class LeftCalls<int>;
template class LeftCalls<void*>;

}  // namespace tutti::mpi
