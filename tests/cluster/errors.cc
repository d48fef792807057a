// SPDX-License-Identifier: BSD-3-Clause
// What goes wrong, or nearly, on several hosts: errors CASE [RANK...]. Each rank prints what it
// should see, or "not true". The programs are wrong where the case says so, and have
// MPI_ERRORS_RETURN.
#include <mpi.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

namespace {

int g_rank, g_ranks;

void expect(bool right, const char* what) {
  std::printf("rank %d: %s%s\n", g_rank, right ? "" : "not true: ", what);
  std::fflush(stdout);
}

MPI_Comm duplicate() {
  MPI_Comm made;
  MPI_Comm_dup(MPI_COMM_WORLD, &made);
  MPI_Comm_set_errhandler(made, MPI_ERRORS_RETURN);
  return made;
}

// One rank sends more than anybody has room for: all hear of it, on all hosts.
void too_much() {
  MPI_Comm comm = duplicate();
  MPI_Barrier(comm);
  std::vector<char> mine(1 << 20), all(8 * static_cast<std::size_t>(g_ranks));
  const int sent = g_rank == 1 ? 1 << 20 : 8;
  const int error = MPI_Allgather(mine.data(), sent, MPI_CHAR, all.data(), 8, MPI_CHAR, comm);
  expect(error != MPI_SUCCESS, "an error");
}

// Ranks of one host call different things. Those that are told so may go on, and end like others.
void end_well() {
  MPI_Comm comm = duplicate();
  double data = 1, sum = 0;
  MPI_Allreduce(&data, &sum, 1, MPI_DOUBLE, MPI_SUM, comm);
  const MPI_Op op = g_rank == 0 ? MPI_MAX : MPI_SUM;
  expect(MPI_Allreduce(&data, &sum, 1, MPI_DOUBLE, op, comm) != MPI_SUCCESS, "an error");
  MPI_Comm_free(&comm);
}

// Rank 0, and it alone, meets an error on a communicator that the others then free. What it has
// sent them ends none of their later ones.
void stale() {
  MPI_Comm comm = duplicate(), others;
  MPI_Comm_split(MPI_COMM_WORLD, g_rank > 0, g_rank, &others);
  MPI_Comm_set_errhandler(others, MPI_ERRORS_RETURN);
  MPI_Barrier(comm);
  char data[200];
  const int error = MPI_Bcast(data, g_rank == 0 ? 50 : 100, MPI_CHAR, g_ranks - 1, comm);
  expect((error != MPI_SUCCESS) == (g_rank == 0), "an error on rank 0");
  if (g_rank == 0) return;
  MPI_Comm_free(&comm);
  bool right = true;
  for (int i = 0; i < 20; ++i) {
    MPI_Comm later;
    MPI_Comm_dup(others, &later);
    right = MPI_Barrier(later) == MPI_SUCCESS && right;
    // One that waits long enough to look around.
    if (g_rank == 1) std::this_thread::sleep_for(std::chrono::milliseconds(30));
    right = MPI_Barrier(later) == MPI_SUCCESS && right;
    MPI_Comm_free(&later);
  }
  expect(right, "no error later");
}

// Rank 1 awaits half of what rank 0 sends, so rank 0 mostly fails while rank 2 has not come. What
// rank 2 then receives, of data that the MPI alone can pack, is not what rank 0 has written
// meanwhile.
void late() {
  MPI_Comm comm = duplicate();
  MPI_Barrier(comm);
  const int sizes[] = {1024, 1024}, whole[] = {MPI_DISTRIBUTE_NONE, MPI_DISTRIBUTE_NONE},
            none[] = {MPI_DISTRIBUTE_DFLT_DARG, MPI_DISTRIBUTE_DFLT_DARG}, one[] = {1, 1};
  MPI_Datatype matrix;
  MPI_Type_create_darray(1, 0, 2, sizes, whole, none, one, MPI_ORDER_C, MPI_CHAR, &matrix);
  MPI_Type_commit(&matrix);
  constexpr int bytes = 1024 * 1024;
  std::vector<char> all(static_cast<std::size_t>(g_ranks) * bytes, 's'), own(bytes, 'r');
  if (g_rank == 2) std::this_thread::sleep_for(std::chrono::milliseconds(300));
  const int awaited = g_rank == 1 ? bytes / 2 : bytes;
  const int error = MPI_Scatter(all.data(), 1, matrix, own.data(), awaited, MPI_CHAR, 0, comm);
  if (g_rank == 1) expect(error != MPI_SUCCESS, "an error");
  if (g_rank == 0) {
    std::vector<std::vector<char>> others;
    for (int i = 0; i < 8; ++i) others.emplace_back(all.size(), 'w');
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(1);
    for (int flag; std::chrono::steady_clock::now() < end;)
      MPI_Iprobe(MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
  }
  if (g_rank == 2)
    expect(error != MPI_SUCCESS || std::count(own.begin(), own.end(), 's') == bytes,
           "an error, or what was sent");
  MPI_Type_free(&matrix);
}

// Rank 1, on the node of rank 0, awaits half of what that sends to all. Rank 0 fails, too: the
// message to rank 2, on another node, may still be in its buffer.
void half_awaited() {
  MPI_Comm comm = duplicate();
  MPI_Barrier(comm);
  static std::vector<char> data(400'000, 's');
  const int count = static_cast<int>(data.size()) / (g_rank == 1 ? 2 : 1);
  if (g_rank == 2) std::this_thread::sleep_for(std::chrono::milliseconds(300));
  const int error = MPI_Bcast(data.data(), count, MPI_CHAR, 0, comm);
  if (g_rank < 2) expect(error != MPI_SUCCESS, "an error");
}

// Threads of rank 0 come to the first collectives of two communicators in another order than the
// other ranks.
void meetings() {
  MPI_Comm a = duplicate(), b = duplicate();
  for (int turn = 0; turn < 2; ++turn, std::swap(a, b)) {
    MPI_Comm first, second;
    MPI_Comm_dup(a, &first);
    MPI_Comm_dup(b, &second);
    const auto wait = [](int ms) { std::this_thread::sleep_for(std::chrono::milliseconds(ms)); };
    if (g_rank == 0) {
      std::thread early([&] { MPI_Barrier(second); });
      wait(100);
      std::thread late([&] { MPI_Barrier(first); });
      early.join();
      late.join();
    } else {
      wait(200);
      MPI_Barrier(first);
      MPI_Barrier(second);
    }
  }
  expect(true, "both meet");
}

// The default error handler ends the job, on all hosts. Ranks of the last host are in no
// collective.
void fatal(bool on_one_host) {
  MPI_Comm comm = MPI_COMM_WORLD;
  if (on_one_host) MPI_Comm_split(MPI_COMM_WORLD, g_rank / 2, g_rank, &comm);
  std::vector<char> data(300);
  MPI_Barrier(comm);
  if (on_one_host && g_rank >= 2)
    MPI_Recv(data.data(), 1, MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Bcast(data.data(), g_rank % 2 == 0 ? 200 : 100, MPI_CHAR, 0, comm);
  MPI_Barrier(comm);
}

// The ranks of the last host call something else, of which no length tells. What is awaited never
// comes, and both sides are told.
void other_call(bool blocking) {
  MPI_Comm comm = duplicate();
  MPI_Barrier(comm);
  double data = 1, sum = 0;
  MPI_Request request = MPI_REQUEST_NULL;
  int error;
  if (g_rank < g_ranks - 2)
    error = blocking ? MPI_Allreduce(&data, &sum, 1, MPI_DOUBLE, MPI_SUM, comm)
                     : MPI_Iallreduce(&data, &sum, 1, MPI_DOUBLE, MPI_SUM, comm, &request);
  else
    error = blocking ? MPI_Scan(&data, &sum, 1, MPI_DOUBLE, MPI_SUM, comm)
                     : MPI_Iscan(&data, &sum, 1, MPI_DOUBLE, MPI_SUM, comm, &request);
  if (!blocking && error == MPI_SUCCESS) error = MPI_Wait(&request, MPI_STATUS_IGNORE);
  expect(error != MPI_SUCCESS, "an error");
}

// Some ranks start what others call, on one host; on the other one all do the same. `by_one`: rank
// 0 alone starts it, else rank 1 alone calls it. One that has noticed it tells those that wait in
// either kind.
void mixed_up(bool by_one) {
  MPI_Comm comm = duplicate();
  MPI_Barrier(comm);
  double data = 1, sum = 0;
  int error = MPI_SUCCESS;
  if (by_one ? g_rank == 0 : g_rank != 1) {
    MPI_Request request;
    error = MPI_Iallreduce(&data, &sum, 1, MPI_DOUBLE, MPI_SUM, comm, &request);
    if (error == MPI_SUCCESS) error = MPI_Wait(&request, MPI_STATUS_IGNORE);
  } else {
    error = MPI_Allreduce(&data, &sum, 1, MPI_DOUBLE, MPI_SUM, comm);
  }
  expect(error != MPI_SUCCESS, "an error");
}

// Each host has its own idea of the root, which waits for the others.
void other_root() {
  MPI_Comm comm = duplicate();
  MPI_Barrier(comm);
  double data = 1, sum = 0;
  const int root = g_rank < 2 ? 0 : 2;
  int error = MPI_Reduce(&data, &sum, 1, MPI_DOUBLE, MPI_SUM, root, comm);
  if (error == MPI_SUCCESS) error = MPI_Barrier(comm);
  expect(error != MPI_SUCCESS, "an error");
}

// The ranks of one host add, those of the other one multiply.
void other_operation() {
  MPI_Comm comm = duplicate();
  MPI_Barrier(comm);
  double data = 1, result = 0;
  const MPI_Op op = g_rank < 2 ? MPI_SUM : MPI_PROD;
  expect(MPI_Allreduce(&data, &result, 1, MPI_DOUBLE, op, comm) != MPI_SUCCESS, "an error");
}

// The root of a Bcast is through, and waits in the next call for those that have called something
// else.
void one_call_ago() {
  MPI_Comm comm = duplicate();
  MPI_Barrier(comm);
  double data = 1, sum = 0;
  int error = g_rank < 2 ? MPI_Bcast(&data, 1, MPI_DOUBLE, 0, comm)
                         : MPI_Allreduce(&data, &sum, 1, MPI_DOUBLE, MPI_SUM, comm);
  if (error == MPI_SUCCESS) error = MPI_Barrier(comm);
  expect(error != MPI_SUCCESS, "an error");
}

// The ranks of the last host are through with a call that the others never make, and wait on
// another communicator: for the others, or for one of their own that is late, there also in a
// nonblocking call. They may have freed the first.
void elsewhere(bool on_one_host, bool frees, bool starts) {
  MPI_Comm comm = duplicate(), other = duplicate();
  if (on_one_host) {
    MPI_Comm_free(&other);
    MPI_Comm_split(MPI_COMM_WORLD, g_rank / 2, g_rank, &other);
  }
  MPI_Barrier(comm);
  MPI_Barrier(other);
  double data = 1, sum = 0;
  const bool apart = g_rank >= 2;
  const int error = apart ? MPI_Bcast(&data, 1, MPI_DOUBLE, 2, comm)
                          : MPI_Reduce(&data, &sum, 1, MPI_DOUBLE, MPI_SUM, 0, comm);
  expect((error != MPI_SUCCESS) == (g_rank == 0), "an error on rank 0");
  if (apart && frees) MPI_Comm_free(&comm);
  if (apart && on_one_host && g_rank == 3) std::this_thread::sleep_for(std::chrono::seconds(6));
  MPI_Request request = MPI_REQUEST_NULL;
  const int later = starts ? MPI_Ibarrier(other, &request) : MPI_Barrier(other);
  expect(later == MPI_SUCCESS && MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS,
         "no error elsewhere");
}

// A rank is late by more than it takes to believe in an error, several times, so others wait for it
// in calls of all kinds. Nothing comes of it.
void late_for_seconds() {
  MPI_Comm comm = duplicate();
  MPI_Barrier(comm);
  double data = 1, sum = 0;
  bool right = true;
  const auto be_late = [] {
    if (g_rank == g_ranks - 1) std::this_thread::sleep_for(std::chrono::milliseconds(2500));
  };
  for (int round = 0; round < 10; ++round)
    for (int root = 0; root < g_ranks; ++root) {
      if (round == 0 && root == 1) be_late();
      right &= MPI_Bcast(&data, 1, MPI_DOUBLE, root, comm) == MPI_SUCCESS;
      if (round == 1 && root == 0) be_late();
      right &= MPI_Reduce(&data, &sum, 1, MPI_DOUBLE, MPI_SUM, root, comm) == MPI_SUCCESS;
      right &= MPI_Gather(&data, 0, MPI_DOUBLE, &sum, 0, MPI_DOUBLE, root, comm) == MPI_SUCCESS;
    }
  be_late();
  right &= MPI_Allreduce(&data, &sum, 1, MPI_DOUBLE, MPI_SUM, comm) == MPI_SUCCESS;
  expect(right && sum == g_ranks, "no error");
}

// The others call collectives without end, so they are in one when these are killed. `what`: 0 for
// this process, -1 for all of its host, the launcher's daemon too.
void killed(bool this_one, pid_t what) {
  char host[64] = "";
  if (what == -1 && (gethostname(host, sizeof host) != 0 || std::strncmp(host, "tutti-", 6) != 0))
    std::exit(2);  // no host of the rig
  std::vector<double> mine(100000, 1), sum(mine),
      all(mine.size() * static_cast<std::size_t>(g_ranks));
  const int count = static_cast<int>(mine.size());
  MPI_Barrier(MPI_COMM_WORLD);
  std::thread end([=] {
    if (!this_one) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    kill(what == 0 ? getpid() : what, SIGKILL);
    kill(getpid(), SIGKILL);  // -1 leaves out who calls it
  });
  end.detach();
  for (int root = 0;; root = (root + 1) % g_ranks) {
    MPI_Allreduce(mine.data(), sum.data(), 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    MPI_Allreduce(mine.data(), sum.data(), count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    MPI_Bcast(sum.data(), count, MPI_DOUBLE, root, MPI_COMM_WORLD);
    MPI_Reduce(mine.data(), sum.data(), count, MPI_DOUBLE, MPI_SUM, root, MPI_COMM_WORLD);
    MPI_Allgather(mine.data(), count, MPI_DOUBLE, all.data(), count, MPI_DOUBLE, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
  }
}

bool among(char** words, char** end) {
  return std::any_of(words, end, [](const char* word) { return std::atoi(word) == g_rank; });
}

}  // namespace

int main(int argc, char** argv) {
  int provided;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &g_rank);
  MPI_Comm_size(MPI_COMM_WORLD, &g_ranks);
  if (std::strcmp(argv[1], "too_much") == 0) too_much();
  if (std::strcmp(argv[1], "end_well") == 0) end_well();
  if (std::strcmp(argv[1], "stale") == 0) stale();
  if (std::strcmp(argv[1], "late") == 0) late();
  if (std::strcmp(argv[1], "half_awaited") == 0) half_awaited();
  if (std::strcmp(argv[1], "meetings") == 0) meetings();
  if (std::strcmp(argv[1], "other_call") == 0) other_call(true);
  if (std::strcmp(argv[1], "other_started_call") == 0) other_call(false);
  if (std::strcmp(argv[1], "mixed_up") == 0) mixed_up(false);
  if (std::strcmp(argv[1], "mixed_up_by_one") == 0) mixed_up(true);
  if (std::strcmp(argv[1], "other_root") == 0) other_root();
  if (std::strcmp(argv[1], "other_operation") == 0) other_operation();
  if (std::strcmp(argv[1], "one_call_ago") == 0) one_call_ago();
  if (std::strcmp(argv[1], "elsewhere") == 0) elsewhere(false, false, false);
  if (std::strcmp(argv[1], "elsewhere_freed") == 0) elsewhere(false, true, false);
  if (std::strcmp(argv[1], "elsewhere_on_one_host") == 0) elsewhere(true, false, false);
  if (std::strcmp(argv[1], "elsewhere_in_a_wait") == 0) elsewhere(true, false, true);
  if (std::strncmp(argv[1], "late_for_seconds", 16) == 0) late_for_seconds();
  if (std::strcmp(argv[1], "fatal") == 0) fatal(false);
  if (std::strcmp(argv[1], "fatal_on_one_host") == 0) fatal(true);
  if (std::strcmp(argv[1], "killed") == 0) killed(among(argv + 2, argv + argc), 0);
  if (std::strcmp(argv[1], "killed_host") == 0) killed(among(argv + 2, argv + argc), -1);
  MPI_Finalize();
}
