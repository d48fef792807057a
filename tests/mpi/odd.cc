// SPDX-License-Identifier: BSD-3-Clause
// Programs that do what few do: odd WHAT. Prints "odd: N wrong".
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>

#include "bare.h"
#include "every.h"

extern char** environ;

namespace {

int rank = 0, size = 0;

// What setproctitle does: the environment moves to the heap, and its old place is written over. And
// what a program does that hides its own variables from its children.
void scribble(int argc, char** argv) {
  std::vector<char*> moved;
  char *first = argv[0], *end = argv[argc - 1] + std::strlen(argv[argc - 1]) + 1;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    if (*entry == end) end += std::strlen(*entry) + 1;
    if (std::strncmp(*entry, "TUTTI_", 6) != 0) moved.push_back(strdup(*entry));
  }
  moved.push_back(nullptr);
  environ = static_cast<char**>(std::calloc(moved.size(), sizeof(char*)));
  std::memcpy(environ, moved.data(), moved.size() * sizeof(char*));
  std::memset(first, 'x', static_cast<std::size_t>(end - first) - 1);
}

// MPI_Alloc_mem with what MPI-4 lets a program ask for.
class Hints {
 public:
  explicit Hints(std::initializer_list<std::pair<const char*, std::string>> hints) {
    MPI_Info_create(&info_);
    for (const auto& [key, value] : hints) MPI_Info_set(info_, key, value.c_str());
  }
  ~Hints() { MPI_Info_free(&info_); }
  // A block of that size as it is asked for, or nullptr.
  [[nodiscard]] void* allocate(MPI_Aint bytes, std::size_t alignment) const {
    void* block = nullptr;
    if (MPI_Alloc_mem(bytes, info_, &block) != MPI_SUCCESS || block == nullptr) return nullptr;
    if (reinterpret_cast<std::uintptr_t>(block) % alignment == 0) return block;
    std::printf("WRONG: %p is not aligned to %zu\n", block, alignment);
    return nullptr;
  }

 private:
  MPI_Info info_ = MPI_INFO_NULL;
};

int error_class(int code) {
  int result = 0;
  MPI_Error_class(code, &result);
  return result;
}

int memory() {
  constexpr int count = 50'000, bytes = count * sizeof(int);
  int wrong = 0;
  void *block = nullptr, *old = nullptr;
  for (std::size_t alignment = 8; alignment <= std::size_t{1} << 24; alignment *= 8) {
    const Hints hints({{"mpi_minimum_memory_alignment", std::to_string(alignment)}});
    int *in = static_cast<int*>(hints.allocate(bytes, alignment)),
        *out = static_cast<int*>(hints.allocate(bytes, alignment));
    if (in == nullptr || out == nullptr) return 1;
    for (int i = 0; i < count; ++i) in[i] = rank + i;
    MPI_Allreduce(in, out, count, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    for (int i = 0; i < count; ++i) wrong += out[i] != size * (size - 1) / 2 + size * i;
    wrong += MPI_Free_mem(in) + MPI_Free_mem(out);
  }
  // What only the MPI understands, and what nobody does.
  for (const Hints& hints : {Hints({{"alloc_shared_noncontig", "true"}}), Hints({}),
                             Hints({{"mpi_minimum_memory_alignment", "64"}, {"whatever", "1"}})}) {
    block = hints.allocate(bytes, 1);
    wrong += block == nullptr || MPI_Free_mem(block) != MPI_SUCCESS;
  }
  // The MPI may have allocated it, and a tool may free what Tutti has.
  BARE(Alloc_mem)(bytes, MPI_INFO_NULL, &block);
  MPI_Alloc_mem(bytes, MPI_INFO_NULL, &old);
  wrong += MPI_Free_mem(block) + PMPI_Free_mem(old);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  block = nullptr;
  wrong += MPI_Alloc_mem(0, MPI_INFO_NULL, &block) + MPI_Free_mem(block);
  wrong += error_class(MPI_Alloc_mem(-1, MPI_INFO_NULL, &block)) != MPI_ERR_ARG;
  wrong += error_class(MPI_Alloc_mem(bytes, MPI_INFO_NULL, nullptr)) != MPI_ERR_ARG;
  return wrong;
}

#ifdef MPICH_NUMVERSION
#if MPICH_NUMVERSION >= 50000000 && !defined(MPI_ABI)
#define HAS_THREADCOMM
#endif
#endif

#ifdef HAS_THREADCOMM
// MPICH's communicators whose ranks are threads; and one that is made in its place, later.
int threadcomm() {
  constexpr int threads = 2;
  int wrong[threads] = {};
  MPI_Comm comm;
  MPIX_Threadcomm_init(MPI_COMM_WORLD, threads, &comm);
  const auto take_part = [&](int thread) {
    MPIX_Threadcomm_start(comm);
    int me = 0, all = 0;
    MPI_Comm_rank(comm, &me);
    MPI_Comm_size(comm, &all);
    for (int round = 0; round < 10; ++round) {
      int mine = me + round, sum = 0, root = me == 0 ? 70 + round : 0;
      MPI_Barrier(comm);
      MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, comm);
      MPI_Bcast(&root, 1, MPI_INT, 0, comm);  // of others MPICH 5.0 says that they are none
      wrong[thread] += (sum != all * (all - 1) / 2 + all * round) + (root != 70 + round);
    }
    MPI_Comm more;
    MPI_Comm_dup(comm, &more);
    int one = 1, sum = 0;
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, more);
    MPI_Comm_free(&more);
    wrong[thread] += all != threads * size || sum != all;
    MPIX_Threadcomm_finish(comm);
  };
  for (int round = 0; round < 2; ++round) {
    std::thread other(take_part, 1);
    take_part(0);
    other.join();
  }
  MPIX_Threadcomm_free(&comm);
  MPI_Comm again;
  MPI_Comm_dup(MPI_COMM_WORLD, &again);
  return wrong[0] + wrong[1] + try_and_free(again);
}
#else
int threadcomm() { return 0; }
#endif

}  // namespace

int main(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "";
  if (what == "title") scribble(argc, argv);
  int provided = 0;
  MPI_Init_thread(nullptr, nullptr, what == "threadcomm" ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE,
                  &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  int wrong = try_out(MPI_COMM_WORLD);
  if (what == "title") clearenv();
  if (what == "memory") wrong += memory();
  if (what == "threadcomm") wrong += threadcomm();
  wrong += try_out(MPI_COMM_WORLD);
  BARE(Allreduce)(MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  if (rank == 0) std::printf("odd: %d wrong\n", wrong);
  MPI_Finalize();
  return wrong != 0;
}
