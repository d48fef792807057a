// SPDX-License-Identifier: BSD-3-Clause
#include "os/window.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <utility>

#include "base/base.h"
#include "os/mapping.h"

namespace tutti::os {
namespace {

constexpr std::size_t step_bytes = std::size_t{64} << 20;

std::mutex g_changing;  // of what is accessible; seldom, and any window

}  // namespace

Window::Window(Window&& other) noexcept
    : base_(std::exchange(other.base_, nullptr)),
      bytes_(other.bytes_),
      owner_(other.owner_),
      open_(other.open_.load()),
      blank_(other.blank_.load()) {}

bool Window::map(int fd, std::size_t bytes) {
  void* base = map_range(fd, bytes);
  if (base == nullptr) return false;
  base_ = static_cast<std::byte*>(base);
  bytes_ = bytes;
  return true;
}

void Window::unmap() {
  std::byte* const base = std::exchange(base_, nullptr);
  open_.store(0, std::memory_order_relaxed);
  // In a child there may be something else by now.
  if (base != nullptr && (owner_ == 0 || owner_ == ::getpid())) os::unmap(base, bytes_);
}

void Window::keep_from_children() {
  if (hide_from_children(base_, bytes_)) owner_ = ::getpid();
}

void Window::forget() const {
  if (base_ != nullptr) (void)drop_private(base_, open_.load());
}

void Window::end(bool accessible) {
  const std::lock_guard lock(g_changing);
  if (base_ == nullptr || is_blank()) return;
  // Before anybody can have read a zero that is none.
  blank_.store(true, std::memory_order_seq_cst);
  const std::size_t open = accessible ? open_.load(std::memory_order_relaxed) : 0;
  if (!replace_with_zeros(base_, open) || !replace_private(base_ + open, bytes_ - open, false))
    return log::info("what a rank that has gone had shared stays: no address space");
  (void)::munlock(base_, bytes_);  // what is inaccessible counts as well
  if (owner_ != 0) (void)hide_from_children(base_, bytes_);
}

void Window::open_more(std::size_t end) const {
  const std::lock_guard lock(g_changing);
  end = std::min(bytes_, round_up(end, step_bytes));
  if (end <= open_.load(std::memory_order_relaxed)) return;  // another thread was first
  if (::mprotect(base_, end, PROT_READ | PROT_WRITE) != 0) {
    log::fatal("no memory to map %zu bytes of what ranks share (mprotect: %s)", end,
               ::strerrorname_np(errno));
    std::abort();  // who asked is about to touch it
  }
  open_.store(end, std::memory_order_relaxed);
}

}  // namespace tutti::os
