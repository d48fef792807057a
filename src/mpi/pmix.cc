// SPDX-License-Identifier: BSD-3-Clause
// PMIx_Init, on its way from the MPI to PMIx: once that has begun, this rank signs the roll. It may
// not begin before the MPI does: Open MPI 5 then takes itself for nobody.
#include <dlfcn.h>

#include <cstddef>

#include "job/job.h"

namespace tutti::mpi {
namespace {

constexpr int not_supported = -47;  // PMIX_ERR_NOT_SUPPORTED

using Init = int (*)(void* process, void* infos, std::size_t count);

// What provides PMIx to the caller: the next in the link order, else what the caller is linked with
// (Open MPI 4 opens it as a plugin).
void* library_behind(const void* caller) {
  if (::dlsym(RTLD_NEXT, "PMIx_Init") != nullptr) return RTLD_NEXT;
  Dl_info object;
  if (::dladdr(caller, &object) == 0) return nullptr;
  return ::dlopen(object.dli_fname, RTLD_NOLOAD | RTLD_LAZY);  // kept
}

}  // namespace
}  // namespace tutti::mpi

extern "C" [[gnu::visibility("default")]] int PMIx_Init(void* process, void* infos,
                                                        std::size_t count) {
  void* library = tutti::mpi::library_behind(__builtin_return_address(0));
  const auto real = reinterpret_cast<tutti::mpi::Init>(
      library != nullptr ? ::dlsym(library, "PMIx_Init") : nullptr);
  if (real == nullptr || real == PMIx_Init) return tutti::mpi::not_supported;
  alignas(8) char own[512];
  if (process == nullptr) process = own;
  const int result = real(process, infos, count);
  if (result == 0) tutti::job::roll().pmix_begins(library, process);
  return result;
}
