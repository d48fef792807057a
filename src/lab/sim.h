// SPDX-License-Identifier: BSD-3-Clause
// lab/sim: many virtual ranks in one thread. Each runs the real coroutines over real desks. A
// seeded scheduler picks who goes on, so that one seed is one interleaving and can be run again.
//
// A rank can be overtaken wherever the others can tell the difference. One such place is every
// wait: the rank is suspended even if it need not wait. Two more are in the midst of its work:
// right after a store that others look at, and right before it touches a peer's memory. There
// others run on top of it.
#pragma once

#include <algorithm>
#include <coroutine>
#include <functional>
#include <memory>
#include <random>
#include <span>
#include <vector>

#include "fabric/node_map.h"
#include "lab/desks.h"
#include "lab/lab.h"
#include "memory/transport.h"

namespace tutti::lab {

class Simulator;

class SimProvider {
 public:
  SimProvider(Simulator& simulator, const fabric::NodeMap& map)
      : simulator_(&simulator), map_(&map), rank_(map.rank()) {}

  template <class Condition>
  struct Await {
    SimProvider& provider;
    Condition condition;
    bool await_ready() const noexcept { return false; }
    inline void await_suspend(std::coroutine_handle<> handle);
    decltype(auto) await_resume() {
      (void)condition.accept();  // counted, and nothing else
      return condition.resume();
    }
  };
  struct Pause {
    SimProvider& provider;
    bool await_ready() const noexcept { return false; }
    inline void await_suspend(std::coroutine_handle<> handle);
    void await_resume() const noexcept {}
  };
  Pause pause(std::size_t, int) { return {*this}; }
  static void spend(std::size_t) {}
  void step_aside() {}
  static bool may_fold() { return true; }
  static bool has_read_in_vain() { return false; }
  Pause on(Executor) { return {*this}; }

  void wake(const std::atomic<std::uint64_t>&, const std::atomic<std::uint32_t>&);
  void take(Route) {}
  void begin_work() {}
  void begin_shared_work() {}
  void end_work() {}
  void mismatch(int peer, std::uint64_t theirs, std::uint64_t mine);
  void truncation(int peer, std::size_t sent, std::size_t room);
  void withdrawn(int) { std::abort(); }  // members are never wary here

  // How this rank's buffers can be reached is drawn anew for each of them.
  [[nodiscard]] Card offer(const void* buffer, std::size_t bytes, bool full = true);
  void populate(const void*, std::size_t) const {}
  [[nodiscard]] std::byte* map(int peer, const Card& card) const;
  void read(int peer, const Card& card, std::size_t offset, void* to, std::size_t bytes);
  void write(int peer, const Card& card, std::size_t offset, const void* from, std::size_t bytes);
  [[nodiscard]] std::byte* scratch(std::size_t bytes);

 private:
  Simulator* simulator_;
  const fabric::NodeMap* map_;
  int rank_;
  std::unique_ptr<std::byte[]> scratch_;
  std::size_t scratch_bytes_ = 0;
};

using SimFabric = DeskFabric<SimProvider>;
static_assert(Fabric<SimFabric>);

class Simulator {
 public:
  // One of `transports` is drawn for each buffer that is offered.
  // Steps are counted from `before` on. All ranks are on one node.
  Simulator(int ranks, std::uint64_t seed,
            memory::TransportSet transports = memory::TransportSet::all(), Step before = 0);
  // Rank i is on node hosts[i], and a fabric's members are those of its node.
  Simulator(std::span<const std::int32_t> hosts, std::uint64_t seed,
            memory::TransportSet transports = memory::TransportSet::all(), Step before = 0);
  Simulator(const Simulator&) = delete;
  Simulator& operator=(const Simulator&) = delete;

  [[nodiscard]] int ranks() const { return static_cast<int>(fabrics_.size()); }
  [[nodiscard]] SimFabric& fabric(int rank) { return *fabrics_[static_cast<std::size_t>(rank)]; }
  // Who is where, as this rank sees it.
  [[nodiscard]] const fabric::NodeMap& map(int rank) const {
    return maps_[static_cast<std::size_t>(rank)];
  }
  std::mt19937_64& random() { return random_; }

  // Starts body(fabric) for every rank, in random order, and runs until all have ended. False: some
  // wait for what cannot happen any more. `stuck` then counts them, and the simulator cannot be
  // used again.
  using Body = std::function<Task(SimFabric&)>;
  [[nodiscard]] bool run(const Body& body, int* stuck = nullptr);
  // The same with body(rank).
  [[nodiscard]] bool run_ranks(const std::function<Task(int)>& body, int* stuck = nullptr);

