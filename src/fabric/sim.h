// SPDX-License-Identifier: BSD-3-Clause
// fabric/sim: many virtual ranks in one thread. Each runs the real coroutines over real desks;
// where it would wait it is suspended, and a seeded scheduler picks who goes on, so that one seed
// is one interleaving and any seed can be run again.
#pragma once

#include <coroutine>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <random>
#include <vector>

#include "fabric/desk_fabric.h"

namespace tutti::fabric {

class Simulator;

class SimHost {
 public:
  SimHost(Simulator& simulator, int rank) : simulator_(&simulator), rank_(rank) {}

  template <class Condition>
  struct Await {
    SimHost& host;
    Condition condition;
    bool await_ready() const noexcept { return false; }  // anybody may overtake at any wait
    inline void await_suspend(std::coroutine_handle<> handle);
    decltype(auto) await_resume() { return condition.resume(); }
  };
  struct Pause {
    SimHost& host;
    bool await_ready() const noexcept { return false; }
    inline void await_suspend(std::coroutine_handle<> handle);
    void await_resume() const noexcept {}
  };
  Pause pause() { return {*this}; }

  void wake(const std::atomic<std::uint64_t>&, const std::atomic<std::uint32_t>&) {}
  void take(Route) {}
  void mismatch(int peer, std::uint64_t theirs, std::uint64_t mine);

  // How this rank's buffers can be reached is drawn anew for each of them.
  [[nodiscard]] Card offer(const void* buffer, std::size_t bytes);
  [[nodiscard]] std::byte* map(int peer, const Card& card) const;
  void read(int peer, const Card& card, std::size_t offset, void* to, std::size_t bytes);
  void write(int peer, const Card& card, std::size_t offset, const void* from, std::size_t bytes);
  [[nodiscard]] std::byte* scratch(std::size_t bytes);

 private:
  Simulator* simulator_;
  int rank_;
  std::vector<std::byte> scratch_;
};

using SimFabric = DeskFabric<SimHost>;
static_assert(Fabric<SimFabric>);

// Which ways simulated buffers may have; one is drawn for each buffer that is offered.
struct SimWays {
  bool mapped = true;
  bool copied = true;
  bool staged = true;
};

class Simulator {
 public:
  Simulator(int ranks, std::uint64_t seed, SimWays ways);

  [[nodiscard]] int ranks() const { return static_cast<int>(fabrics_.size()); }
  [[nodiscard]] SimFabric& fabric(int rank) { return *fabrics_[static_cast<std::size_t>(rank)]; }
  std::mt19937_64& random() { return random_; }

  // Starts body(rank) for every rank, in random order, and runs until all have ended. False when
  // some wait for what cannot happen any more; `stuck` then counts them, and the simulator cannot
  // be used again.
  using Body = std::function<Task(SimFabric&)>;
  [[nodiscard]] bool run(const Body& body, int* stuck = nullptr);

  // Mismatched calls noticed so far.
  [[nodiscard]] int mismatches() const { return mismatches_; }

 private:
  friend class SimHost;

  struct Suspended {
    std::coroutine_handle<> handle;
    std::function<bool()> ready;
  };
  void suspend(std::coroutine_handle<> handle, std::function<bool()> ready) {
    suspended_.push_back({handle, std::move(ready)});
  }

  std::mt19937_64 random_;
  SimWays ways_;
  int mismatches_ = 0;
  std::byte* memory_;  // of the desks
  std::size_t memory_bytes_;
  std::vector<Desk*> desks_;
  std::vector<std::unique_ptr<SimHost>> hosts_;
  std::vector<std::unique_ptr<SimFabric>> fabrics_;
  std::vector<Suspended> suspended_;

 public:
  ~Simulator();
  Simulator(const Simulator&) = delete;
  Simulator& operator=(const Simulator&) = delete;
};

template <class Condition>
void SimHost::Await<Condition>::await_suspend(std::coroutine_handle<> handle) {
  // The awaiter lives in the suspended frame, so its address is good until the resumption.
  host.simulator_->suspend(handle, [this] {
    Watch ignored;
    return condition.poll(ignored);
  });
}

inline void SimHost::Pause::await_suspend(std::coroutine_handle<> handle) {
  host.simulator_->suspend(handle, [] { return true; });
}

}  // namespace tutti::fabric
