// SPDX-License-Identifier: BSD-3-Clause
// Calls that have given a request: one of them, those that are under way, and those that have
// failed among the ones that a thread completes.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <utility>
#include <vector>

#include "engine/engine.h"
#include "engine/pending.h"
#include "fabric/task.h"
#include "mpi/call.h"
#include "mpi/entries.h"

namespace tutti::mpi {

// What a request is to the program. They differ in how one is given, and in what becomes of it when
// its collective is over.
enum class RequestKind : std::uint8_t {
  nonblocking,  // of MPI_Ix: begins as it is given, and is gone when it is completed
};

// One that has given a request. It is the MPI's, until that calls the request's free function, and
// Tutti's, until the collective is over; either may come first.
template <class H>
struct Started : engine::Pending {
  Started(const Native<H>& native, Layouts<H>& layouts, coll::Collective which, H comm, H world)
      : keeper(native, layouts, world), call(native, comm, which, &keeper) {}
  // One a call, from where coroutines come from.
  static void* operator new(std::size_t bytes) {
    static_assert(alignof(Started) <= alignof(std::max_align_t));
    return fabric::frames::allocate(bytes);
  }
  static void operator delete(void* started, std::size_t bytes) {
    fabric::frames::release(started, bytes);
  }
  // Of one that is in Given.
  static void release(Started* started) {
    if (started->owners.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
    g_requests_under_way.fetch_sub(1, std::memory_order_relaxed);
    delete started;
  }

  const RequestKind kind = RequestKind::nonblocking;
  Keeper<H> keeper;
  Call<H> call;
  H request{};
  std::atomic<int> owners{2};
  std::atomic<engine::ErrorCode> error_code{
      engine::ErrorCode::none};                 // before the request is completed
  Started *before = nullptr, *after = nullptr;  // in Given, then in Completed
};

// The requests that have been given, until their collectives are over; and what the program frees
// meanwhile, though the function of a reduction among them is to be called with it.
template <class H>
class Given {
 public:
  enum class Sort : std::uint8_t { operation, type };
  struct Freed {
    H handle;
    Sort sort;
  };

  void add(Started<H>& started) {
    g_requests_under_way.fetch_add(1, std::memory_order_relaxed);
    const std::lock_guard lock(mutex_);
    started.after = first_;
    if (first_ != nullptr) first_->before = &started;
    first_ = &started;
  }
  // free(freed) is called for what was needed by it alone.
  template <class Free>
  void remove(Started<H>& started, Free free) {
    std::unique_lock lock(mutex_);
    (started.before != nullptr ? started.before->after : first_) = started.after;
    if (started.after != nullptr) started.after->before = started.before;
    if (freed_.empty()) [[likely]]
      return;
    std::vector<Freed> over;
    std::erase_if(freed_, [&](const Freed& each) {
      const bool needed = needs(each);
      if (!needed) over.push_back(each);
      return !needed;
    });
    lock.unlock();
    for (const Freed& each : over) free(each);
  }
  [[nodiscard]] bool holds(H request) {
    const std::lock_guard lock(mutex_);
    return any([&](const Started<H>& each) { return each.request == request; });
  }
  // The program frees something. False: nothing needs it.
  [[nodiscard]] bool frees_later(const Freed& freed) {
    const std::lock_guard lock(mutex_);
    const bool needed = needs(freed);
    if (needed) freed_.push_back(freed);
    return needed;
  }

 private:
  template <class Is>
  [[nodiscard]] bool any(Is is) const {
    const Started<H>* each = first_;
    while (each != nullptr && !is(*each)) each = each->after;
    return each != nullptr;
  }
  [[nodiscard]] bool needs(const Freed& freed) const {
    return any([&](const Started<H>& each) {
      const Reduction<H>* reduction = each.call.reduction.get();
      return reduction != nullptr &&
             freed.handle == (freed.sort == Sort::type ? reduction->type : reduction->op);
    });
  }

  std::mutex mutex_;
  Started<H>* first_ = nullptr;
  std::vector<Freed> freed_;
};

// What has failed among the requests that a call of this thread completes. One may be in the midst
// of another: in a callback of the program's.
template <class H>
class Completed {
 public:
  Completed() : outer_(std::exchange(now_, this)) {}
  ~Completed() {
    now_ = outer_;
    while (first_ != nullptr) Started<H>::release(std::exchange(first_, first_->after));
  }
  Completed(const Completed&) = delete;
  Completed& operator=(const Completed&) = delete;

  // The MPI fills its status: it is over, and owned by the MPI until this returns.
  static void keep(Started<H>& started) {
    if (now_ == nullptr ||
        started.error_code.load(std::memory_order_relaxed) == engine::ErrorCode::none)
      return;
    if (now_->failed(started.request) != nullptr) return;
    started.owners.fetch_add(1, std::memory_order_relaxed);
    started.after = std::exchange(now_->first_, &started);
  }
  [[nodiscard]] const Started<H>* failed() const { return first_; }
  [[nodiscard]] const Started<H>* failed(H request) const {
    const Started<H>* each = first_;
    while (each != nullptr && each->request != request) each = each->after;
    return each;
  }

 private:
  static inline constinit thread_local Completed* now_ = nullptr;
  Completed* const outer_;
  Started<H>* first_ = nullptr;
};

}  // namespace tutti::mpi
