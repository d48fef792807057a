// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstddef>

namespace tutti::os {

// A shared mapping of a sparse file. Only its front part is accessible, as far as that has been in
// use: mlockall() and core dumps would fill the rest with memory.
class Window {
 public:
  Window() = default;
  ~Window() { unmap(); }
  Window(Window&& other) noexcept;
  Window& operator=(Window&&) = delete;

  // False, and errno, when there is no address space. The descriptor may be closed afterwards.
  [[nodiscard]] bool map(int fd, std::size_t bytes);
  void unmap();
  // Forked children do not have it: one that stays would keep the memory of processes that have
  // gone.
  void keep_from_children();
  // Takes its pages out of the page table of this process, where they count as its resident memory;
  // what is touched comes back.
  void forget() const;
  // These end what is mapped: the file is no longer kept. The first of them that is called does it.
  // Any thread may call them, and neither costs memory, even after mlockall().
  //  - From now on it holds zeros, and what is written into it is seen here alone. Threads that
  //    read or write meanwhile may go on.
  void blank() { end(true); }
  //  - Nobody reads or writes any more.
  void close() { end(false); }
  [[nodiscard]] bool is_blank() const { return blank_.load(std::memory_order_acquire); }

  [[nodiscard]] std::byte* base() const { return base_; }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }
  // Makes [0, end) accessible. Any thread may call this.
  void open_to(std::size_t end) const {
    if (end > open_.load(std::memory_order_relaxed)) [[unlikely]]
      open_more(end);
  }

 private:
  void open_more(std::size_t end) const;
  void end(bool accessible);

  std::byte* base_ = nullptr;
  std::size_t bytes_ = 0;
  pid_t owner_ = 0;  // who alone has it; 0: children, too
  mutable std::atomic<std::size_t> open_{0};
  std::atomic<bool> blank_{false};
};

}  // namespace tutti::os
