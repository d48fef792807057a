// SPDX-License-Identifier: BSD-3-Clause
// A process that calls only collectives brings the MPI's own communication forward (MPI-4.1,
// 3.7.4): messages that it has started to send, small ones, more of them than any buffer holds, and
// large ones, with two ranks; and with three a window of its that another rank locks. It takes part
// in blocking and in nonblocking collectives. The argument is the thread level, from 0 to 3.
#include <mpi.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

int rank = 0;
// Collectives, which are short; the time of as many messages is about theirs. Without any rule it
// takes a hundred times as many, or no number is enough.
constexpr long most_calls = 100'000;

struct Kind {
  const char* name;
  int messages;
  int bytes;
};
constexpr Kind small{"small messages", 5000, 512}, large{"large messages", 4, 4 << 20};

void agree(bool blocking, int mine, int& all) {
  if (blocking) {
    MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    return;
  }
  MPI_Request request;
  MPI_Iallreduce(&mine, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}

// Rank 0 sends to rank 1, and then calls nothing but collectives until all is there.
bool send(const Kind& kind, bool blocking) {
  std::vector<char> data(static_cast<std::size_t>(kind.messages) * kind.bytes);
  std::vector<MPI_Request> requests(kind.messages, MPI_REQUEST_NULL);
  for (int i = 0; i < kind.messages && rank < 2; ++i) {
    char* at = data.data() + static_cast<std::size_t>(i) * kind.bytes;
    if (rank == 0)
      MPI_Isend(at, kind.bytes, MPI_CHAR, 1, 0, MPI_COMM_WORLD, &requests[i]);
    else
      MPI_Irecv(at, kind.bytes, MPI_CHAR, 0, 0, MPI_COMM_WORLD, &requests[i]);
  }
  int all = 0, next = 0;
  long calls = 0;
  for (; all == 0 && calls < most_calls; ++calls) {
    int flag = rank == 1 ? 1 : 0;
    while (flag != 0 && next < kind.messages) {
      MPI_Test(&requests[next], &flag, MPI_STATUS_IGNORE);
      next += flag;
    }
    agree(blocking, rank != 1 || next == kind.messages, all);
  }
  if (all == 0 && rank == 1)
    std::printf("%d of %d %s after %ld calls\n", next, kind.messages, kind.name, calls);
  std::fflush(stdout);
  MPI_Waitall(kind.messages, requests.data(), MPI_STATUSES_IGNORE);
  return all != 0;
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
  constexpr int levels[] = {MPI_THREAD_SINGLE, MPI_THREAD_FUNNELED, MPI_THREAD_SERIALIZED,
                            MPI_THREAD_MULTIPLE};
  int provided = 0;
  MPI_Init_thread(nullptr, nullptr, levels[std::atoi(argv[1])], &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  int size = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  bool good = true;
  if (size > 2) good = lock();
  for (const bool blocking : {true, false})
    for (const Kind& kind : {small, large}) good = (size > 2 || send(kind, blocking)) && good;
  int all = 0;
  const int mine = good;
  MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  if (rank == 0) std::printf("only_collectives: %s\n", all != 0 ? "went on" : "FAILED");
  MPI_Finalize();
  return all != 0 ? 0 : 1;
}
