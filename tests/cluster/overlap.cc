// SPDX-License-Identifier: BSD-3-Clause
// How much of a nonblocking collective goes on while its caller does something else, of the MPI
// alone and of Tutti, by turns in one job that asks for MPI_THREAD_MULTIPLE. Ranks sleep in place
// of computing: the cores of one machine are those of several hosts here, and so are free for
// whoever communicates, as a core of each host is that computes nothing.
//
//   overlap ROUNDS BYTES...
//
// Rank 0 prints a line for each collective, size and side: the call, the call with its MPI_Wait,
// and that with a sleep in between that is as long, in us, each the median of the slowest rank's;
// the sleep alone; and the part of the communication that cost no time, in percent.
#include <mpi.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "../mpi/bare.h"

namespace {

struct Buffers {
  char *send, *recv;
  int bytes;
  [[nodiscard]] int doubles() const { return bytes / 8; }
};

using Post = void (*)(const Buffers&, MPI_Request*);
struct Collective {
  const char* name;
  Post posts[2];  // the MPI's, Tutti's
};

#define NONBLOCKING(name, ...)                                                                 \
  {                                                                                            \
#name, {                                                                                   \
      [](const Buffers& b, MPI_Request* r) {                                                   \
        BARE(name)                                                                             \
        (__VA_ARGS__, MPI_COMM_WORLD, r);                                                      \
      },                                                                                       \
          [](const Buffers& b, MPI_Request* r) { MPI_##name(__VA_ARGS__, MPI_COMM_WORLD, r); } \
    }                                                                                          \
  }

const Collective collectives[] = {
    NONBLOCKING(Ibcast, b.recv, b.bytes, MPI_BYTE, 0),
    NONBLOCKING(Iallreduce, b.send, b.recv, b.doubles(), MPI_DOUBLE, MPI_SUM),
    NONBLOCKING(Ialltoall, b.send, b.bytes, MPI_BYTE, b.recv, b.bytes, MPI_BYTE),
};
const char* const sides[] = {"MPI", "Tutti"};

struct Times {
  std::vector<double> post, whole;
};

// Of one call, on the slowest rank.
void sample(const Collective& collective, int side, const Buffers& buffers, double sleep_us,
            Times& times) {
  BARE(Barrier)(MPI_COMM_WORLD);
  MPI_Request request;
  const double begin = MPI_Wtime();
  collective.posts[side](buffers, &request);
  const double posted = MPI_Wtime();
  if (sleep_us > 0) usleep(static_cast<useconds_t>(sleep_us));
  (side == 0 ? BARE(Wait) : MPI_Wait)(&request, MPI_STATUS_IGNORE);
  const double mine[] = {posted - begin, MPI_Wtime() - begin};
  double most[2];
  BARE(Allreduce)(mine, most, 2, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  times.post.push_back(most[0] * 1e6);
  times.whole.push_back(most[1] * 1e6);
}

double median(std::vector<double> times) {
  std::nth_element(times.begin(), times.begin() + times.size() / 2, times.end());
  return times[times.size() / 2];
}

void compare(const Collective& collective, const Buffers& buffers, int rounds, int rank) {
  Times pure[2], meanwhile[2];
  for (int round = 0; round < rounds; ++round)
    for (int side = 0; side < 2; ++side) sample(collective, side, buffers, 0, pure[side]);
  // The same for both, and not so short that waking up is what is measured.
  const double sleep_us = std::max(500.0, std::max(median(pure[0].whole), median(pure[1].whole)));
  std::vector<double> slept;
  for (int round = 0; round < rounds; ++round) {
    for (int side = 0; side < 2; ++side)
      sample(collective, side, buffers, sleep_us, meanwhile[side]);
    const double begin = MPI_Wtime();
    usleep(static_cast<useconds_t>(sleep_us));
    slept.push_back((MPI_Wtime() - begin) * 1e6);
  }
  for (int side = 0; rank == 0 && side < 2; ++side) {
    const double whole = median(pure[side].whole), together = median(meanwhile[side].whole);
    const double hidden = (whole + median(slept) - together) / std::min(whole, median(slept));
    std::printf("%s %d %s %.1f %.1f %.1f %.1f %.0f%%\n", collective.name, buffers.bytes,
                sides[side], median(pure[side].post), whole, together, median(slept),
                100 * std::clamp(hidden, 0.0, 1.0));
  }
}

}  // namespace

int main(int argc, char** argv) {
  int given, rank, ranks;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &given);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (given != MPI_THREAD_MULTIPLE) return std::puts("no MPI_THREAD_MULTIPLE"), 1;
  MPI_Barrier(MPI_COMM_WORLD);  // before it nonblocking collectives are the MPI's
  for (const Collective& collective : collectives)
    for (int i = 2; i < argc; ++i) {
      const int bytes = std::atoi(argv[i]);
      const auto all = static_cast<std::size_t>(bytes) * static_cast<std::size_t>(ranks);
      std::vector<char> send(all), recv(all);
      compare(collective, {send.data(), recv.data(), bytes}, std::atoi(argv[1]), rank);
    }
  MPI_Finalize();
  return 0;
}
