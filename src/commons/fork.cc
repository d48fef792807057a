// SPDX-License-Identifier: BSD-3-Clause
// A forked child must see the memory of the parent as it was, and neither must see what the other
// writes afterwards. Shared mappings do not do that by themselves: the child copies what lives in
// the commons into private memory at the same addresses, and the parent waits until it has.
//
// vfork, posix_spawn and exec do not come here, and a child's own children are copied on write by
// the kernel.
#include <fcntl.h>
#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "base/base.h"
#include "commons/commons.h"
#include "commons/heap.h"
#include "os/limits.h"
#include "os/mapping.h"
#include "os/uncancelled.h"

namespace tutti::commons {
namespace {

[[noreturn]] void give_up(const char* why) {
  log::fatal("process %d ends right after fork: its copy of the commons cannot be made (%s)",
             static_cast<int>(::getpid()), why);
  ::_exit(127);
}

// The runs of blocks that the child has to find in the range: all but the static variables, which
// it finds elsewhere.
template <class Visit>
bool for_each_live_run(Visit visit) {
  const auto statics = static_cast<PageIndex>(heap.statics.offset / page_bytes);
  const auto statics_pages = static_cast<std::uint32_t>(heap.statics.bytes / page_bytes);
  return heap.extents.for_each_used_run([&](PageIndex first, std::uint32_t pages) {
    if (statics_pages == 0 || statics - first >= pages) return visit(first, pages);
    const PageIndex rest = statics + statics_pages;
    return (statics == first || visit(first, statics - first)) &&
           (rest == first + pages || visit(rest, first + pages - rest));
  });
}

// visit(offset, bytes) for what is not a hole in [at, at + bytes) of the file, until it is false.
template <class Visit>
bool for_each_data(std::size_t at, std::size_t bytes, Visit visit) {
  const std::size_t end = at + bytes;
  for (std::size_t from = 0, to = 0; os::next_data(heap.fd, at, end, &from, &to); at = to)
    if (!visit(from, to - from)) return false;
  return true;
}

// What a child has to copy.
std::uint64_t needed_bytes() {
  std::uint64_t needed = 0;
  (void)heap.extents.for_each_used_run([&](PageIndex first, std::uint32_t pages) {
    return for_each_data(first * page_bytes, pages * page_bytes, [&](std::size_t, std::size_t n) {
      needed += n;
      return true;
    });
  });
  return needed;
}

// The kernel would rather kill some process than refuse us memory.
bool reserve_memory() {
  const Reservation* reservation = heap.reservation.load(std::memory_order_acquire);
  const std::uint64_t needed = needed_bytes();
  if (needed == 0) return true;
  return reservation != nullptr ? reservation->reserve(needed)
                                : needed < os::available_memory_bytes();
}

void release_memory() {
  if (const Reservation* reservation = heap.reservation.load(std::memory_order_acquire))
    reservation->release();
}

std::size_t range_bytes() { return std::size_t{heap.extents.pages()} * page_bytes; }

bool close_range_off() {
  return os::replace_private(heap.base + heap.accessible_bytes,
                             range_bytes() - heap.accessible_bytes, false);
}

// The usual way: the range becomes private memory at once, and its contents come from the file.
const char* copy_from_file() {
  if (!close_range_off() || !os::replace_private(heap.base, heap.accessible_bytes, true))
    return "no address space";
  const bool copied = for_each_live_run([](PageIndex first, std::uint32_t pages) {
    return read_data(first * page_bytes, pages * page_bytes, heap.address(first));
  });
  return copied ? nullptr : "reading it failed";
}

// All that lies between blocks.
bool drop_what_is_free() {
  PageIndex at = 0;
  const auto drop_until = [&at](std::uint64_t end) {
    if (end <= at) return true;
    // A hole where a freed block was none of a child's (MADV_DONTFORK) is filled.
    const std::size_t bytes = (end - at) * page_bytes;
    return os::drop_private(heap.address(at), bytes) ||
           os::replace_private(heap.address(at), bytes, true);
  };
  const bool all = heap.extents.for_each_used_run([&](PageIndex first, std::uint32_t pages) {
    const bool dropped = drop_until(first);
    at = first + pages;
    return dropped;
  });
  return all && drop_until(heap.accessible_bytes / page_bytes);
}

// When the program has closed our descriptor, only the mapping still leads to the contents: each
// run of blocks is copied elsewhere, and the copy moved to its place. (It cannot be seen which
// pages are holes: they become resident.)
const char* copy_from_mapping() {
  std::size_t done = 0;  // bytes of the range that are private already
  const bool copied = for_each_live_run([&](PageIndex first, std::uint32_t pages) {
    const std::size_t at = std::size_t{first} * page_bytes;
    const std::size_t bytes = std::size_t{pages} * page_bytes;
    if (first == 0 && pages == 1) return true;  // page 0 is inaccessible until a block is made
    if (!make_private(heap.base + at, at, bytes)) return false;
    if (!os::replace_private(heap.base + done, at - done, true)) return false;
    done = at + bytes;
    return true;
  });
  if (!copied || !close_range_off()) return "no address space";
  if (done < heap.accessible_bytes &&
      !os::replace_private(heap.base + done, heap.accessible_bytes - done, true))
    return "no address space";
  return nullptr;
}

// Where blocks are private until used: the kernel copies what is private, and those of the file's
// pages that are free are nobody's.
const char* copy_what_is_shared() {
  const std::uint64_t end = heap.accessible_bytes / page_bytes;
  const auto copy_run = [](std::uint64_t from, std::uint64_t to) {
    const std::size_t at = from * page_bytes;
    heap.in_file.clear(from, to);
    return make_private(heap.base + at, at, (to - from) * page_bytes);
  };
  const bool copied = for_each_live_run([&](PageIndex first, std::uint32_t pages) {
    return heap.in_file.for_each_run(first, std::uint64_t{first} + pages, true, copy_run);
  });
  const bool freed = copied && heap.in_file.for_each_run(0, end, true, [](auto from, auto to) {
    return os::replace_private(heap.address(static_cast<PageIndex>(from)), (to - from) * page_bytes,
                               true);
  });
  if (!freed) return "no address space, or reading it failed";
  heap.in_file.clear(0, end);
  return drop_what_is_free() ? nullptr : "free memory cannot be given back";
}

// pipe2, also when the program has used up its soft limit of descriptors.
bool open_pipe(int (&ends)[2]) {
  if (::pipe2(ends, O_CLOEXEC) == 0) return true;
  rlimit limit{};
  if (errno != EMFILE || ::getrlimit(RLIMIT_NOFILE, &limit) != 0) return false;
  const rlimit more{limit.rlim_max, limit.rlim_max};
  if (::setrlimit(RLIMIT_NOFILE, &more) != 0) return false;
  const bool opened = ::pipe2(ends, O_CLOEXEC) == 0;
  (void)::setrlimit(RLIMIT_NOFILE, &limit);
  return opened;
}

void close_end(int& end) {
  if (end >= 0) ::close(std::exchange(end, -1));
}

const char* copy_everything(bool have_file) {
  // A child that the parent knows nothing of has to look itself.
  const bool is_known = heap.forker.load(std::memory_order_relaxed) != 0;
  const auto fits = [] {
    const std::size_t bytes = needed_bytes();
    return bytes == 0 || bytes < os::available_memory_bytes();
  };
  if (have_file && !(is_known ? heap.fork.fits : fits())) return "there is not enough memory";
  if (!make_statics_private()) return "its static variables cannot be copied";
  if (heap.private_first) return copy_what_is_shared();
  return have_file ? copy_from_file() : copy_from_mapping();
}

}  // namespace

bool this_thread_forks() {
  const pid_t forker = heap.forker.load(std::memory_order_relaxed);
  return forker != 0 && forker == ::gettid();
}

bool read_data(std::size_t offset, std::size_t bytes, std::byte* to) {
  return for_each_data(offset, bytes, [&](std::size_t at, std::size_t length) {
    return os::read_file_at(heap.fd, at, to + (at - offset), length);
  });
}

// Made elsewhere and moved, so that it is never seen incomplete: the C library has variables among
// the static ones.
bool make_private(std::byte* at, std::size_t offset, std::size_t bytes) {
  auto* const copy = static_cast<std::byte*>(os::map_private(bytes));
  if (copy == nullptr) return false;
  if (!os::refers_to(heap.fd, heap.file))  // closed by the program
    std::memcpy(copy, at, bytes);
  else if (!read_data(offset, bytes, copy))
    return false;
  return os::make_accessible(copy, bytes) &&  // and part of core dumps
         os::move_mapping(copy, at, bytes);
}

void become_exclusive() {
  const os::Uncancelled uncancelled;
  os::go_past_hooks();
  heap.extents.settle();
  if (heap.mode.load(std::memory_order_relaxed) == Mode::shared) {
    const bool have_file = os::refers_to(heap.fd, heap.file);
    if (const char* failure = copy_everything(have_file)) give_up(failure);
    if (have_file) ::close(heap.fd);
    heap.fd = -1;
    heap.extents.all_free_is_clean();
    heap.why_not = "this process is a forked child, with a private copy of its parent's memory";
    heap.mode.store(Mode::exclusive, std::memory_order_relaxed);
  }
  if (auto* witness = heap.witness.load(std::memory_order_relaxed))
    witness->store(1, std::memory_order_relaxed);
  heap.fork.fits = false;  // the parent's to release
  heap.forker.store(0, std::memory_order_relaxed);
  heap.sharing.reset();
  heap.mutex.reset();
}

void Guard::enter_slowly(std::int64_t patience_ns) {
  if (this_thread_forks())
    holds_ = false;
  else if (patience_ns == endless)
    heap.mutex.lock();
  else
    holds_ = in_ = heap.mutex.lock_within(patience_ns);
}

namespace {

// Parent and child would run on the same pages, and the child's copy would replace them meanwhile.
void refuse_shared_stack() {
  if (shared(__builtin_frame_address(0), 1) == nullptr) return;
  log::fatal(
      "process %d forks on a stack that lies in memory that ranks share, as malloc gives it; with "
      "TUTTI_COMMONS_MALLOC=never (or TUTTI_COMMONS_STATICS=0 if it is a static array) it does not",
      static_cast<int>(::getpid()));
  std::abort();
}

}  // namespace

void before_fork() {
  if (this_thread_forks()) return;  // a _Fork that is part of a fork
  refuse_shared_stack();
  int cancel = 0;
  ::pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);  // fork is no cancellation point
  sigset_t all, before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);  // no handler may see a child that is half made
  const int error = errno;
  if (is_stray_child()) become_exclusive();
  heap.mutex.lock();
  heap.sharing.lock();
  heap.extents.settle();
  heap.forker.store(::gettid(), std::memory_order_relaxed);
  heap.fork.signals = before;
  heap.fork.cancel = cancel;
  if (heap.mode.load(std::memory_order_relaxed) == Mode::shared) {
    (void)open_pipe(heap.fork.pipe);
    heap.fork.fits = os::refers_to(heap.fd, heap.file) && reserve_memory();
  }
  errno = error;
}

