// SPDX-License-Identifier: BSD-3-Clause
// What memory a rank takes for large collectives in place, beyond the buffer itself. While they
// run, a thread of each rank looks again and again at the rank's anonymous memory and at what its
// commons holds. (What others have mapped of it is in neither.) Each rank prints a line for each
// collective: the most that there was over what there was before, in KiB.
#include <dirent.h>
#include <mpi.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

namespace {

// Of the commons, if there is one.
int find_commons() {
  int found = -1;
  DIR* all = opendir("/proc/self/fd");
  while (const dirent* each = all != nullptr ? readdir(all) : nullptr) {
    char target[256] = "";
    const std::string path = std::string("/proc/self/fd/") + each->d_name;
    if (readlink(path.c_str(), target, sizeof target - 1) < 0) continue;
    if (std::strstr(target, "tutti-commons") != nullptr) {
      struct stat about {};
      if (stat(path.c_str(), &about) == 0 && about.st_size >= 1 << 30)
        found = std::atoi(each->d_name);
    }
  }
  if (all != nullptr) closedir(all);
  return found;
}

long memory_kib(int commons) {
  char line[256];
  long kib = 0;
  std::FILE* status = std::fopen("/proc/self/status", "r");
  while (status != nullptr && std::fgets(line, sizeof line, status) != nullptr)
    if (std::strncmp(line, "RssAnon:", 8) == 0) kib = std::atol(line + 8);
  if (status != nullptr) std::fclose(status);
  struct stat about {};
  if (commons >= 0 && fstat(commons, &about) == 0) kib += about.st_blocks / 2;
  return kib;
}

constexpr std::size_t bytes = std::size_t{64} << 20, numbers = bytes / sizeof(double);

// What lies at x[i] on each rank before, and after an Alltoall.
double value(int rank, std::size_t i) { return rank * 1e9 + static_cast<double>(i); }

}  // namespace

int main(int argc, char** argv) {
  int provided = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
  int rank = 0, size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const MPI_Comm comm = MPI_COMM_WORLD;
  std::vector<double> x(numbers);
  const int each = static_cast<int>(numbers) / size;
  // The columns of a matrix.
  const int rows = 2048, columns = static_cast<int>(numbers) / rows;
  MPI_Datatype strip, type;
  MPI_Type_vector(rows, columns / size, columns, MPI_DOUBLE, &strip);
  MPI_Type_create_resized(strip, 0, static_cast<MPI_Aint>(columns / size) * 8, &type);
  MPI_Type_commit(&type);
  std::vector<int> counts, places, byte_places, ones;
  for (int q = 0; q < size; ++q) {
    counts.push_back(each - (q == rank ? 8 : 0));
    places.push_back(q * each);
    byte_places.push_back(q * columns / size * 8);
    ones.push_back(1);
  }
  const std::vector<MPI_Datatype> types(static_cast<std::size_t>(size), type);

  const auto alltoall = [&] {
    MPI_Alltoall(MPI_IN_PLACE, 0, MPI_DOUBLE, x.data(), each, MPI_DOUBLE, comm);
  };
  const auto ialltoall = [&] {
    MPI_Request request;
    MPI_Ialltoall(MPI_IN_PLACE, 0, MPI_DOUBLE, x.data(), each, MPI_DOUBLE, comm, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  };
  const auto alltoallv = [&] {
    MPI_Alltoallv(MPI_IN_PLACE, nullptr, nullptr, MPI_DOUBLE, x.data(), counts.data(),
                  places.data(), MPI_DOUBLE, comm);
  };
  const auto alltoallw = [&] {
    MPI_Alltoallw(MPI_IN_PLACE, nullptr, nullptr, nullptr, x.data(), ones.data(),
                  byte_places.data(), types.data(), comm);
  };
  const std::vector<int> parts(static_cast<std::size_t>(size), each);
  const auto reduce_scatter = [&] {
    MPI_Reduce_scatter(MPI_IN_PLACE, x.data(), parts.data(), MPI_DOUBLE, MPI_SUM, comm);
  };
  const auto ireduce_scatter = [&] {
    MPI_Request request;
    MPI_Ireduce_scatter(MPI_IN_PLACE, x.data(), parts.data(), MPI_DOUBLE, MPI_SUM, comm, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  };
  const auto reduce_scatter_block = [&] {
    MPI_Reduce_scatter_block(MPI_IN_PLACE, x.data(), each, MPI_DOUBLE, MPI_SUM, comm);
  };

  int wrong = 0;
  const auto watch = [&](const char* name, int calls, auto call, auto right) {
    for (std::size_t i = 0; i < numbers; ++i) x[i] = value(rank, i);
    MPI_Barrier(comm);
    const int commons = find_commons();
    const long before = memory_kib(commons);
    std::atomic<long> most{before};
    std::atomic<bool> over{false};
    std::thread watcher([&] {
      while (!over.load()) {
        most = std::max(most.load(), memory_kib(commons));
        usleep(100);
      }
    });
    for (int i = 0; i < calls; ++i) call();
    over = true;
    watcher.join();
    std::size_t errors = 0;
    for (std::size_t i = 0; i < numbers; ++i) errors += !right(i);
    wrong += errors > 0;
    std::printf("in place: %s rank %d extra %ld KiB, %zu wrong\n", name, rank, most - before,
                errors);
    std::fflush(stdout);
    MPI_Barrier(comm);
  };
  // Three exchanges are one.
  const auto exchanged = [&](std::size_t i) {
    const int from = static_cast<int>(i) / each;
    const std::size_t there = i - static_cast<std::size_t>((from - rank) * each);
    return x[i] == value(from, there);
  };
  const auto exchanged_columns = [&](std::size_t i) {
    const int wide = columns / size, from = static_cast<int>(i) % columns / wide;
    const std::size_t there = i - static_cast<std::size_t>((from - rank) * wide);
    return x[i] == value(from, there);
  };
  const auto reduced = [&](std::size_t i) {
    if (i >= static_cast<std::size_t>(each)) return true;  // anybody's
    double sum = 0;
    for (int q = 0; q < size; ++q) sum += value(q, static_cast<std::size_t>(rank * each) + i);
    return x[i] == sum;
  };
  watch("Alltoall", 3, alltoall, exchanged);
  watch("Ialltoall", 3, ialltoall, exchanged);
  watch("Alltoallv", 3, alltoallv, exchanged);
  watch("Alltoallw", 3, alltoallw, exchanged_columns);
  watch("Reduce_scatter", 1, reduce_scatter, reduced);
  watch("Ireduce_scatter", 1, ireduce_scatter, reduced);
  watch("Reduce_scatter_block", 1, reduce_scatter_block, reduced);
  MPI_Type_free(&strip);
  MPI_Type_free(&type);
  MPI_Finalize();
  return wrong;
}
