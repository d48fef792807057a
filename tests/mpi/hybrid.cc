// SPDX-License-Identifier: BSD-3-Clause
// A hybrid program: each rank computes with OpenMP's threads while a nonblocking collective is
// under way. Prints on which cores the progress thread may run, and on which the calling one was
// before.
#include <dirent.h>
#include <mpi.h>
#include <omp.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

// What /proc says of a thread of this process.
static std::string field(const char* thread, const char* name) {
  char path[300], line[256], value[200] = "";
  std::snprintf(path, sizeof path, "/proc/self/task/%s/status", thread);
  std::FILE* file = std::fopen(path, "r");
  const std::size_t length = std::strlen(name);
  while (file != nullptr && std::fgets(line, sizeof line, file) != nullptr)
    if (std::strncmp(line, name, length) == 0) std::sscanf(line + length, " %199s", value);
  if (file != nullptr) std::fclose(file);
  return value;
}

int main(int argc, char** argv) {
  const std::string mine = field(std::to_string(getpid()).c_str(), "Cpus_allowed_list:");
  MPI_Init(&argc, &argv);
  int rank = 0, ranks = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const std::size_t count = 1 << 20;
  std::vector<double> ones(count, 1), sum(count), own(count);
  MPI_Request request;
  MPI_Iallreduce(ones.data(), sum.data(), count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &request);
#pragma omp parallel for
  for (std::size_t i = 0; i < count; ++i) own[i] = ones[i] + 1;
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  bool right = true;
  for (std::size_t i = 0; i < count; ++i) right = right && sum[i] == ranks && own[i] == 2;
  std::string threads;
  DIR* tasks = opendir("/proc/self/task");
  while (const dirent* each = readdir(tasks))
    if (field(each->d_name, "Name:") == "tutti-progress")
      threads += " progress " + field(each->d_name, "Cpus_allowed_list:");
  closedir(tasks);
  std::printf("%s: calls on %s%s\n", right ? "right" : "wrong", mine.c_str(), threads.c_str());
  std::fflush(stdout);
  MPI_Finalize();
  return 0;
}