  // Mismatched calls noticed so far.
  [[nodiscard]] int mismatches() const { return mismatches_; }
  // So far: kernel copies of buffers whose card does not allow it; buffers that were offered when a
  // peer had written to them in the same call, or, of whole ones, a message could come; messages of
  // whole buffers that the rank has mapped.
  [[nodiscard]] int trespasses() const { return trespasses_; }
  // How often a buffer was offered.
  [[nodiscard]] int offers() const { return offers_; }
  // A hash of who ran when: equal for equal schedules.
  [[nodiscard]] std::uint64_t schedule() const { return schedule_; }

 private:
  friend class SimProvider;
  friend class SimWire;

  // A rank that has suspended itself; no handle: it runs, or has ended.
  struct Suspended {
    std::coroutine_handle<> handle;
    bool (*ready)(void* awaiter) = nullptr;
    void* awaiter = nullptr;  // lives in the suspended frame, so it is good until the resumption
  };
  void suspend(int rank, const Suspended& state) {
    suspended_[static_cast<std::size_t>(rank)] = state;
  }
  // Lets one rank that can go on do so, up to its next wait. False when none can.
  bool turn();
  // A point in the midst of a rank's work at which others may get some turns.
  void interrupt();

  std::mt19937_64 random_;
  memory::TransportSet transports_;
  // Ranks are tried in the order of order_. One turn in calm_ reshuffles it. So with a large calm_
  // some ranks run far ahead and others far behind.
  std::vector<int> order_;
  unsigned calm_;
  int depth_ = 0;  // of interrupts within interrupts
  int mismatches_ = 0;
  int trespasses_ = 0;
  int offers_ = 0;
  std::uint64_t schedule_ = 0;
  // Memory of a rank, for as long as `until` is not another number.
  struct Place {
    fabric::Bytes bytes;
    std::uint64_t until;
  };
  class Places {
   public:
    void add(fabric::Bytes bytes, std::uint64_t until) {
      std::erase_if(all_, [until](const Place& place) { return place.until != until; });
      all_.push_back({bytes, until});
    }
    void clear() { all_.clear(); }
    // It is given back.
    void drop(fabric::Bytes bytes) {
      std::erase_if(all_, [bytes](const Place& place) { return overlap(place.bytes, bytes); });
    }
    // What begins there; or nothing.
    [[nodiscard]] fabric::Bytes at(const std::byte* begin) const {
      for (const Place& place : all_)
        if (place.bytes.data() == begin) return place.bytes;
      return {};
    }
    // How many share a byte with these.
    [[nodiscard]] int count(fabric::Bytes bytes, std::uint64_t until) const {
      return static_cast<int>(std::ranges::count_if(all_, [&](const Place& place) {
        return place.until == until && overlap(place.bytes, bytes);
      }));
    }

   private:
    std::vector<Place> all_;
  };
  [[nodiscard]] static bool overlap(fabric::Bytes one, fabric::Bytes other) {
    return !one.empty() && !other.empty() && one.data() < other.data() + other.size() &&
           other.data() < one.data() + one.size();
  }
  // By rank: what peers have written to, until the next stage; whole buffers that it has offered,
  // and those of peers that it has mapped, until the next call.
  std::vector<Places> written_, offered_, mapped_;
  // Memory is given back, and may be anybody's.
  void give_back(fabric::Bytes bytes) {
    for (auto* all : {&offered_, &mapped_})
      for (Places& places : *all) places.drop(bytes);
  }
  // Where messages that a rank awaits may be written to at any time.
  std::vector<std::vector<fabric::Bytes>> receiving_;  // by rank
  std::vector<fabric::NodeMap> maps_;                  // by rank
  VirtualDesks desks_;                                 // a node's follow each other
  std::vector<std::unique_ptr<SimProvider>> providers_;
  std::vector<std::unique_ptr<SimFabric>> fabrics_;
  std::vector<Suspended> suspended_;  // by rank
};

template <class Condition>
void SimProvider::Await<Condition>::await_suspend(std::coroutine_handle<> handle) {
  const auto ready = [](void* awaiter) {
    Watch ignored;
    return static_cast<Await*>(awaiter)->condition.poll(ignored);
  };
  provider.simulator_->suspend(provider.rank_, {handle, ready, this});
}

inline void SimProvider::Pause::await_suspend(std::coroutine_handle<> handle) {
  provider.simulator_->suspend(provider.rank_, {handle, [](void*) { return true; }, nullptr});
}

}  // namespace tutti::lab
