// SPDX-License-Identifier: BSD-3-Clause
#include "tutti_bench/mpi.h"

#include <dlfcn.h>

#include <cstdlib>
#include <cstring>
#include <string>

namespace tutti::bench {
namespace {

const char* no_way() { return "mpi"; }
void nothing() {}

template <class F>
void find(void* library, const char* name, F& function, std::string& missing) {
  function = reinterpret_cast<F>(dlsym(library, name));
  if (function == nullptr && missing.empty()) missing = name;
}

// MPI_Bcast, or MPI_Ibcast where calls take a request.
template <class... More>
void find_all(void* library, const char* prefix, Forms<More...>& f, std::string& missing) {
  const bool nonblocking = sizeof...(More) != 0;
  const auto get = [&](auto& function, std::string name) {
    if (nonblocking)
      name = "I" + std::string(1, static_cast<char>(name[0] - 'A' + 'a')) + name.substr(1);
    find(library, (prefix + name).c_str(), function, missing);
  };
  get(f.barrier, "Barrier");
  f.for_each(get);
}

// The one predefined handle that the library itself has no need of.
struct CommRow {
  const char* openmpi;
  std::uint32_t mpich;
  std::uint32_t standard;
};
constexpr CommRow comm_world = {"ompi_mpi_comm_world", 0x44000000, 0x101};

// In this order: MPICH's own library has MPI_Abi_get_version as well, but answers -1.
mpi::Family family_of(void* library) {
  if (auto abi = reinterpret_cast<int (*)(int*, int*)>(dlsym(library, "MPI_Abi_get_version"))) {
    int major = -1, minor = -1;
    if (abi(&major, &minor) == 0 && major > 0) return mpi::Family::standard;
  }
  return dlsym(library, "ompi_mpi_comm_world") ? mpi::Family::openmpi : mpi::Family::mpich;
}

std::string version_of(void* library) {
  int (*get)(char*, int*) = nullptr;
  std::string missing;
  find(library, "MPI_Get_library_version", get, missing);
  if (get == nullptr) return "unknown MPI";
  static char text[8192];  // MPI_MAX_LIBRARY_VERSION_STRING of the widest family
  int length = 0;
  get(text, &length);
  const std::string all = text;
  return all.substr(0, all.find('\n'));
}

}  // namespace

std::vector<std::byte> Mpi::array(std::span<const Handle> handles) const {
  const std::size_t width = family == mpi::Family::mpich ? sizeof(int) : sizeof(Handle);
  std::vector<std::byte> result(handles.size() * width);
  for (std::size_t i = 0; i < handles.size(); ++i)  // little-endian: the lower half comes first
    std::memcpy(result.data() + i * width, &handles[i], width);
  return result;
}

void Mpi::finalize() const {
  if (auto f = reinterpret_cast<int (*)()>(dlsym(RTLD_DEFAULT, "MPI_Finalize"))) f();
}

void Mpi::abort(int code) const {
  auto f = reinterpret_cast<int (*)(Handle, int)>(dlsym(library, "PMPI_Abort"));
  if (f != nullptr) f(world, code);
  std::_Exit(code);
}

bool load_mpi(Mpi& mpi, std::string& why) {
  const char* path = std::getenv("TUTTI_BENCH_LIBMPI");
  if (path == nullptr) {
    why = "TUTTI_BENCH_LIBMPI does not name the libmpi to load; `tutti bench` sets it";
    return false;
  }
  const std::string library = path;
  mpi.library = dlopen(library.c_str(), RTLD_NOW | RTLD_GLOBAL);
  if (mpi.library == nullptr) {
    why = std::string("the MPI cannot be loaded: ") + dlerror();
    return false;
  }
  std::string missing;
  find_all(mpi.library, "PMPI_", mpi.base, missing);
  find_all(RTLD_DEFAULT, "MPI_", mpi.tutti, missing);
  find_all(mpi.library, "PMPI_", mpi.base_started, missing);
  find_all(RTLD_DEFAULT, "MPI_", mpi.tutti_started, missing);
  find(mpi.library, "PMPI_Wait", mpi.base_started.wait, missing);
  find(RTLD_DEFAULT, "MPI_Wait", mpi.tutti_started.wait, missing);
  find(RTLD_DEFAULT, "MPI_Type_vector", mpi.types.vector, missing);
  find(RTLD_DEFAULT, "MPI_Type_create_resized", mpi.types.resized, missing);
  find(RTLD_DEFAULT, "MPI_Type_commit", mpi.types.commit, missing);
  find(RTLD_DEFAULT, "MPI_Type_free", mpi.types.free, missing);
  int (*init)(int*, char***) = nullptr;
  int (*rank)(Handle, int*) = nullptr;
  int (*size)(Handle, int*) = nullptr;
  find(RTLD_DEFAULT, "MPI_Init", init, missing);
  find(mpi.library, "PMPI_Comm_rank", rank, missing);
  find(mpi.library, "PMPI_Comm_size", size, missing);
  if (!missing.empty()) {
    why = library + " is no MPI: it has no " + missing;
    return false;
  }
  mpi.last_way = reinterpret_cast<const char* (*)()>(dlsym(RTLD_DEFAULT, "tutti_last_way"));
  if (mpi.last_way == nullptr) mpi.last_way = no_way;
  mpi.forget_way = reinterpret_cast<void (*)()>(dlsym(RTLD_DEFAULT, "tutti_forget_last_way"));
  if (mpi.forget_way == nullptr) mpi.forget_way = nothing;
  mpi.family = family_of(mpi.library);
  if (init(nullptr, nullptr) != 0) {
    why = "MPI_Init failed";
    return false;
  }
  mpi.version = version_of(mpi.library);
  mpi.world = mpi.handle(comm_world);
  rank(mpi.world, &mpi.rank);
  size(mpi.world, &mpi.ranks);
  return true;
}

}  // namespace tutti::bench
