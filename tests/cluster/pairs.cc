// SPDX-License-Identifier: BSD-3-Clause
// The MPI alone and Tutti by turns, in one job: rank 0 prints a line for each collective and size,
// with the name, the bytes, and the times of a call in us, the MPI's and Tutti's. Each is the
// median over turns of the slowest rank's. Of a nonblocking one that is the call with its
// MPI_Wait, and then there is a line for the call alone.
//
//   pairs TURNS SECONDS COLLECTIVE BYTES...
//       so many turns of each side at least, and some SECONDS for both; one collective, or "all",
//       which leaves Alltoallv out
#include <mpi.h>
#include <sched.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "../mpi/bare.h"

namespace {

struct Buffers {
  char *send, *recv;
  int bytes;
  // For each rank: the bytes of its block, and where that begins.
  std::vector<int> counts, places;
  [[nodiscard]] int doubles() const { return bytes / 8; }
};

struct Collective {
  const char* name;
  bool sized;
  void (*tutti)(const Buffers&);
  void (*bare)(const Buffers&);
};

#define COLLECTIVE(name, sized, ...)                      \
  {                                                       \
#name, sized, [](const Buffers& b) {                    \
      (void)b;                                              \
      MPI_##name(__VA_ARGS__);                              \
    },                                                      \
        [](const Buffers& b) {                              \
          (void)b;                                          \
          BARE(name)(__VA_ARGS__);                          \
        } \
  }

// Of nonblocking calls, in seconds, since it was set to 0.
double g_posting = 0;

template <class Post, class Wait>
void post_and_wait(Post post, Wait wait) {
  MPI_Request request;
  const double begin = MPI_Wtime();
  post(&request);
  g_posting += MPI_Wtime() - begin;
  wait(&request, MPI_STATUS_IGNORE);
}

