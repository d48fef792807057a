// SPDX-License-Identifier: BSD-3-Clause
// Private until used. A small page of a file costs more than one of private memory: 1.3 us more, to
// touch first and to give back (an EPYC in a virtual machine); and where THP is always, private
// memory has huge pages. So where the file has small pages, blocks are private memory at first, and
// the pages of a buffer become the file's, which peers see, when collectives have used it often.
//
// The pages are copied, and the file's are put in their place, while the program runs. Nobody may
// write to a byte of a page meanwhile, and nobody can be kept from it: threads, pending messages,
// devices. So only pages move that hold nothing but the buffer of a collective that this process is
// in: MPI forbids everyone to write to that, and a thread that reads it finds the same in the old
// page as in the new one. A page that holds something else, too, stays; and the next blocks of that
// size are the file's from the start.
#include <algorithm>
#include <atomic>
#include <bit>
#include <cstring>

#include "base/base.h"
#include "commons/commons.h"
#include "commons/heap.h"
#include "os/huge_file.h"
#include "os/keep_errno.h"
#include "os/limits.h"
#include "os/mapping.h"
#include "os/memfd.h"
#include "os/program.h"
#include "os/uncancelled.h"

namespace tutti::commons {
namespace {

// telling_uses: to move a page takes about 2.1 us: 1.4 to copy it, 0.3 to free the old one, 0.4 to
// map the new one. What it saves at each use is, where the caches do not hold the buffer, 0.5 to
// 0.7 us in a Gather or Alltoall and 0.3 in an Allreduce, else 0.1 to 0.3 (2 ranks, 64 KiB to
// 1 MiB, on an EPYC in a virtual machine). So at the moment when it moves one to four times as much
// has been lost as moving costs. Sooner is worse for programs whose buffers live shortly: at the
// eighth use DOLFINx moves 5 000 pages a rank more and takes 1.045 of the bare time, where it takes
// 1.028 at the twelfth and 1.030 at the sixteenth (2 ranks, medians of 25).
constexpr std::uint8_t refused = 255;  // no use is counted any more, of this block

// Whoever moves pages of this process. The thread that forks has it already.
class Sharing {
 public:
  Sharing() : mine_(!this_thread_forks()) {
    if (mine_) heap.sharing.lock();
  }
  ~Sharing() {
    if (mine_) heap.sharing.unlock();
  }
  Sharing(const Sharing&) = delete;
  Sharing& operator=(const Sharing&) = delete;