void after_fork_in_parent() {
  if (!this_thread_forks()) return;
  const int error = errno;  // of the fork
  close_end(heap.fork.pipe[1]);
  if (heap.fork.pipe[0] >= 0) {
    // A byte comes when the child has its copy, and the end when it has ended or was never made.
    char nothing;
    while (::read(heap.fork.pipe[0], &nothing, 1) < 0 && errno == EINTR) {
    }
    close_end(heap.fork.pipe[0]);
  }
  if (std::exchange(heap.fork.fits, false)) release_memory();
  const sigset_t signals = heap.fork.signals;
  const int cancel = heap.fork.cancel;
  heap.forker.store(0, std::memory_order_relaxed);
  heap.sharing.unlock();
  Guard::leave();
  ::pthread_sigmask(SIG_SETMASK, &signals, nullptr);
  ::pthread_setcancelstate(cancel, nullptr);
  errno = error;
}

void after_fork_in_child() {
  const int error = errno;
  if (heap.mode.load(std::memory_order_relaxed) == Mode::shared && heap.fork.pipe[1] < 0)
    give_up("no descriptor is free for the pipe that its parent waits on");
  become_exclusive();
  // The end of the pipe is not enough: another child, by a bare clone, may hold it, too.
  if (heap.fork.pipe[1] >= 0 && ::write(heap.fork.pipe[1], "", 1) != 1)
    give_up("its parent cannot be told that it has its copy");
  close_end(heap.fork.pipe[0]);
  close_end(heap.fork.pipe[1]);
  ::pthread_sigmask(SIG_SETMASK, &heap.fork.signals, nullptr);
  ::pthread_setcancelstate(heap.fork.cancel, nullptr);
  errno = error;
}

void reserve_with(const Reservation& reservation) {
  heap.reservation.store(&reservation, std::memory_order_release);
}

void watch_forks() {
  static std::atomic<bool> watching{false};
  if (watching.exchange(true, std::memory_order_relaxed)) return;
  ::pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
}

}  // namespace tutti::commons
