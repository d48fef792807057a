// SPDX-License-Identifier: BSD-3-Clause
// Collectives on memory of devices: devices WHEN RUNTIME [DRIVER], which is loaded with it. WHEN:
// "first" loads the runtime (gpu.cc) before MPI_Init, "late" after some collectives, and
// "first-one", "late-one" on rank 0 alone, whose buffers then are the only ones of a device.
// Whoever touches that memory crashes, but for the stand-ins of a runtime and of an MPI that knows
// it (gpu_mpi.cc). Prints "KIND copies N" for each kind of memory, and "devices: N wrong".
#include <dlfcn.h>
#include <sys/mman.h>

#include <cstring>
#include <string>

#include "every.h"
#include "gpu.h"

namespace {

constexpr int most = 20000;
int g_rank = 0, g_size = 0, g_wrong = 0;
decltype(&gpu_allocate) g_allocate = nullptr;
decltype(&gpu_copies) g_copies = nullptr;

void load(const char* runtime, const char* driver) {
  if (driver != nullptr && dlopen(driver, RTLD_NOW) == nullptr)
    std::printf("WRONG: %s\n", dlerror()), std::abort();
  void* library = dlopen(runtime, RTLD_NOW | RTLD_GLOBAL);
  if (library == nullptr) std::printf("WRONG: %s\n", dlerror()), std::abort();
  g_allocate = reinterpret_cast<decltype(g_allocate)>(dlsym(library, "gpu_allocate"));
  g_copies = reinterpret_cast<decltype(g_copies)>(dlsym(library, "gpu_copies"));
}

std::size_t bytes() { return sizeof(int) * most * static_cast<std::size_t>(g_size); }

// A buffer that nobody can touch while it is shut.
struct Buffer {
  Buffer(int kind) : is_device(kind == gpu_device && g_allocate != nullptr) {
    memory = static_cast<int*>(g_allocate != nullptr ? g_allocate(bytes(), kind)
                                                     : std::calloc(1, bytes()));
    shut(false);
  }
  void shut(bool shuts) const {
    if (is_device) mprotect(memory, bytes(), shuts ? PROT_NONE : PROT_READ | PROT_WRITE);
  }
  int* memory;
  bool is_device;
};

void expect(bool right, const char* what) {
  if (right) return;
  ++g_wrong;
  std::printf("WRONG: rank %d: %s\n", g_rank, what);
}

void every_collective(const char* name, const Buffer& out, const Buffer& in) {
  const long before = g_copies != nullptr ? g_copies() : 0;
  Every every(MPI_COMM_WORLD, out.memory, in.memory, [&](bool shuts) {
    out.shut(shuts);
    in.shut(shuts);
  });
  for (const int n : {1, 300, most}) g_wrong += every.all(n, static_cast<unsigned>(n));
  if (g_copies != nullptr) std::printf("%s copies %ld\n", name, g_copies() - before);
}

// Those that every.h has not: in place, nonblocking, with gaps, and with nothing to move.
void others(const Buffer& buffer) {
  const auto members = static_cast<std::size_t>(g_size);
  for (const int n : {3, most}) {
    const auto count = static_cast<std::size_t>(n);
    const auto fill = [&](std::size_t all) {
      buffer.shut(false);
      for (std::size_t i = 0; i < all; ++i) buffer.memory[i] = static_cast<int>(i) + 7 * g_rank;
      buffer.shut(true);
    };
    const auto is = [&](std::size_t i, std::size_t at, int rank) {
      return buffer.memory[i] == static_cast<int>(at) + 7 * rank;
    };
    const int ranks = g_size * (g_size - 1) / 2;
    bool right = true;
    for (int nonblocking = 0; nonblocking < 2; ++nonblocking) {
      MPI_Request request = MPI_REQUEST_NULL;
      fill(count);
      if (nonblocking)
        MPI_Iallreduce(MPI_IN_PLACE, buffer.memory, n, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
      else
        MPI_Allreduce(MPI_IN_PLACE, buffer.memory, n, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
      buffer.shut(false);
      for (std::size_t i = 0; i < count; ++i)
        right = right && buffer.memory[i] == g_size * static_cast<int>(i) + 7 * ranks;
      expect(right, "Allreduce in place");

      fill(count * members);
      if (nonblocking)
        MPI_Ialltoall(MPI_IN_PLACE, 0, MPI_INT, buffer.memory, n, MPI_INT, MPI_COMM_WORLD,
                      &request);
      else
        MPI_Alltoall(MPI_IN_PLACE, 0, MPI_INT, buffer.memory, n, MPI_INT, MPI_COMM_WORLD);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
      buffer.shut(false);
      for (std::size_t i = 0; i < count * members; ++i)
        right = right && is(i, i % count + static_cast<std::size_t>(g_rank) * count,
                            static_cast<int>(i / count));
      expect(right, "Alltoall in place");

      fill(count * members);
      if (nonblocking)
        MPI_Iallgather(MPI_IN_PLACE, 0, MPI_INT, buffer.memory, n, MPI_INT, MPI_COMM_WORLD,
                       &request);
      else
        MPI_Allgather(MPI_IN_PLACE, 0, MPI_INT, buffer.memory, n, MPI_INT, MPI_COMM_WORLD);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
      buffer.shut(false);
      for (std::size_t i = 0; i < count * members; ++i)
        right = right && is(i, i, static_cast<int>(i / count));
      expect(right, "Allgather in place");

      // Every second int, to every second int.
      MPI_Datatype gaps;
      MPI_Type_vector(n / 2, 1, 2, MPI_INT, &gaps);
      MPI_Type_commit(&gaps);
      fill(count);
      if (nonblocking)
        MPI_Ibcast(buffer.memory, 1, gaps, g_size - 1, MPI_COMM_WORLD, &request);
      else
        MPI_Bcast(buffer.memory, 1, gaps, g_size - 1, MPI_COMM_WORLD);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
      MPI_Type_free(&gaps);
      buffer.shut(false);
      for (std::size_t i = 0; i < count / 2 * 2; ++i)
        right = right && is(i, i, i % 2 == 0 ? g_size - 1 : g_rank);
      expect(right, "Bcast with gaps");

      fill(count);
      std::vector<int> counts(members, 0), places(members, 0);
      counts[0] = n;
      const int mine = g_rank == 0 ? n : 0;
      void* const to = g_rank == 1 ? buffer.memory + most : nullptr;
      if (nonblocking)
        MPI_Igatherv(mine > 0 ? buffer.memory : nullptr, mine, MPI_INT, to, counts.data(),
                     places.data(), MPI_INT, 1, MPI_COMM_WORLD, &request);
      else
        MPI_Gatherv(mine > 0 ? buffer.memory : nullptr, mine, MPI_INT, to, counts.data(),
                    places.data(), MPI_INT, 1, MPI_COMM_WORLD);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
      buffer.shut(false);
      for (std::size_t i = 0; g_rank == 1 && i < count; ++i) right = right && is(most + i, i, 0);
      expect(right, "Gatherv from one");
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::string when = argc > 1 ? argv[1] : "";
  const bool late = when.rfind("late", 0) == 0;
  const bool all = when.find("-one") == std::string::npos;
  const auto loads = [&](int rank) { return all || rank == 0; };
  // Which rank this is must be known before MPI_Init.
  const char* rank = std::getenv("OMPI_COMM_WORLD_RANK");
  if (rank == nullptr) rank = std::getenv("PMI_RANK");
  if (!late && rank != nullptr && loads(std::atoi(rank))) load(argv[2], argv[3]);
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &g_rank);
  MPI_Comm_size(MPI_COMM_WORLD, &g_size);
  {
    Every every(MPI_COMM_WORLD, 300);
    g_wrong += every.all(300, 1);
  }
  if (late && loads(g_rank)) load(argv[2], argv[3]);
  const Buffer device_out(gpu_device), device_in(gpu_device), managed_out(gpu_managed),
      managed_in(gpu_managed), pinned_out(gpu_pinned), pinned_in(gpu_pinned);
  expect(device_out.is_device == loads(g_rank), "which memory is a device's");
  std::vector<int> host_out(bytes() / sizeof(int)), host_in(host_out);
  every_collective("managed", managed_out, managed_in);
  every_collective("pinned", pinned_out, pinned_in);
  every_collective("device", device_out, device_in);
  every_collective("device to pinned", device_out, pinned_in);
  every_collective("pinned to device", pinned_out, device_in);
  // Other kinds on other ranks.
  every_collective("mixed", g_rank % 2 == 0 ? device_out : managed_out,
                   g_rank % 2 == 0 ? managed_in : device_in);
  others(device_in);
  PMPI_Allreduce(MPI_IN_PLACE, &g_wrong, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (g_rank == 0) std::printf("devices: %d wrong\n", g_wrong);
  MPI_Finalize();
  return g_wrong != 0;
}
