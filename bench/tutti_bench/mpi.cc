// SPDX-License-Identifier: BSD-3-Clause
#include "tutti_bench/mpi.h"

#include <dlfcn.h>

#include <cstdlib>
#include <string>

namespace tutti::bench {
namespace {

const char* no_way() { return "mpi"; }

template <class F>
void find(void* library, const char* name, F& function, std::string& missing) {
  function = reinterpret_cast<F>(dlsym(library, name));
  if (function == nullptr && missing.empty()) missing = name;
}

void find_all(void* library, const char* prefix, Functions& f, std::string& missing) {
  const std::string p = prefix;
  find(library, (p + "Bcast").c_str(), f.bcast, missing);
  find(library, (p + "Reduce").c_str(), f.reduce, missing);
  find(library, (p + "Allreduce").c_str(), f.allreduce, missing);
  find(library, (p + "Barrier").c_str(), f.barrier, missing);
}

// In this order: MPICH's own library has MPI_Abi_get_version as well, but answers -1.
Family family_of(void* library) {
  if (auto abi = reinterpret_cast<int (*)(int*, int*)>(dlsym(library, "MPI_Abi_get_version"))) {
    int major = -1, minor = -1;
    if (abi(&major, &minor) == 0 && major > 0) return Family::standard;
  }
  return dlsym(library, "ompi_mpi_comm_world") ? Family::open_mpi : Family::mpich;
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

Handle Mpi::handle(const HandleRow& row) const {
  switch (family) {
    case Family::open_mpi:
      return dlsym(library, row.open_mpi_symbol);
    case Family::mpich:
      return reinterpret_cast<Handle>(std::uintptr_t{row.mpich});
    case Family::standard:
      return reinterpret_cast<Handle>(std::uintptr_t{row.standard});
  }
  return nullptr;
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
  unsetenv("TUTTI_BENCH_LIBMPI");  // it is ours, and libtutti.so warns of options it does not know
  mpi.library = dlopen(library.c_str(), RTLD_NOW | RTLD_GLOBAL);
  if (mpi.library == nullptr) {
    why = std::string("the MPI cannot be loaded: ") + dlerror();
    return false;
  }
  std::string missing;
  find_all(mpi.library, "PMPI_", mpi.base, missing);
  find_all(RTLD_DEFAULT, "MPI_", mpi.tutti, missing);
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
