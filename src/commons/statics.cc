// SPDX-License-Identifier: BSD-3-Clause
// Static arrays are where many programs, above all in Fortran, have their data. Those of the main
// program are given pages of the memfd in the place of their own: their addresses stay, and each
// page is then also a page of a block of the range, which is how peers see it.
//
// Only before the program runs and while it has one thread can that be done unnoticed: nobody reads
// or writes in between.
#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <cstring>

#include "base/base.h"
#include "commons/commons.h"
#include "commons/heap.h"
#include "os/huge_file.h"
#include "os/keep_errno.h"
#include "os/mapping.h"
#include "os/program.h"
#include "os/uncancelled.h"

namespace tutti::commons {
namespace {

constinit std::byte g_zeroed{};  // where Tutti's own zeroed variables are

bool contain(const os::Pages& pages, const void* address) {
  return static_cast<std::size_t>(static_cast<const std::byte*>(address) - pages.first) <
         pages.bytes;
}

// The first page may be one of the program's file, with the end of .data, and never touched.
bool copy_into(std::size_t offset, const os::Pages& statics) {
  if (!os::write_file_at(heap.fd, offset, statics.first, page_bytes)) return false;
  os::TouchedRuns runs({statics.first + page_bytes, statics.bytes - page_bytes});
  for (os::Pages run; runs.next(&run);) {
    const auto at = static_cast<std::size_t>(run.first - statics.first);
    if (!os::write_file_at(heap.fd, offset + at, run.first, run.bytes)) return false;
  }
  return !runs.has_failed();
}

const char* move_in(const os::Pages& statics) {
  // What a fork needs must not be changed under the child by its parent.
  if (contain(statics, &g_zeroed)) return "Tutti is linked into the program";
  if (!os::is_only_thread()) return "the program has threads already";
  if (heap.private_first && os::huge_pages_come_unasked())
    return "they have huge pages where they are";
  const std::size_t skipped = reinterpret_cast<std::uintptr_t>(statics.first) % huge_page_bytes;
  auto* block = static_cast<std::byte*>(allocate(skipped + statics.bytes, huge_page_bytes, true));
  if (block == nullptr) return "they are too large";
  if (shared(block, skipped + statics.bytes) == nullptr) {
    release(block);
    return "the kernel refuses";
  }
  const std::size_t offset = offset_of(block) + skipped;
  if (!copy_into(offset, statics) ||
      !os::replace_shared(heap.fd, offset, statics.first, statics.bytes)) {
    release(block);
    return "the kernel refuses";
  }
  // Programs have arrays for their largest case and touch a part of them, here and there.
  if (heap.huge && os::huge_pages_come_unasked())
    os::prefer_huge_pages(statics.first, statics.bytes);
  else
    wish_for_small_pages(static_cast<PageIndex>(offset_of(block) / page_bytes),
                         static_cast<std::uint32_t>((skipped + statics.bytes) / page_bytes));
  heap.statics = {statics.first, statics.bytes, offset};
  return nullptr;
}

}  // namespace

void adopt_statics() {
  const os::KeepErrno keep;
  const os::Pages statics = os::zeroed_statics();
  const std::uint64_t least = options().commons_statics;
  if (least > 0 && statics.bytes >= std::max<std::uint64_t>(least, page_bytes)) adopt(statics);
}

void adopt(const os::Pages& statics) {
  const os::KeepErrno keep;
  const os::Uncancelled uncancelled;
  if (!ready()) return;
  sigset_t all, before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  const char* failure = move_in(statics);
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (failure != nullptr) log::info("static arrays stay outside of the commons: %s", failure);
}

bool make_statics_private() {
  const Statics& statics = heap.statics;
  return statics.bytes == 0 || make_private(statics.first, statics.offset, statics.bytes);
}

}  // namespace tutti::commons
