// SPDX-License-Identifier: BSD-3-Clause
// A process that calls only collectives brings the MPI's own communication forward (MPI-4.1,
// 3.7.4): messages that it has started to send, small ones, more of them than any buffer holds, and
// large ones, with two ranks; and with three a window of its that another rank locks. It takes part
// in blocking and in nonblocking collectives. Arguments: the thread level, from 0 to 3, and how
// many small messages.
#include <mpi.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

#include "bare.h"

namespace {

int rank = 0;
enum class Calls { bare, blocking, nonblocking };  // bare: the MPI's own

struct Kind {
  const char* name;
  int messages;
  int bytes;
};
constexpr Kind large{"large messages", 4, 4 << 20};

void agree(Calls calls, int mine, int& all) {
  if (calls != Calls::nonblocking) {
    const auto allreduce = calls == Calls::bare ? BARE(Allreduce) : MPI_Allreduce;
    allreduce(&mine, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    return;
  }
  MPI_Request request;
  MPI_Iallreduce(&mine, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}

// Rank 0 sends to rank 1, and then calls nothing but collectives until all is there, or `limit_s`
// have passed. Returns how long it took.
double send(const Kind& kind, Calls calls, double limit_s) {
  std::vector<char> data(static_cast<std::size_t>(kind.messages) * kind.bytes);
  std::vector<MPI_Request> requests(kind.messages, MPI_REQUEST_NULL);
  const double begin = MPI_Wtime();
  for (int i = 0; i < kind.messages && rank < 2; ++i) {
    char* at = data.data() + static_cast<std::size_t>(i) * kind.bytes;
    if (rank == 0)
      MPI_Isend(at, kind.bytes, MPI_CHAR, 1, 0, MPI_COMM_WORLD, &requests[i]);
    else
      MPI_Irecv(at, kind.bytes, MPI_CHAR, 0, 0, MPI_COMM_WORLD, &requests[i]);
  }
  int state = 0, next = 0;  // 0: goes on, 1: all is there, -1: too late on some rank
  while (state == 0) {
    int flag = rank == 1 ? 1 : 0;
    while (flag != 0 && next < kind.messages) {
      MPI_Test(&requests[next], &flag, MPI_STATUS_IGNORE);
      next += flag;
    }
    const bool late = MPI_Wtime() - begin > limit_s;
    agree(calls, late ? -1 : rank != 1 || next == kind.messages, state);
    if (state < 0) break;
  }
  const double spent = MPI_Wtime() - begin;
  if (state < 0 && rank == 1)
    std::printf("%d of %d %s after %.2f s\n", next, kind.messages, kind.name, spent);
  std::fflush(stdout);
  MPI_Waitall(kind.messages, requests.data(), MPI_STATUSES_IGNORE);
  return spent;
}

// As soon as with the MPI's own collectives, but for what else runs on the machine. Without any
// rule it takes far longer, or never ends.
bool send_as_bare(const Kind& kind, Calls calls) {
  const double bare_s = send(kind, Calls::bare, 60), limit_s = 1 + 5 * bare_s;
  double limits_s = 0;
  MPI_Allreduce(&limit_s, &limits_s, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return send(kind, calls, limits_s) <= limits_s;
}

// Rank 1 locks a window of rank 0, which loops over collectives without rank 1.
bool lock() {
  constexpr double loops_s = 1;
  constexpr int epochs = 5;
  int value = 0, late = 0;
  MPI_Win window;
  MPI_Comm others;
  MPI_Comm_split(MPI_COMM_WORLD, rank == 1, rank, &others);
  MPI_Win_create(&value, sizeof value, sizeof value, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
  MPI_Barrier(MPI_COMM_WORLD);
  const double begin = MPI_Wtime();
  if (rank == 1) {
    for (int epoch = 0; epoch < epochs; ++epoch) {
      const int one = 1;
      MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window);
      MPI_Accumulate(&one, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_SUM, window);
      MPI_Win_unlock(0, window);
    }
    late = MPI_Wtime() - begin > loops_s;
    if (late) std::printf("locking took as long as the collectives\n");
  } else {
    double spent = 0;
    while (spent < loops_s) {
      spent = MPI_Wtime() - begin;
      MPI_Bcast(&spent, 1, MPI_DOUBLE, 0, others);
    }
  }
  MPI_Win_free(&window);
  MPI_Comm_free(&others);
  MPI_Bcast(&late, 1, MPI_INT, 1, MPI_COMM_WORLD);
  return late == 0 && (rank != 0 || value == epochs);
}

}  // namespace

int main(int, char** argv) {
  const Kind small{"small messages", std::atoi(argv[2]), 512};
  constexpr int levels[] = {MPI_THREAD_SINGLE, MPI_THREAD_FUNNELED, MPI_THREAD_SERIALIZED,
                            MPI_THREAD_MULTIPLE};
  int provided = 0;
  MPI_Init_thread(nullptr, nullptr, levels[std::atoi(argv[1])], &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  int size = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  bool good = true;
  if (size > 2) good = lock();
  if (size == 2)
    for (const Calls calls : {Calls::blocking, Calls::nonblocking})
      for (const Kind& kind : {small, large}) good = send_as_bare(kind, calls) && good;
  int all = 0;
  const int mine = good;
  MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  if (rank == 0) std::printf("only_collectives: %s\n", all != 0 ? "went on" : "FAILED");
  MPI_Finalize();
  return all != 0 ? 0 : 1;
}
