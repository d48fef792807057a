// SPDX-License-Identifier: BSD-3-Clause
// What others hold of rank 1, which has gone: rank 0 says how many ranks' commons it has mapped
// before, and then, when that has become less. `gone finalized|calls`.
#include <mpi.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <set>
#include <string>
#include <vector>

namespace {

std::size_t mapped() {
  std::ifstream maps("/proc/self/maps");
  std::set<std::string> files;  // device and inode
  for (std::string line; std::getline(maps, line);) {
    char device[32] = "", inode[32] = "";
    if (line.find("tutti-commons") != std::string::npos &&
        std::sscanf(line.c_str(), "%*s %*s %*s %31s %31s", device, inode) == 2)
      files.insert(std::string(device) + ' ' + inode);
  }
  return files.size();
}

void wait_until(std::size_t left) {
  for (int i = 0; i < 10'000 && mapped() > left; ++i) usleep(1000);
  std::printf("gone: then %zu\n", mapped());
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string how = argc > 1 ? argv[1] : "";
  MPI_Init(&argc, &argv);
  int rank = 0, size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm kept, others;  // never freed
  MPI_Comm_dup(MPI_COMM_WORLD, &kept);
  MPI_Comm_split(MPI_COMM_WORLD, rank == 1, 0, &others);
  std::vector<char> block(std::size_t{1} << 20, static_cast<char>(rank));
  MPI_Bcast(block.data(), static_cast<int>(block.size()), MPI_CHAR, 1, kept);
  if (rank == 0) std::printf("gone: first %zu, read %d\n", mapped(), block.back());
  MPI_Barrier(MPI_COMM_WORLD);
  if (how == "finalized") {
    MPI_Finalize();
    if (rank == 0) wait_until(1);
    return 0;
  }
  // The launcher hears nothing of it as long as the process lives.
  if (rank == 1) execl("/bin/sleep", "sleep", "3", nullptr);
  const auto left = static_cast<std::size_t>(size) - 1;
  for (int goes_on = 1; goes_on != 0; usleep(1000)) {
    int mine = mapped() > left;
    MPI_Allreduce(&mine, &goes_on, 1, MPI_INT, MPI_MAX, others);
  }
  if (rank == 0) wait_until(left);
  if (rank != 0) sleep(3);
  _exit(0);
}
