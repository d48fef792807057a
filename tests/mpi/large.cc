// SPDX-License-Identifier: BSD-3-Clause
// Counts, displacements and datatypes beyond 2^31, in the large forms where the MPI has them:
// large WHAT. Prints "large: N wrong".
#include <mpi.h>
#include <sys/mman.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "bare.h"

namespace {

using Size = std::size_t;

int rank = 0, size = 0;
constexpr Size beyond = (Size{1} << 31) + 12352;  // bytes

// Memory that costs what is touched of it; from malloc, and so in the commons, or not.
template <class T>
struct Space {
  Space(Size count, bool heap) : bytes(count * sizeof(T)), on_heap(heap) {
    data = static_cast<T*>(heap ? std::malloc(bytes)
                                : mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
    if (data == nullptr || data == MAP_FAILED) std::abort();
  }
  ~Space() { on_heap ? std::free(data) : void(munmap(data, bytes)); }
  Space(const Space&) = delete;
  Space& operator=(const Space&) = delete;
  T* data;
  Size bytes;
  bool on_heap;
};

std::uint64_t word(Size i, int of) { return i * 0x9e3779b97f4a7c15u + static_cast<Size>(of); }
void fill(std::uint64_t* words, Size bytes, int of) {
  for (Size i = 0; i < bytes / 8; ++i) words[i] = word(i, of);
}
int count_wrong(const std::uint64_t* words, Size bytes, int of) {
  Size wrong = 0;
  for (Size i = 0; i < bytes / 8; ++i) wrong += words[i] != word(i, of);
  return wrong > 1000 ? 1000 : static_cast<int>(wrong);
}

// One element of a datatype that is larger than 2^31 bytes; the sender's has a gap.
int datatypes() {
  Space<std::uint64_t> space(beyond / 8 + 64, true);
  MPI_Datatype whole, halves;
  constexpr int words = beyond / 8;
  MPI_Type_contiguous(words, MPI_UINT64_T, &whole);
  MPI_Type_vector(2, words / 2, words / 2 + 8, MPI_UINT64_T, &halves);
  MPI_Type_commit(&whole);
  MPI_Type_commit(&halves);
  if (rank == 0) fill(space.data, beyond + 64, 5);
  MPI_Bcast(space.data, 1, rank == 0 ? halves : whole, 0, MPI_COMM_WORLD);
  int wrong = 0;
  for (Size i = 0; rank != 0 && i < words && wrong < 1000; ++i)
    wrong += space.data[i] != word(i < words / 2 ? i : i + 8, 5);
  MPI_Type_free(&whole);
  MPI_Type_free(&halves);
  return wrong;
}

// One element that only the MPI packs.
int opaque() {
  Space<std::uint64_t> space(beyond / 8, true);
  const int words = beyond / 8, spread = MPI_DISTRIBUTE_BLOCK, even = MPI_DISTRIBUTE_DFLT_DARG;
  const int one = 1;
  MPI_Datatype dealt;
  MPI_Type_create_darray(1, 0, 1, &words, &spread, &even, &one, MPI_ORDER_C, MPI_UINT64_T, &dealt);
  MPI_Type_commit(&dealt);
  if (rank == 0) fill(space.data, beyond, 7);
  // Each of them packs once.
  if (rank == 0)
    MPI_Bcast(space.data, 1, dealt, 0, MPI_COMM_WORLD);
  else
    MPI_Bcast(space.data, words, MPI_UINT64_T, 0, MPI_COMM_WORLD);
  int wrong = count_wrong(space.data, beyond, 7);
  if (rank == 1) fill(space.data, beyond, 8);
  if (rank == 0)
    MPI_Bcast(space.data, 1, dealt, 1, MPI_COMM_WORLD);
  else
    MPI_Bcast(space.data, words, MPI_UINT64_T, 1, MPI_COMM_WORLD);
  wrong += count_wrong(space.data, beyond, 8);
  MPI_Type_free(&dealt);
  return wrong;
}

#if MPI_VERSION >= 4
int counts() {
  Space<std::uint64_t> space(beyond / 8, true);
  auto* bytes = reinterpret_cast<std::uint8_t*>(space.data);
  fill(space.data, beyond, rank == 1 ? 5 : 6);
  MPI_Bcast_c(space.data, beyond, MPI_BYTE, 1, MPI_COMM_WORLD);
  int wrong = count_wrong(space.data, beyond, 5);
  bytes[beyond - 1] = static_cast<std::uint8_t>(rank);
  MPI_Allreduce_c(MPI_IN_PLACE, space.data, beyond, MPI_UINT8_T, MPI_MAX, MPI_COMM_WORLD);
  wrong += bytes[beyond - 1] != size - 1;
  bytes[beyond - 1] = static_cast<std::uint8_t>(word(beyond / 8 - 1, 5) >> 56);
  return wrong + count_wrong(space.data, beyond, 5);
}

// Blocks that pass 2^31 together, in place.
int blocks() {
  const Size each = beyond / 2 / 8;
  Space<std::uint64_t> space(each * static_cast<Size>(size), true);
  fill(space.data + static_cast<Size>(rank) * each, each * 8, rank);
  MPI_Allgather_c(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, space.data, each, MPI_UINT64_T,
                  MPI_COMM_WORLD);
  int wrong = 0;
  for (int i = 0; i < size; ++i)
    wrong += count_wrong(space.data + static_cast<Size>(i) * each, each * 8, i);
  return wrong;
}

// Small blocks far apart.
int displacements() {
  int wrong = 0;
  for (const bool heap : {false, true}) {
    const Size far = (Size{1} << 31) + 77;  // elements, so 8 GiB
    constexpr int most = 30000;
    Space<int> out(far + most * 16, heap), in(far + most * 16, heap);
    for (const int n : {3, 2000, most}) {
      MPI_Count counts[16];
      MPI_Aint places[16], byte_places[16];
      MPI_Datatype types[16];
      for (int i = 0; i < size; ++i) {
        counts[i] = n;
        places[i] = i == 0 ? 0 : static_cast<MPI_Aint>(far) + i * n;
        byte_places[i] = 4 * places[i];
        types[i] = MPI_INT;
        for (int k = 0; k < n; ++k) out.data[places[i] + k] = rank * 100 + i * 10 + k % 7;
      }
      const auto check = [&](bool all) {
        for (int i = 0; i < size; ++i)
          for (int k = 0; k < n; ++k) {
            wrong += in.data[places[i] + k] != i * 100 + (all ? 0 : rank) * 10 + k % 7;
            in.data[places[i] + k] = -1;
          }
      };
      MPI_Alltoallv_c(out.data, counts, places, MPI_INT, in.data, counts, places, MPI_INT,
                      MPI_COMM_WORLD);
      check(false);
      MPI_Alltoallw_c(out.data, counts, byte_places, types, in.data, counts, byte_places, types,
                      MPI_COMM_WORLD);
      check(false);
      MPI_Allgatherv_c(out.data, n, MPI_INT, in.data, counts, places, MPI_INT, MPI_COMM_WORLD);
      check(true);
      MPI_Gatherv_c(out.data, n, MPI_INT, in.data, counts, places, MPI_INT, 0, MPI_COMM_WORLD);
      if (rank == 0) check(true);
      MPI_Scatterv_c(out.data, counts, places, MPI_INT, in.data, n, MPI_INT, 0, MPI_COMM_WORLD);
      for (int k = 0; k < n; ++k) wrong += in.data[k] != rank * 10 + k % 7;
    }
  }
  return wrong;
}
#else
int counts() { return 0; }
int blocks() { return 0; }
int displacements() { return 0; }
#endif

}  // namespace

int main(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "";
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  int wrong = -1;
  if (what == "datatypes") wrong = datatypes();
  if (what == "opaque") wrong = opaque();
  if (what == "counts") wrong = counts();
  if (what == "blocks") wrong = blocks();
  if (what == "displacements") wrong = displacements();
  BARE(Allreduce)(MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  if (rank == 0) std::printf("large: %d wrong\n", wrong);
  MPI_Finalize();
  return wrong != 0;
}
