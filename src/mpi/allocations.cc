// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/allocations.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/base.h"
#include "commons/commons.h"
#include "mpi/life.h"
#include "mpi/requests.h"

namespace tutti::mpi {

template <class H>
void Allocations<H>::add_entries(Entries& entries) {
  entries.alloc_mem = alloc_mem;
  entries.free_mem = free_mem;
  entries.win_test = win_test;
}

template <class H>
int Allocations<H>::alloc_mem(Aint bytes, Word info, void* base) {
  Allocations& self = *self_;
  std::size_t alignment = page_bytes;
  void* block = nullptr;
  if (bytes > 0 && base != nullptr && self.life_.is_ready() &&
      self.read_alignment(handle_from<H>(info), &alignment))
    block = commons::allocate(static_cast<std::size_t>(bytes), alignment, false);
  if (block == nullptr) return self.native_.alloc_mem(bytes, handle_from<H>(info), base);
  std::memcpy(base, &block, sizeof block);  // MPI declares a pointer to a pointer as void*
  const std::lock_guard lock(self.giving_);
  self.given_.insert(block);
  return 0;
}

template <class H>
bool Allocations<H>::read_alignment(H info, std::size_t* alignment) {
  constexpr char aligned[] = "mpi_minimum_memory_alignment";
  int keys = 0, found = 0;
  if (info == native_.null_info) return true;
  char key[256] = "", value[24] = "";  // MPI_MAX_INFO_KEY is 255 at most, and then has no end
  if (native_.info_get_nkeys(info, &keys) != 0 || keys > 1) return false;
  if (keys == 0) return true;
  if (native_.info_get_nthkey(info, 0, key) != 0 || std::strcmp(key, aligned) != 0) return false;
  if (native_.info_get(info, aligned, sizeof value - 1, value, &found) != 0 || found == 0)
    return false;
  std::uint64_t bytes = 0;
  if (!parse_bytes(value, bytes) || !std::has_single_bit(bytes)) return false;
  *alignment = std::max<std::size_t>(bytes, *alignment);
  return true;
}

// What the MPI has given may lie in the commons, too: it has it from malloc.
template <class H>
int Allocations<H>::free_mem(void* base) {
  Allocations& self = *self_;
  bool ours = false;
  {
    const std::lock_guard lock(self.giving_);
    ours = self.given_.erase(base) != 0;
  }
  if (!ours) return self.native_.free_mem(base);
  commons::release(base);
  return 0;
}

// A test that finds nothing has made the MPI look. So the second finds what a barrier put before
// the first: the MPI's own barrier would have looked already, and programs rely on it. A program
// may ask until the window is free, and what the others wait for is brought forward meanwhile.
template <class H>
int Allocations<H>::win_test(Word window, int* flag) {
  self_->requests_.look();
  const int result = self_->native_.win_test(handle_from<H>(window), flag);
  if (result != 0 || *flag != 0) return result;
  return self_->native_.win_test(handle_from<H>(window), flag);
}

template class Allocations<int>;
template class Allocations<void*>;

}  // namespace tutti::mpi
