// SPDX-License-Identifier: BSD-3-Clause
// Ranks that mix up blocking and nonblocking collectives, and ranks that call both as they should:
//   mixups fatal N      mix-up N on MPI_COMM_WORLD
//   mixups returned     all of them, each on a communicator whose errors return
//   mixups legal ROUNDS
//   mixups swapped ROUNDS
#include <mpi.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "bare.h"

namespace {

int rank = 0, size = 0;

// What rank 0 calls and what the others do: Bcast, Allreduce and baRrier, nonblocking if small; w
// waits for all of them, t tests until they are over.
struct Mixup {
  const char* first;
  const char* others;
  int root;
  int count;
};
constexpr Mixup mixups[] = {
    {"B", "bw", 1, 10},  // rank 0 waits in its call
    {"B", "bw", 0, 20},  // it leaves at once
    {"B", "bt", 0, 30},
    {"bw", "B", 1, 40},
    {"Aaw", "awA", 0, 50},
    {"Aaw", "awA", 0, 60'000},
    {"RarwABbwR"
     "aaaaaaaaaaAw",
     "RarwABbwR"
     "aaaaaaaaaarwAw",
     1, 70},
    {"bRw", "bBRw", 0, 80},
    {"bRw", "bbwR", 0, 90},
};

// Plays `calls`; the code of the first that fails.
int play(const char* calls, const Mixup& mixup, MPI_Comm comm) {
  const auto n = static_cast<std::size_t>(mixup.count);
  std::vector<std::vector<int>> buffers;
  std::vector<MPI_Request> requests;
  int code = MPI_SUCCESS;
  const auto buffer = [&] { return buffers.emplace_back(n, 1).data(); };
  const auto request = [&] { return &requests.emplace_back(MPI_REQUEST_NULL); };
  const auto wait = [&] {
    for (MPI_Request& each : requests) {
      const int waited = MPI_Wait(&each, MPI_STATUS_IGNORE);
      if (code == MPI_SUCCESS) code = waited;
    }
    requests.clear();
  };
  for (const char* call = calls; *call != '\0' && code == MPI_SUCCESS; ++call) {
    int done = 0;
    switch (*call) {
      case 'B':
        code = MPI_Bcast(buffer(), mixup.count, MPI_INT, mixup.root, comm);
        break;
      case 'b':
        code = MPI_Ibcast(buffer(), mixup.count, MPI_INT, mixup.root, comm, request());
        break;
      case 'A':
        code = MPI_Allreduce(buffer(), buffer(), mixup.count, MPI_INT, MPI_SUM, comm);
        break;
      case 'a':
        code = MPI_Iallreduce(buffer(), buffer(), mixup.count, MPI_INT, MPI_SUM, comm, request());
        break;
      case 'R':
        code = MPI_Barrier(comm);
        break;
      case 'r':
        code = MPI_Ibarrier(comm, request());
        break;
      case 'w':
        wait();
        break;
      case 't':
        while (code == MPI_SUCCESS && done == 0)
          code = MPI_Test(&requests.front(), &done, MPI_STATUS_IGNORE);
        break;
    }
  }
  wait();
  return code;
}

int play(const Mixup& mixup, MPI_Comm comm) {
  return play(rank == 0 ? mixup.first : mixup.others, mixup, comm);
}

// Somebody gets the error, nobody another one, and nobody waits for ever.
int returned() {
  int wrong = 0;
  for (const Mixup& mixup : mixups) {
    MPI_Comm comm;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    const int code = play(mixup, comm);
    int error_class = MPI_SUCCESS, most = 0;
    if (code != MPI_SUCCESS) MPI_Error_class(code, &error_class);
    BARE(Allreduce)(&error_class, &most, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    const bool right =
        most == MPI_ERR_OTHER && (error_class == MPI_SUCCESS || error_class == MPI_ERR_OTHER);
    if (!right) std::printf("rank %d, %s: class %d\n", rank, mixup.others, error_class);
    wrong += !right;
    MPI_Comm_free(&comm);
  }
  return wrong;
}

// Both kinds in one random order, on two communicators, each rank late at times: by far more than
// it takes until others look for what may be wrong.
int legal(int rounds) {
  std::mt19937 random(1), mine(static_cast<unsigned>(rank));
  MPI_Comm comms[2];
  for (MPI_Comm& comm : comms) MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  int wrong = 0;
  constexpr unsigned most = 30;
  std::vector<std::vector<int>> in(most), out(most);
  std::vector<MPI_Request> requests;
  std::vector<int> expected;
  const auto complete = [&](unsigned way) {
    const int count = static_cast<int>(requests.size());
    int done = 0;
    if (way == 0) MPI_Waitall(count, requests.data(), MPI_STATUSES_IGNORE);
    while (way == 1 && !done) MPI_Testall(count, requests.data(), &done, MPI_STATUSES_IGNORE);
    for (int i = 0; way == 2 && i < count; ++i)
      MPI_Waitany(count, requests.data(), &done, MPI_STATUS_IGNORE);
    for (std::size_t i = 0; i < requests.size(); ++i) wrong += out[i].back() != expected[i];
    requests.clear();
    expected.clear();
  };
  for (int round = 0; round < rounds; ++round) {
    if (mine() % 50 == 0) usleep(10'000 + mine() % 40'000);
    MPI_Comm comm = comms[random() % 2];
    const unsigned kind = random() % 6, bytes = random() % 8;
    const int root = static_cast<int>(random() % static_cast<unsigned>(size));
    const std::size_t n = bytes == 0 ? 30'000 : 1 + 100 * bytes;
    const int count = static_cast<int>(n), sum = size * (size + 1) / 2;
    std::vector<int> a(n, rank + 1), b(n, rank + 1);
    if (kind == 0) MPI_Barrier(comm);
    if (kind == 1) MPI_Bcast(b.data(), count, MPI_INT, root, comm);
    if (kind == 2) MPI_Reduce(a.data(), b.data(), count, MPI_INT, MPI_SUM, root, comm);
    if (kind == 1) wrong += b.back() != root + 1;
    if (kind == 2) wrong += rank == root && b.back() != sum;
    if (kind >= 3) {
      const std::size_t at = requests.size();
      in[at] = a;
      out[at] = b;
      MPI_Request& request = requests.emplace_back();
      if (kind == 3) MPI_Ibarrier(comm, &request);
      if (kind == 4) MPI_Ibcast(out[at].data(), count, MPI_INT, root, comm, &request);
      if (kind == 5)
        MPI_Iallreduce(in[at].data(), out[at].data(), count, MPI_INT, MPI_SUM, comm, &request);
      expected.push_back(kind == 3 ? rank + 1 : kind == 4 ? root + 1 : sum);
    }
    if (requests.size() == most || random() % 12 == 0) complete(mine() % 3);
  }
  complete(0);
  for (MPI_Comm& comm : comms) MPI_Comm_free(&comm);
  return wrong;
}

// A blocking and a nonblocking one, by one rank in another order than by the others. MPI does not
// allow that, but MPIs let it pass, and mpi4py's tests do it. Ranks are late by far more than it
// takes until others look for what may be wrong.
int swapped(int rounds) {
  std::mt19937 random(1), mine(static_cast<unsigned>(rank));
  int wrong = 0;
  for (int round = 0; round < rounds; ++round) {
    const bool first = rank == static_cast<int>(random() % static_cast<unsigned>(size));
    const bool late = mine() % 2 == 0;
    int flags = first ? 11 : 13, all = 0, sum = 0, one = 1, done = 0;
    MPI_Request request;
    const auto start = [&] {
      MPI_Iallreduce(&flags, &all, 1, MPI_INT, MPI_BAND, MPI_COMM_WORLD, &request);
    };
    if (first) {
      start();
      MPI_Test(&request, &done, MPI_STATUS_IGNORE);
      wrong += done;
    }
    if (late) usleep(mine() % 30'000);
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (late) usleep(mine() % 30'000);
    if (!first) start();
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    wrong += all != 9 || sum != size;
  }
  return wrong;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const std::string what = argc > 1 ? argv[1] : "";
  const int number = argc > 2 ? std::atoi(argv[2]) : 0;
  int wrong = 100;
  if (what == "fatal") wrong = play(mixups[number], MPI_COMM_WORLD);
  if (what == "returned") wrong = returned();
  if (what == "legal") wrong = legal(number);
  if (what == "swapped") wrong = swapped(number);
  int sum = 0;
  BARE(Reduce)(&wrong, &sum, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) std::printf("mixups: %d wrong\n", sum);
  MPI_Finalize();
  return 0;
}