 private:
  bool mine_;
};

// Bit k: of the sizes from 2^k bytes on to the next power of two.
std::uint64_t sizes_like(std::size_t bytes) { return std::bit_floor(std::uint64_t{bytes}); }

std::byte* address(std::uint64_t page) { return heap.base + page * page_bytes; }

// A run of the file's pages among private ones is a mapping of its own, of which a process has some
// 65 000, mostly for others.
constexpr std::uint32_t most_runs = 8192;
constexpr std::uint32_t refusals_per_count = 1024;

std::uint32_t count_runs() {
  std::uint32_t runs = 0;
  const std::uint64_t pages = detail::bytes.load(std::memory_order_relaxed) / page_bytes;
  (void)heap.in_file.for_each_run(0, pages, true, [&runs](auto, auto) { return ++runs > 0; });
  return runs;
}

// Before each run that is made. Where there might be too many, as so many were made, they are
// counted: runs may have joined others, or be gone. There have to be a good many fewer, so that
// this does not come often.
bool may_make_run() {
  const std::uint32_t made = heap.runs_made.fetch_add(1, std::memory_order_relaxed);
  if (made >= most_runs) {
    if ((made - most_runs) % refusals_per_count != 0) return false;
    const std::uint32_t runs = count_runs();
    const bool may = runs <= most_runs - refusals_per_count;
    heap.runs_made.store(may ? runs + 1 : most_runs + 1, std::memory_order_relaxed);
    if (!may) return false;
  }
  return os::refers_to(heap.fd, heap.file);
}
// What is given back from the middle of a run leaves two.
void note_split(std::uint64_t first, std::uint64_t end) {
  const std::uint64_t pages = detail::bytes.load(std::memory_order_relaxed) / page_bytes;
  if (end < pages && heap.in_file.any(first - 1, first) && heap.in_file.any(end, end + 1))
    heap.runs_made.fetch_add(1, std::memory_order_relaxed);
}

// Puts the file's pages, as they are, in the place of private ones.
bool map_file(std::uint64_t first, std::uint64_t end) {
  if (!os::replace_shared(heap.fd, first * page_bytes, address(first), (end - first) * page_bytes))
    return false;
  heap.in_file.set(first, end);
  heap.file_pages.fetch_add(end - first, std::memory_order_relaxed);
  return true;
}

// What has never been touched has no page in the file either.
bool copy_touched(const os::Pages& pages, bool* all) {
  os::TouchedRuns runs(pages);
  for (os::Pages run; runs.next(&run);) {
    if (!os::write_file_at(heap.fd, offset_of(run.first), run.first, run.bytes)) return false;
    *all = run.bytes == pages.bytes;
  }
  return !runs.has_failed();
}

// The same where the file is to have huge pages.
bool copy_in_huge_pages(std::uint64_t first, std::size_t bytes) {
  auto* const space = static_cast<std::byte*>(os::map_private(2 * bytes));
  if (space == nullptr) return false;
  std::byte* const copy = space + round_up(reinterpret_cast<std::uintptr_t>(space), bytes) -
                          reinterpret_cast<std::uintptr_t>(space);
  const bool mapped = os::replace_shared(heap.fd, first * page_bytes, copy, bytes);
  if (mapped) {
    os::prefer_huge_pages(copy, bytes);
    std::memcpy(copy, address(first), bytes);
  }
  os::unmap(space, 2 * bytes);
  return mapped;
}

bool move(std::uint64_t first, std::uint64_t end) {
  const std::size_t bytes = (end - first) * page_bytes;
  const bool huge = heap.file_may_be_huge && bytes == huge_page_bytes &&
                    first % (huge_page_bytes / page_bytes) == 0 && os::is_huge_page(address(first));
  bool all_touched = false;
  const bool copied =
      huge ? copy_in_huge_pages(first, bytes) : copy_touched({address(first), bytes}, &all_touched);
  if (!copied || !map_file(first, end)) {
    os::punch_file(heap.fd, first * page_bytes, bytes);  // what is not used reads as zeros
    return false;
  }
  if (huge)
    os::prefer_huge_pages(address(first), bytes);
  else if (heap.file_may_be_huge)
    os::prefer_small_pages(address(first), bytes);
  if (all_touched) os::populate_shared(address(first), bytes);  // a fault for each page less
  return true;
}

// Piece by piece, so that little is there twice.
bool move_all(std::uint64_t first, std::uint64_t end) {
  constexpr std::uint64_t piece = huge_page_bytes / page_bytes;
  return heap.in_file.for_each_run(first, end, false, [](std::uint64_t at, std::uint64_t behind) {
    if (!may_make_run()) return false;
    for (std::uint64_t next = 0; at < behind; at = next) {
      next = std::min(behind, round_down(at, piece) + piece);
      if (!move(at, next)) return false;
    }
    return true;
  });
}

// Whether each page of the buffer holds nothing else that the program could have a use for.
bool is_alone(const std::byte* at, std::size_t bytes) {
  const std::uint64_t offset = offset_of(at), end = offset + bytes;
  if (offset % page_bytes != 0) return false;
  if (end % page_bytes == 0) return true;
  const PageIndex block = heap.extents.block_of(static_cast<PageIndex>(offset / page_bytes));
  return end == block * page_bytes + heap.extents.wanted_bytes(block);
}

void share_from_birth(const std::byte* at) {
  const auto page = static_cast<PageIndex>(offset_of(at) / page_bytes);
  const std::size_t bytes = heap.extents.wanted_bytes(heap.extents.block_of(page));
  heap.born_shared.fetch_or(sizes_like(bytes), std::memory_order_relaxed);
}

// Devices and the kernel may know pages by more than their address: what they have pinned must not
// go. That of devices is not counted with some of them.
bool may_move() {
  return !detail::pages_are_known.load(std::memory_order_relaxed) && !os::has_pinned_memory();
}

bool share_now(const std::byte* at, std::size_t bytes) {
  const os::Uncancelled uncancelled;
  // To write beyond the limit of files would end the process.
  const bool fits = offset_of(at) + bytes <= os::file_size_limit_bytes();
  if (!fits || !is_alone(at, bytes) || !may_move()) {
    share_from_birth(at);
    return false;
  }
  const Sharing sharing;
  return move_all(offset_of(at) / page_bytes, divide_up(offset_of(at) + bytes, page_bytes));
}

std::atomic_ref<std::uint8_t> uses_of(std::uint64_t page) {
  return std::atomic_ref(heap.uses[page]);
}

// Of pages with so many or more. What nobody has counted at is not made resident.
void forget_uses(PageIndex first, std::uint32_t pages, std::uint8_t least) {
  for (std::uint64_t page = first; page < std::uint64_t{first} + pages; ++page)
    if (uses_of(page).load(std::memory_order_relaxed) >= least)
      uses_of(page).store(0, std::memory_order_relaxed);
}

// Counts this use. When the count is reached, it holds for the next block at the same place, too.
bool is_due(std::uint64_t page) {
  const std::uint8_t before = uses_of(page).load(std::memory_order_relaxed);
  if (before == refused) return false;
  if (before + 1 >= telling_uses) return true;
  uses_of(page).store(static_cast<std::uint8_t>(before + 1), std::memory_order_relaxed);
  return false;
}

}  // namespace

const std::byte* offer(const void* buffer, std::size_t bytes, bool full) {
  const std::byte* at = shared(buffer, bytes);
  if (at != nullptr || !heap.private_first || !owns(buffer)) return at;
  const auto* const mine = static_cast<const std::byte*>(buffer);
  const os::KeepErrno keep;
  const std::uint64_t page = offset_of(mine) / page_bytes;
  if (!full || bytes == 0 || !is_due(page)) return nullptr;
  if (share_now(mine, bytes)) return shared(buffer, bytes);
  uses_of(page).store(refused, std::memory_order_relaxed);
  return nullptr;
}

void forget_refusals(PageIndex block, std::uint32_t pages) { forget_uses(block, pages, refused); }

bool is_born_shared(std::size_t bytes) {
  return (heap.born_shared.load(std::memory_order_relaxed) & sizes_like(bytes)) != 0;
}

bool share_new(PageIndex block, std::uint32_t pages) {
  const Sharing sharing;
  return heap.in_file.for_each_run(
      block, std::uint64_t{block} + pages, false, [](std::uint64_t first, std::uint64_t end) {
        // Some of those who keep what is registered with a network hear of madvise, not of mmap.
        const std::size_t bytes = (end - first) * page_bytes;
        return may_make_run() && os::drop_private(address(first), bytes) && map_file(first, end);
      });
}

bool drop(PageIndex first, std::uint32_t pages) {
  const std::uint64_t end = std::uint64_t{first} + pages;
  forget_uses(first, pages, 1);
  const auto drop_private = [](std::uint64_t at, std::uint64_t behind) {
    return os::drop_private(address(at), (behind - at) * page_bytes);
  };
  const auto drop_shared = [](std::uint64_t at, std::uint64_t behind) {
    const std::size_t bytes = (behind - at) * page_bytes;
    if (!os::drop_shared(address(at), bytes)) return false;
    // Else they stay the file's: holes of it.
    if (!os::replace_private(address(at), bytes, true)) return true;
    heap.in_file.clear(at, behind);
    note_split(at, behind);
    heap.file_pages.fetch_sub(behind - at, std::memory_order_relaxed);
    return true;
  };
  return heap.in_file.for_each_run(first, end, false, drop_private) &&
         heap.in_file.for_each_run(first, end, true, drop_shared);
}

}  // namespace tutti::commons
