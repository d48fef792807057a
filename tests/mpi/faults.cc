// SPDX-License-Identifier: BSD-3-Clause
// What goes wrong on purpose: faults WHAT. Each ends by itself; test_faults.py says how it should.
#include <dirent.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <mpi.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "bare.h"

namespace {

int rank = 0, size = 0;
constexpr int count = 1 << 18;

// Rank 1 is killed while the others wait for it inside a collective.
int killed() {
  std::vector<float> in(count, 1.0f), out(count);
  for (int i = 0;; ++i) {
    if (rank == 1 && i == 20) kill(getpid(), SIGKILL);
    MPI_Allreduce(in.data(), out.data(), count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
  }
}

// Rank 1 leaves without a word, so that no launcher sees a signal.
int left() {
  int one = 1, sum = 0;
  MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 1) _exit(0);
  MPI_Barrier(MPI_COMM_WORLD);
  return 0;
}

// Rank 0 broadcasts, the others reduce.
int mismatched() {
  int in = 1, out = 0;
  if (rank == 0)
    MPI_Bcast(&in, 1, MPI_INT, 0, MPI_COMM_WORLD);
  else
    MPI_Allreduce(&in, &out, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Barrier(MPI_COMM_WORLD);
  return 0;
}

// What an error handler that returns gets to see, on this rank.
int class_of(int code) {
  int error_class = 0;
  if (code != MPI_SUCCESS) MPI_Error_class(code, &error_class);
  return error_class;
}

// Different operations, on a communicator whose errors return: it lives on, and so do others.
int returned() {
  MPI_Comm comm;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  int in = 1, out = 0, sum = 0;
  const int first = MPI_Allreduce(&in, &out, 1, MPI_INT, rank == 0 ? MPI_MAX : MPI_SUM, comm);
  const int second = MPI_Barrier(comm);
  MPI_Comm_free(&comm);
  MPI_Allreduce(&in, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  const bool right = class_of(first) == MPI_ERR_OTHER && second == MPI_SUCCESS && sum == size;
  if (!right) std::printf("rank %d: %d then %d, sum %d\n", rank, first, second, sum);
  return !right;
}

// Rank 1 sends more than rank 0 has room for; nothing is written beyond that room. By a call that
// blocks, or by one that is `started` and waited for.
int truncated(bool started) {
  int wrong = 0;
  for (const int n : {10, 1000, 10'000, 1'000'000}) {
    MPI_Comm comm;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    std::vector<int> in(2 * n, rank + 1), out(4 * n + 16, -1), counts(size, n), places(size);
    for (int i = 0; i < size; ++i) places[i] = i * n;
    const int mine = rank == 1 ? n + 1 : n;
    int code = 0;
    if (started) {
      MPI_Request request;
      MPI_Igatherv(in.data(), mine, MPI_INT, out.data(), counts.data(), places.data(), MPI_INT, 0,
                   comm, &request);
      code = MPI_Wait(&request, MPI_STATUS_IGNORE);
    } else {
      code = MPI_Gatherv(in.data(), mine, MPI_INT, out.data(), counts.data(), places.data(),
                         MPI_INT, 0, comm);
    }
    if (rank == 0 && (class_of(code) != MPI_ERR_TRUNCATE || out[size * n] != -1)) {
      std::printf("%d elements: code %d, behind the buffer %d\n", n, code, out[size * n]);
      ++wrong;
    }
    BARE(Barrier)(MPI_COMM_WORLD);
    MPI_Comm_free(&comm);
  }
  return wrong != 0;
}

// Rank 1 gives up while the others wait for it.
int aborted() {
  std::vector<float> in(count, 1.0f), out(count);
  for (int i = 0;; ++i) {
    if (rank == 1 && i == 20) MPI_Abort(MPI_COMM_WORLD, 7);
    MPI_Allreduce(in.data(), out.data(), count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
  }
}

int mappings_of(const char* name) {
  int found = 0;
  char line[512];
  FILE* file = std::fopen("/proc/self/maps", "r");
  while (file != nullptr && std::fgets(line, sizeof line, file) != nullptr)
    found += std::strstr(line, name) != nullptr;
  if (file != nullptr) std::fclose(file);
  return found;
}

// After MPI_Finalize nothing of the node is held any more, and memory from before is still good.
int finalized() {
  std::vector<int> in(count, rank), out(count);
  MPI_Comm copy;
  MPI_Comm_dup(MPI_COMM_WORLD, &copy);
  MPI_Allreduce(in.data(), out.data(), count, MPI_INT, MPI_SUM, copy);
  MPI_Barrier(MPI_COMM_SELF);
  MPI_Comm_free(&copy);
  const int during = mappings_of("tutti-segment");
  MPI_Finalize();
  const int after = mappings_of("tutti-segment");
  for (int& value : in) value += 1;
  in.resize(4 * count);
  if (rank == 0) std::printf("finalized: %d then %d mappings\n", during, after);
  return during == 0 || after != 0 || in[5] != rank + 1;
}

// Rank 0 sends itself more than it has room for: few bytes where many were agreed upon, and many.
int selfish() {
  int wrong = 0;
  for (const int room : {1, 10, 1000, 10'000}) {
    const int sent = 200 * room;
    for (int kind = 0; kind < 4; ++kind) {
      MPI_Comm comm;
      MPI_Comm_dup(MPI_COMM_WORLD, &comm);
      MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
      std::vector<int> in(static_cast<std::size_t>(sent * size), rank + 1);
      std::vector<int> out(static_cast<std::size_t>(room * size + 16), -1);
      const bool all = kind >= 2;  // there everyone does so
      const int out_count = rank == 0 || all ? sent : room;
      int code = 0;
      if (kind == 0)
        code = MPI_Gather(in.data(), out_count, MPI_INT, out.data(), room, MPI_INT, 0, comm);
      if (kind == 1)
        code = MPI_Scatter(in.data(), sent, MPI_INT, out.data(), room, MPI_INT, 0, comm);
      if (kind == 2)
        code = MPI_Allgather(in.data(), sent, MPI_INT, out.data(), room, MPI_INT, comm);
      if (kind == 3) code = MPI_Alltoall(in.data(), sent, MPI_INT, out.data(), room, MPI_INT, comm);
      const int behind = kind == 1 ? room : room * size;
      if (rank == 0 && (class_of(code) != MPI_ERR_TRUNCATE || out[behind] != -1)) {
        std::printf("kind %d, room %d: code %d, behind it %d\n", kind, room, code, out[behind]);
        ++wrong;
      }
      BARE(Barrier)(MPI_COMM_WORLD);
      MPI_Comm_free(&comm);
    }
  }
  return wrong != 0;
}

// Rank 1 is killed with a collective under way that the others wait for.
int started_killed() {
  std::vector<float> in(count, 1.0f), out(count);
  for (int i = 0;; ++i) {
    MPI_Request request;
    if (rank == 1 && i == 20) kill(getpid(), SIGKILL);
    MPI_Iallreduce(in.data(), out.data(), count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
}

int started_left() {
  MPI_Request request;
  for (int i = 0; i < 20; ++i) {
    if (rank == 1 && i == 19) _exit(0);
    MPI_Ibarrier(MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
  return 0;
}

// Rank 0 broadcasts, the others reduce.
int started_mismatched() {
  int in = 1, out = 0;
  MPI_Request request;
  if (rank == 0)
    MPI_Ibcast(&in, 1, MPI_INT, 0, MPI_COMM_WORLD, &request);
  else
    MPI_Iallreduce(&in, &out, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Barrier(MPI_COMM_WORLD);
  return 0;
}

// The same where errors return, by each function that completes a request; what was started after
// it fails too, and another communicator lives on.
int started_returned() {
  int wrong = 0;
  for (int way = 0; way < 4; ++way) {
    MPI_Comm comm;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    int in = 1, out = 0, sum = 0, code = 0, done = 0;
    MPI_Request both[2];
    MPI_Iallreduce(&in, &out, 1, MPI_INT, rank == 0 ? MPI_MAX : MPI_SUM, comm, &both[0]);
    const int begun = MPI_Ibarrier(comm, &both[1]);
    if (way == 0) code = MPI_Wait(&both[0], MPI_STATUS_IGNORE);
    while (way == 1 && !done) code = MPI_Test(&both[0], &done, MPI_STATUS_IGNORE);
    MPI_Status statuses[2];
    if (way == 2) {
      const int all = MPI_Waitall(2, both, statuses);
      code = class_of(all) == MPI_ERR_IN_STATUS ? statuses[0].MPI_ERROR : all;
    }
    if (way == 3) code = MPI_Waitany(1, both, &done, MPI_STATUS_IGNORE);
    const int second = way == 2 ? statuses[1].MPI_ERROR : MPI_Wait(&both[1], MPI_STATUS_IGNORE);
    MPI_Comm_free(&comm);
    MPI_Allreduce(&in, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    // The second has failed with the first on all, or was left to the MPI by all.
    int own = class_of(begun != MPI_SUCCESS ? begun : second), most = 0;
    MPI_Allreduce(&own, &most, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    const bool right = class_of(code) == MPI_ERR_OTHER && own == most && sum == size &&
                       (own == MPI_SUCCESS || own == MPI_ERR_OTHER);
    if (!right) std::printf("rank %d, way %d: %d then %d, sum %d\n", rank, way, code, second, sum);
    wrong += !right;
  }
  return wrong != 0;
}

// Requests that nobody waits for come to their end in MPI_Finalize, and nothing is held after it.
int started_finalized() {
  static std::vector<int> in(count, rank), out(count);
  MPI_Comm copy;
  MPI_Comm_dup(MPI_COMM_WORLD, &copy);
  MPI_Request requests[2];
  MPI_Iallreduce(in.data(), out.data(), count, MPI_INT, MPI_SUM, copy, &requests[0]);
  MPI_Ibarrier(MPI_COMM_WORLD, &requests[1]);
  MPI_Request_free(&requests[0]);
  MPI_Request_free(&requests[1]);
  MPI_Comm_free(&copy);
  MPI_Finalize();
  const int after = mappings_of("tutti-segment");
  const bool right = out[5] == size * (size - 1) / 2 && after == 0;
  if (!right) std::printf("rank %d: %d, %d mappings\n", rank, out[5], after);
  return !right;
}

// From here on this process cannot reach another's memory.
bool deny_copies() {
  constexpr unsigned load = BPF_LD | BPF_W | BPF_ABS, same = BPF_JMP | BPF_JEQ | BPF_K;
  sock_filter program[] = {{load, 0, 0, 0},
                           {same, 1, 0, SYS_process_vm_readv},
                           {same, 0, 1, SYS_process_vm_writev},
                           {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ERRNO | EPERM},
                           {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW}};
  const sock_fprog filter{sizeof program / sizeof *program, program};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

void add_spread(void* in, void* inout, int* length, MPI_Datatype*) {
  for (int i = 0; i < 2 * *length; i += 2) static_cast<int*>(inout)[i] += static_cast<int*>(in)[i];
}

// Rank 0 is a call ahead, which nobody notices: each rank has taken itself for the root. The call
// that meets is a Reduce_scatter in place, which fails on rank 1. Rank 0, whose result may be there
// by then, in the place of its operand, must not leave it to the MPI.
int replaced() {
  MPI_Comm comm;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  MPI_Barrier(comm);
  std::vector<char> pieces(6 << 10);
  if (rank == 0)
    for (int i = 0; i < 2; ++i) MPI_Bcast(pieces.data(), 4, MPI_CHAR, 0, comm);
  else
    MPI_Bcast(pieces.data(), static_cast<int>(pieces.size()), MPI_CHAR, 1, comm);
  MPI_Datatype spread;
  MPI_Type_create_resized(MPI_INT, 0, 2 * sizeof(int), &spread);
  MPI_Type_commit(&spread);
  MPI_Op sum;
  MPI_Op_create(add_spread, 1, &sum);
  const int counts[] = {1, 8 * count};
  std::vector<int> data(2 * static_cast<std::size_t>(counts[0] + counts[1]), 1 + rank);
  if (rank == 1 && !deny_copies()) return 3;
  int code = MPI_Reduce_scatter(MPI_IN_PLACE, data.data(), counts, spread, sum, comm);
  // If it is the MPI's on rank 0, that is waiting for this.
  if (rank == 1) MPI_Reduce_scatter(MPI_IN_PLACE, data.data(), counts, spread, sum, comm);
  if (rank == 1) return code == MPI_SUCCESS;
  const bool right = code != MPI_SUCCESS || data[0] == 3;
  if (!right) std::printf("rank 0 has succeeded, with %d\n", data[0]);
  return !right;
}

// Each rank takes itself for the root, which nobody notices but by looking.
int rooted() {
  int value = rank;
  MPI_Bcast(&value, 1, MPI_INT, rank, MPI_COMM_WORLD);
  return 0;
}

// Children are forked between collectives; what they write must not reach the parent nor its
// peers, and what the parent receives must not reach them.
int forked() {
  std::vector<float> in(count), out(count);
  int wrong = 0;
  for (int round = 0; round < 10; ++round) {
    const float mine = static_cast<float>(rank + round);
    std::fill(in.begin(), in.end(), mine);
    std::fill(out.begin(), out.end(), -1.0f);
    int ready[2], go[2];
    if (pipe(ready) != 0 || pipe(go) != 0) return 2;
    const pid_t child = fork();
    if (child == 0) {
      std::fill(in.begin(), in.end(), 1e6f);
      char byte = 1;
      if (write(ready[1], &byte, 1) != 1 || read(go[0], &byte, 1) != 1) _exit(2);
      bool clean = in[5] == 1e6f;
      for (float x : out) clean = clean && x == -1.0f;
      _exit(clean ? 0 : 1);
    }
    char byte;
    if (read(ready[0], &byte, 1) != 1) return 2;
    MPI_Allreduce(in.data(), out.data(), count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    const float expected = static_cast<float>(size * (size - 1) / 2 + size * round);
    for (float x : out) wrong += x != expected;
    if (write(go[1], &byte, 1) != 1) return 2;
    int status = 0;
    waitpid(child, &status, 0);
    wrong += status != 0;
    for (int fd : {ready[0], ready[1], go[0], go[1]}) close(fd);
  }
  MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) std::printf("forked: %d wrong\n", wrong);
  return wrong != 0;
}

long resident_kib() {
  long pages = 0;
  if (FILE* file = std::fopen("/proc/self/statm", "r")) {
    if (std::fscanf(file, "%*s %ld", &pages) != 1) pages = 0;
    std::fclose(file);
  }
  return pages * 4;
}

int descriptors() {
  int count = 0;
  DIR* directory = opendir("/proc/self/fd");
  while (directory != nullptr && readdir(directory) != nullptr) ++count;
  if (directory != nullptr) closedir(directory);
  return count;
}

// Thousands of communicators are made, used and freed; memory and descriptors stay flat.
int communicators() {
  long before = 0;
  int open_before = 0;
  int wrong = 0;
  for (int i = 0; i < 10000; ++i) {
    if (i == 1000) before = resident_kib();
    if (i == 1000) open_before = descriptors();
    MPI_Comm copy;
    if (i % 3 == 0)
      MPI_Comm_split(MPI_COMM_WORLD, i % 2, -rank, &copy);
    else
      MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    int one = 1, sum = 0;
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, copy);
    wrong += sum != size;
    MPI_Comm_free(&copy);
  }
  const long grown = resident_kib() - before;
  wrong += descriptors() > open_before;
  MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) std::printf("communicators: %d wrong, grown by %ld KiB\n", wrong, grown);
  return wrong != 0;
}

// Counts whose bytes pass 2^31.
int large() {
  constexpr int elements = (1 << 29) + 12345;  // of 4 bytes
  std::vector<int> data(elements);
  int wrong = 0;
  for (int i = 0; i < elements; ++i) data[i] = rank == 0 ? i : -1;
  MPI_Bcast(data.data(), elements, MPI_INT, 0, MPI_COMM_WORLD);
  for (int i = 0; i < elements; ++i) wrong += data[i] != i;
  MPI_Allreduce(MPI_IN_PLACE, data.data(), elements, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  for (int i = 0; i < elements; ++i) wrong += data[i] != i;
  MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) std::printf("large: %d wrong\n", wrong);
  return wrong != 0;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const std::string what = argc > 1 ? argv[1] : "";
  int result = 2;
  if (what == "killed") result = killed();
  if (what == "left") result = left();
  if (what == "mismatched") result = mismatched();
  if (what == "returned") result = returned();
  if (what == "truncated") result = truncated(false);
  if (what == "aborted") result = aborted();
  if (what == "finalized") return finalized();
  if (what == "selfish") result = selfish();
  if (what == "started_killed") result = started_killed();
  if (what == "started_left") result = started_left();
  if (what == "started_mismatched") result = started_mismatched();
  if (what == "started_returned") result = started_returned();
  if (what == "started_truncated") result = truncated(true);
  if (what == "started_finalized") return started_finalized();
  if (what == "replaced") result = replaced();
  if (what == "rooted") result = rooted();
  if (what == "forked") result = forked();
  if (what == "communicators") result = communicators();
  if (what == "large") result = large();
  MPI_Finalize();
  return result;
}
