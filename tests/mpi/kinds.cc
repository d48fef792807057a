// SPDX-License-Identifier: BSD-3-Clause
// Memory of every kind as buffers of all collectives: kinds [BYTES]. Prints "way KIND WAY" for
// large Allreduces, and "kinds: N wrong".
#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <thread>

#include "bare.h"
#include "every.h"

namespace {

constexpr int most = 40000;
constexpr int static_ranks = 8;
int g_rank = 0, g_size = 0, g_wrong = 0;
int g_static[2][most * static_ranks];
const char* (*g_last_way)() = nullptr;

void try_out(const char* kind, int* out, int* in, std::function<void(bool)> protect = {}) {
  Every every(MPI_COMM_WORLD, out, in, std::move(protect));
  for (const int n : {1, 50, 3000, most}) g_wrong += every.all(n, static_cast<unsigned>(n));
  g_wrong += every.run(3, most, 1);
  if (g_rank == 0 && g_last_way != nullptr) std::printf("way %s %s\n", kind, g_last_way());
}

std::size_t bytes() { return sizeof(int) * most * static_cast<std::size_t>(g_size); }
std::size_t page_rounded() { return (bytes() + 4095) / 4096 * 4096; }

void alloc_mem() {
  int *out = nullptr, *in = nullptr;
  MPI_Alloc_mem(static_cast<MPI_Aint>(bytes()), MPI_INFO_NULL, &out);
  MPI_Alloc_mem(static_cast<MPI_Aint>(bytes()), MPI_INFO_NULL, &in);
  try_out("alloc_mem", out, in);
  MPI_Free_mem(in);
  MPI_Free_mem(out);
}

// The MPI's own memory, in which it also moves data by itself.
void windows() {
  const auto size = static_cast<MPI_Aint>(2 * bytes());
  const int unit = sizeof(int);
  int* base = nullptr;
  MPI_Win window;
  MPI_Win_allocate(size, unit, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &window);
  try_out("win_allocate", base, base + bytes() / sizeof(int));
  MPI_Win_free(&window);
  MPI_Comm node;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
  MPI_Win_allocate_shared(size, unit, MPI_INFO_NULL, node, &base, &window);
  try_out("win_allocate_shared", base, base + bytes() / sizeof(int));
  // And from a neighbour's part, as programs with shared memory do: all write to other places.
  int members = 0, me = 0, its_unit = 0;
  MPI_Aint its_size = 0;
  MPI_Comm_size(node, &members);
  MPI_Comm_rank(node, &me);
  MPI_Barrier(node);  // only then is nobody's own part in use any more
  MPI_Win_shared_query(window, (me + 1) % members, &its_size, &its_unit, &base);
  try_out("shared_of_another", base, base + bytes() / sizeof(int));
  MPI_Win_free(&window);
  MPI_Comm_free(&node);
}

void on_stack(const char* kind) {
  int buffers[2][most * 2];
  if (g_size <= 2) try_out(kind, buffers[0], buffers[1]);
}

// A file of its own, written through a shared mapping and a private one.
void files() {
  char name[] = "/tmp/tutti-kinds-XXXXXX";
  const int file = mkstemp(name);
  unlink(name);
  if (file < 0 || ftruncate(file, static_cast<off_t>(2 * page_rounded())) != 0) std::abort();
  for (const int flag : {MAP_SHARED, MAP_PRIVATE}) {
    void* base = mmap(nullptr, 2 * page_rounded(), PROT_READ | PROT_WRITE, flag, file, 0);
    int* out = static_cast<int*>(base);
    try_out(flag == MAP_SHARED ? "shared_file" : "private_file", out,
            out + page_rounded() / sizeof(int));
    munmap(base, 2 * page_rounded());
  }
  close(file);
}

// What is sent may be read-only: a page that nobody may write, or a constant.
void read_only() {
  for (const int flag : {MAP_PRIVATE, MAP_SHARED}) {
    void* out = mmap(nullptr, page_rounded(), PROT_READ | PROT_WRITE, flag | MAP_ANONYMOUS, -1, 0);
    std::vector<int> in(bytes() / sizeof(int));
    try_out("read_only", static_cast<int*>(out), in.data(), [&](bool protect) {
      mprotect(out, page_rounded(), protect ? PROT_READ : PROT_READ | PROT_WRITE);
    });
    munmap(out, page_rounded());
  }
  // The same for the heap, where Tutti has it in the commons.
  const std::size_t padded = page_rounded() + 4096;
  void* block = nullptr;
  if (posix_memalign(&block, 4096, padded) != 0) std::abort();
  std::vector<int> in(bytes() / sizeof(int));
  try_out("read_only_heap", static_cast<int*>(block), in.data(), [&](bool protect) {
    mprotect(block, page_rounded(), protect ? PROT_READ : PROT_READ | PROT_WRITE);
  });
  std::free(block);
  static const int constants[] = {1, 2, 3, 4};
  int sums[4] = {};
  MPI_Allreduce(constants, sums, 4, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  for (int i = 0; i < 4; ++i) g_wrong += sums[i] != constants[i] * g_size;
}

// Each rank has its buffers in memory of another kind.
void mixed() {
  int *window = nullptr, *memory = nullptr;
  MPI_Win handle;
  MPI_Win_allocate(static_cast<MPI_Aint>(bytes()), 4, MPI_INFO_NULL, MPI_COMM_WORLD, &window,
                   &handle);
  MPI_Alloc_mem(static_cast<MPI_Aint>(bytes()), MPI_INFO_NULL, &memory);
  try_out("mixed", g_rank % 2 == 0 ? window : g_static[0], g_rank % 2 == 0 ? g_static[1] : memory);
  MPI_Free_mem(memory);
  MPI_Win_free(&handle);
}

}  // namespace

int main(int argc, char** argv) {
  int provided = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &g_rank);
  MPI_Comm_size(MPI_COMM_WORLD, &g_size);
  g_last_way = reinterpret_cast<const char* (*)()>(dlsym(RTLD_DEFAULT, "tutti_last_way"));
  std::vector<int> heap(2 * bytes() / sizeof(int));
  try_out("heap", heap.data(), heap.data() + bytes() / sizeof(int));
  alloc_mem();
  windows();
  on_stack("stack");
  if (provided == MPI_THREAD_MULTIPLE) std::thread(on_stack, "thread_stack").join();
  if (g_size <= static_ranks) try_out("static", g_static[0], g_static[1]);
  files();
  read_only();
  mixed();
  BARE(Allreduce)(MPI_IN_PLACE, &g_wrong, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (g_rank == 0) std::printf("kinds: %d wrong\n", g_wrong);
  MPI_Finalize();
  return g_wrong != 0;
}