#define NONBLOCKING(name, sized, ...)                                                          \
  {                                                                                            \
#name, sized, [](const Buffers& b) {                                                         \
      (void)b;                                                                                 \
      post_and_wait([&](MPI_Request* r) { MPI_##name(__VA_ARGS__, r); }, MPI_Wait);            \
    },                                                                                         \
        [](const Buffers& b) {                                                                 \
          (void)b;                                                                             \
          post_and_wait([&](MPI_Request* r) { BARE(name)(__VA_ARGS__, r); }, BARE(Wait));      \
        } \
  }

const Collective collectives[] = {
    COLLECTIVE(Barrier, false, MPI_COMM_WORLD),
    COLLECTIVE(Bcast, true, b.recv, b.bytes, MPI_BYTE, 0, MPI_COMM_WORLD),
    COLLECTIVE(Reduce, true, b.send, b.recv, b.doubles(), MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD),
    COLLECTIVE(Allreduce, true, b.send, b.recv, b.doubles(), MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD),
    COLLECTIVE(Gather, true, b.send, b.bytes, MPI_BYTE, b.recv, b.bytes, MPI_BYTE, 0,
               MPI_COMM_WORLD),
    COLLECTIVE(Scatter, true, b.send, b.bytes, MPI_BYTE, b.recv, b.bytes, MPI_BYTE, 0,
               MPI_COMM_WORLD),
    COLLECTIVE(Allgather, true, b.send, b.bytes, MPI_BYTE, b.recv, b.bytes, MPI_BYTE,
               MPI_COMM_WORLD),
    COLLECTIVE(Alltoall, true, b.send, b.bytes, MPI_BYTE, b.recv, b.bytes, MPI_BYTE,
               MPI_COMM_WORLD),
    COLLECTIVE(Alltoallv, true, b.send, b.counts.data(), b.places.data(), MPI_BYTE, b.recv,
               b.counts.data(), b.places.data(), MPI_BYTE, MPI_COMM_WORLD),
    COLLECTIVE(Reduce_scatter_block, true, b.send, b.recv, b.doubles(), MPI_DOUBLE, MPI_SUM,
               MPI_COMM_WORLD),
    COLLECTIVE(Scan, true, b.send, b.recv, b.doubles(), MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD),
    NONBLOCKING(Ibarrier, false, MPI_COMM_WORLD),
    NONBLOCKING(Ibcast, true, b.recv, b.bytes, MPI_BYTE, 0, MPI_COMM_WORLD),
    NONBLOCKING(Iallreduce, true, b.send, b.recv, b.doubles(), MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD),
};

// Both sides make as many calls in a turn, as those of some collectives overlap: so many that the
// faster side takes 4 ms. The other side comes before the machine is another one: half as fast, for
// minutes, on some. But the slower side takes 0.1 s at most.
constexpr double turn_seconds = 0.004, most_turn_seconds = 0.1;

// With TUTTI_NODES=auto it is known after so many calls of Tutti's who is faster, also where the
// first calls that are watched lead to another contest.
constexpr int warm_up = 900;
constexpr double most_warm_up_seconds = 1;

// Ranks that wait for others to begin or to end must not take the cores from those: of an MPI that
// spins, that would be most of what is measured, on both sides.
void meet(MPI_Request request) {
  for (int over = 0; BARE(Test)(&request, &over, MPI_STATUS_IGNORE) == MPI_SUCCESS && over == 0;)
    sched_yield();
}

double slowest(double seconds) {
  double most = 0;
  MPI_Request request;
  BARE(Iallreduce)(&seconds, &most, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD, &request);
  meet(request);
  return most;
}

double time_of(void (*call)(const Buffers&), const Buffers& buffers, int repeats) {
  MPI_Request request;
  BARE(Ibarrier)(MPI_COMM_WORLD, &request);
  meet(request);
  const double begin = MPI_Wtime();
  for (int i = 0; i < repeats; ++i) call(buffers);
  return slowest((MPI_Wtime() - begin) / repeats);
}

double median(std::vector<double>& times) {
  std::nth_element(times.begin(), times.begin() + times.size() / 2, times.end());
  return times[times.size() / 2];
}

void say(const char* name, const char* part, int bytes, std::vector<double> (&times)[2]) {
  std::printf("%s%s %d %.3f %.3f\n", name, part, bytes, median(times[0]) * 1e6,
              median(times[1]) * 1e6);
}

void compare(const Collective& collective, const Buffers& buffers, int least_turns, double seconds,
             int rank) {
  void (*const calls[])(const Buffers&) = {collective.bare, collective.tutti};
  std::vector<double> times[2], posts[2];
  double once[2] = {1e9, 1e9};
  for (int i = 0; i < 2; ++i) {
    constexpr int part = 9;
    const int calls_before = i == 0 ? part : warm_up;
    double spent = 0;
    for (int made = 0; made < calls_before && spent < most_warm_up_seconds; made += part) {
      const double each = time_of(calls[i], buffers, part);
      once[i] = std::min(once[i], each);
      spent += each * part;
    }
  }
  const auto& [least, most] = std::minmax(once[0], once[1]);
  const int repeats =
      std::max(static_cast<int>(std::min(turn_seconds / least, most_turn_seconds / most)), 1);
  const int turns = std::max(least_turns, static_cast<int>(seconds / (repeats * (least + most))));
  for (int turn = 0; turn < turns; ++turn)
    for (int i : {turn % 2, 1 - turn % 2}) {
      g_posting = 0;
      times[i].push_back(time_of(calls[i], buffers, repeats));
      posts[i].push_back(slowest(g_posting / repeats));
    }
  const bool posted = posts[0][0] > 0;
  if (rank == 0) say(collective.name, "", collective.sized ? buffers.bytes : 0, times);
  if (rank == 0 && posted)
    say(collective.name, "-post", collective.sized ? buffers.bytes : 0, posts);
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, ranks;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const int least_turns = std::atoi(argv[1]);
  const double seconds = std::atof(argv[2]);
  const bool all_of_them = std::strcmp(argv[3], "all") == 0;
  MPI_Barrier(
      MPI_COMM_WORLD);  // nonblocking collectives before the first blocking one are the MPI's
  bool found = false;
  for (const Collective& collective : collectives) {
    const bool one = std::strcmp(argv[3], collective.name) == 0;
    if (!one && (!all_of_them || std::strcmp(collective.name, "Alltoallv") == 0)) continue;
    found = true;
    for (int i = 4; i < argc && (collective.sized || i == 4); ++i) {
      const int bytes = std::atoi(argv[i]);
      const auto all = static_cast<std::size_t>(bytes) * static_cast<std::size_t>(ranks);
      std::vector<char> send(all), recv(all);
      Buffers buffers{send.data(), recv.data(), bytes, {}, {}};
      for (int other = 0; other < ranks; ++other) {
        buffers.counts.push_back(bytes);
        buffers.places.push_back(other * bytes);
      }
      compare(collective, buffers, least_turns, seconds, rank);
    }
  }
  MPI_Finalize();
  return found ? 0 : 2;
}
