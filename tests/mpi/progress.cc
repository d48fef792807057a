// SPDX-License-Identifier: BSD-3-Clause
// A rank that waits in a collective still serves the others: rank 0 locks a window of rank 1, which
// is in the barrier already, and sends it a message that it takes only after rank 0 is in the next.
// With an argument, in a session.
#include <mpi.h>

#include <cstdio>
#include <vector>

#include "session.h"

namespace {

#if HAS_SESSIONS
MPI_Session session;

MPI_Comm begin(bool sessions) {
  if (!sessions) {
    MPI_Init(nullptr, nullptr);
    return MPI_COMM_WORLD;
  }
  return begin_session(&session, "progress");
}
void end(bool sessions, MPI_Comm comm) {
  if (!sessions) {
    MPI_Finalize();
    return;
  }
  MPI_Comm_free(&comm);
  MPI_Session_finalize(&session);
}
#else
MPI_Comm begin(bool) {
  MPI_Init(nullptr, nullptr);
  return MPI_COMM_WORLD;
}
void end(bool, MPI_Comm) { MPI_Finalize(); }
#endif

}  // namespace

int main(int argc, char**) {
  const bool sessions = argc > 1;
  MPI_Comm world = begin(sessions);
  int rank = 0, size = 0;
  MPI_Comm_rank(world, &rank);
  MPI_Comm_size(world, &size);
  int reached = 0;
  MPI_Win window;
  MPI_Win_create(&reached, sizeof reached, sizeof reached, MPI_INFO_NULL, world, &window);
  std::vector<char> message(8 << 20);
  constexpr int rounds = 10;
  const auto dawdle = [](double seconds) {
    for (const double begin = MPI_Wtime(); MPI_Wtime() < begin + seconds;) {
    }
  };
  MPI_Barrier(world);
  for (int round = 0; round < rounds; ++round) {
    MPI_Request request = MPI_REQUEST_NULL;
    if (rank == 0) {
      dawdle(round % 2 == 0 ? 0.002 : 0.02);  // while the others yield, or sleep
      for (int peer = 1; peer < size; ++peer) {
        const int one = 1;
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, peer, 0, window);
        MPI_Accumulate(&one, 1, MPI_INT, peer, 0, 1, MPI_INT, MPI_SUM, window);
        MPI_Win_unlock(peer, window);
      }
    }
    MPI_Barrier(world);
    if (rank == 0) {
      message.assign(message.size(), static_cast<char>(round));
      MPI_Isend(message.data(), static_cast<int>(message.size()), MPI_CHAR, 1, 0, world, &request);
    } else if (rank == 1) {
      dawdle(0.02);
      MPI_Recv(message.data(), static_cast<int>(message.size()), MPI_CHAR, 0, 0, world,
               MPI_STATUS_IGNORE);
    }
    MPI_Barrier(world);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    if (rank < 2 && message.back() != round) MPI_Abort(world, 2);
  }
  MPI_Win_free(&window);  // a barrier too, and makes the peers' writes visible
  if (rank > 0 && reached != rounds) {
    std::printf("progress: rank %d was reached %d times\n", rank, reached);
    MPI_Abort(world, 3);
  }
  if (rank == 0) std::puts("progress: served");
  end(sessions, world);
}
