// SPDX-License-Identifier: BSD-3-Clause
// A collective that a team takes, with all that must live until it is over: to the end of the
// function that was called, or of the request that it has given.
#pragma once

#include <algorithm>
#include <atomic>
#include <mutex>
#include <span>
#include <vector>

#include "engine/engine.h"
#include "fabric/task.h"
#include "mpi/entries.h"
#include "mpi/side.h"

namespace tutti::mpi {

template <class H>
struct Call {
  // `keeper`: of a nonblocking one.
  Call(const Native<H>& native, H communicator, Keeper<H>* keeper = nullptr)
      : site{native, communicator, keeper} {}

  // To be called once both sides are complete. In place, what is received leaves the own block.
  void settle() {
    out.settle(true);
    in.settle(out.empty());
  }
  // When it is over: to where only the MPI, or a layout, can put it.
  void unpack() { in.unpack(); }
  [[nodiscard]] bool blocking() const { return site.keeper == nullptr; }

  const Site<H> site;
  coll::Collective collective = coll::Collective::barrier;
  engine::Team* team = nullptr;
  coll::Work work;
  Side<H> out{site}, in{site};  // what is sent, what is received
  Few<coll::Slice> parts;       // of what is computed
  Temporary copy;
};

// One that has given a request. It is the MPI's, until that calls the request's free function, and
// Tutti's, until the collective is over; either may come first.
template <class H>
struct Started : engine::Pending {
  Started(const Native<H>& native, Layouts<H>& layouts, H comm, H world, H none)
      : keeper(native, layouts, world, none), call(native, comm, &keeper) {}
  // One a call, from where coroutines come from.
  static void* operator new(std::size_t bytes) {
    static_assert(alignof(Started) <= alignof(std::max_align_t));
    return fabric::frames::allocate(bytes);
  }
  static void operator delete(void* started, std::size_t bytes) {
    fabric::frames::release(started, bytes);
  }
  static void release(Started* started) {
    if (started->owners.fetch_sub(1, std::memory_order_acq_rel) == 1) delete started;
  }

  Keeper<H> keeper;
  Call<H> call;
  H request{};
  std::atomic<int> owners{2};
  Started *before = nullptr, *after = nullptr;  // in Requests
};

// The requests that have been given and not yet completed, and those among the completed whose
// collective has met an error that the program has not been told of.
template <class H>
class Requests {
 public:
  struct Failure {
    H request;
    H comm;
    int code;
  };

  void add(Started<H>& started) {
    g_requests_under_way.fetch_add(1, std::memory_order_relaxed);
    const std::lock_guard lock(mutex_);
    started.after = first_;
    if (first_ != nullptr) first_->before = &started;
    first_ = &started;
  }
  void remove(Started<H>& started) {
    g_requests_under_way.fetch_sub(1, std::memory_order_relaxed);
    const std::lock_guard lock(mutex_);
    (started.before != nullptr ? started.before->after : first_) = started.after;
    if (started.after != nullptr) started.after->before = started.before;
  }
  [[nodiscard]] bool holds(H request) {
    const std::lock_guard lock(mutex_);
    for (const Started<H>* each = first_; each != nullptr; each = each->after)
      if (each->request == request) return true;
    return false;
  }

  [[nodiscard]] bool any_failed() const { return failures_.load(std::memory_order_relaxed) != 0; }
  void fail(const Failure& failure) {
    g_requests_under_way.fetch_add(1, std::memory_order_relaxed);
    const std::lock_guard lock(mutex_);
    failed_.push_back(failure);
    failures_.store(failed_.size(), std::memory_order_relaxed);
  }
  // Forgets it. False: it has not failed.
  [[nodiscard]] bool take_failure(H request, Failure& failure) {
    const std::lock_guard lock(mutex_);
    const auto found = std::find_if(failed_.begin(), failed_.end(),
                                    [&](const Failure& each) { return each.request == request; });
    if (found == failed_.end()) return false;
    failure = *found;
    failed_.erase(found);
    g_requests_under_way.fetch_sub(1, std::memory_order_relaxed);
    failures_.store(failed_.size(), std::memory_order_relaxed);
    return true;
  }

 private:
  std::mutex mutex_;
  Started<H>* first_ = nullptr;
  std::vector<Failure> failed_;
  std::atomic<std::size_t> failures_{0};
};

}  // namespace tutti::mpi
