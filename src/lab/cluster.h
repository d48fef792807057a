// SPDX-License-Identifier: BSD-3-Clause
// lab/cluster: blocking collectives on nodes that are joined by a network, in virtual time. Ranks
// run the real coroutines over real desks and over messages, in one thread. Events are discrete and
// nothing is drawn, so a run is always the same.
//
// Every rank has a core. It has a time of its own, which may be ahead of the events': what it
// copies and folds, and the messages that it starts, take it time at once, and it is stopped where
// it waits. A store that another waits for is seen flag_ns later; a reader that finds it there pays
// a third of that (as choice::posts_ns).
//
// A message takes, in this order,
//   call_ns of the sender's core; up to eager_bytes also a copy, and another one of the receiver's.
//     Longer ones wait until both have started, and for two messages of no length
//   the sender's NIC, for startup_ns or as long as its bytes take, whichever is more
//   latency_ns, and the links between two switches where there are several: those of a switch are
//     one pipe, as if its messages were spread evenly over them
//   the receiver's NIC, for as long as the sender's
// Each of these serves one message after another, in the order in which they come. A message's
// bytes pass all of them at once (cut-through). Between ranks of one node it takes flag_ns and two
// copies.
//
// Nodes have no limit but their cores' speeds: the memory that cores share is not simulated.
#pragma once

#include <coroutine>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "fabric/node_map.h"
#include "fabric/wire.h"
#include "lab/desks.h"
#include "lab/provider.h"

namespace tutti::lab {

using fabric::NodeMap;
using fabric::Ticket;

struct Network {
  double bytes_per_ns = 1;      // of a NIC, each way
  std::int64_t latency_ns = 0;  // between two nodes of a switch
  std::int64_t hop_ns = 0;      // as much more between two switches
  std::int64_t startup_ns = 0;  // of a NIC: 1 / startup_ns messages a ns
  std::int64_t call_ns = 0;     // of a core: to start to send or to receive
  std::size_t eager_bytes = 0;  // of messages that are sent before they are received
  int switch_nodes = 0;         // nodes of a switch; 0: there is one switch
  double taper = 1;             // bandwidth of a switch's nodes over that of its links
};

struct ClusterMachine {
  double bytes_per_ns = 1;   // copied or folded by one core
  std::int64_t flag_ns = 0;  // from a store to another core's seeing it
  Network network;
};

class Cluster;

class ClusterProvider : public MappedProvider {
 public:
  ClusterProvider(Cluster& cluster, int rank) : cluster_(&cluster), rank_(rank) {}

  template <class Condition>
  struct Await {
    ClusterProvider& provider;
    Condition condition;
    Watch watch = {};
    // Whether members have left a line or a slot is known without a look at each, as a rule.
    static constexpr bool looks = !requires { Condition::comes_before_post; };
    inline bool await_ready();
    inline void await_suspend(std::coroutine_handle<> handle);
    decltype(auto) await_resume() {
      (void)condition.accept();
      return condition.resume();
    }
  };
  struct Pause {
    ClusterProvider& provider;
    std::size_t bytes;
    int transfers;
    bool await_ready() const noexcept { return bytes == 0; }
    inline void await_suspend(std::coroutine_handle<> handle);
    void await_resume() const noexcept {}
  };
  Pause pause(std::size_t bytes, int transfers) { return {*this, bytes, transfers}; }
  inline void spend(std::size_t bytes);
  static std::suspend_never on(Executor) { return {}; }

  inline void wake(const std::atomic<std::uint64_t>& word, const std::atomic<std::uint32_t>&);

 private:
  Cluster* cluster_;
  int rank_;
};

using ClusterFabric = DeskFabric<ClusterProvider>;
static_assert(Fabric<ClusterFabric>);

class ClusterWire {
 public:
  ClusterWire(Cluster& cluster, int rank) : cluster_(&cluster), rank_(rank) {}

  inline Ticket send(int member, const void* from, std::size_t bytes,
                     fabric::Whole whole = fabric::Whole::no);
  inline Ticket receive(int member, void* to, std::size_t bytes,
                        fabric::Whole whole = fabric::Whole::no);

  struct Await {
    ClusterWire& wire;
    Ticket ticket;
    inline bool await_ready() const;
    inline void await_suspend(std::coroutine_handle<> handle) const;
    inline void await_resume() const;
  };
  [[nodiscard]] Await done(Ticket ticket) { return {*this, ticket}; }
  void mismatch(int, std::uint64_t, std::uint64_t) { std::abort(); }
  void truncation(int, std::size_t, std::size_t) { std::abort(); }
  [[nodiscard]] std::byte* scratch(std::size_t bytes) { return scratch_.of(bytes); }

 private:
  Cluster* cluster_;
  int rank_;
  Scratch scratch_;
};
static_assert(fabric::Wire<ClusterWire>);

class Cluster {
 public:
  // Ranks are on the nodes of `places`. `groups` says whose memory they share: it is `places`, or
  // each rank is alone in it, and sends messages to all others.
  Cluster(const ClusterMachine& machine, const NodeMap& places, const NodeMap& groups);

  [[nodiscard]] int ranks() const { return places_.size(); }
  [[nodiscard]] ClusterFabric& fabric(int rank) { return *fabrics_[index(rank)]; }
  [[nodiscard]] ClusterWire& wire(int rank) { return wires_[index(rank)]; }
  [[nodiscard]] const NodeMap& map(int rank) const { return maps_[index(rank)]; }

  // Runs body(rank) for every rank, from its start on. False: some wait for what cannot happen any
  // more. To be called once.
  [[nodiscard]] bool run(const std::function<Task(int)>& body,
                         const std::function<std::int64_t(int)>& start_ns);

  [[nodiscard]] std::int64_t end_ns(int rank) const { return ranks_[index(rank)].end_ns; }
  // When the last rank was through.
  [[nodiscard]] std::int64_t end_ns() const;
  // What nodes have sent to each other.
  [[nodiscard]] std::uint64_t messages() const { return messages_; }
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }

 private:
  friend class ClusterProvider;
  friend class ClusterWire;

  struct Receive {
    std::byte* to;
    Ticket ticket;
  };
  struct Message {
    int from, to;  // ranks
    std::size_t bytes;
    const std::byte* data;  // the sender's, or `copy`
    std::vector<std::byte> copy;
    Ticket sent;  // of the sender
    bool eager;
    std::int64_t left_ns = 0;  // the last byte, as far as its receiver's node lets it
    bool arrived = false;      // an eager one, or the word of a longer one
    bool answered = false;     // which the receiver awaits
    std::optional<Receive> receive;
  };
  // From one rank to another; the nth that is sent is the nth that is received.
  struct Channel {
    std::vector<std::shared_ptr<Message>> sent;  // and not received yet
    std::vector<Receive> receives;               // not met by one yet
  };
  struct Rank {
    std::optional<Task> task;
    std::coroutine_handle<> handle;
    std::int64_t now_ns = 0;  // its own time
    std::int64_t end_ns = -1;
    // What it waits for: a condition, a message or nothing but time.
    bool (*poll)(void* awaiter) = nullptr;
    void* awaiter = nullptr;
    const Watch* watch = nullptr;
    std::int64_t look_ns = 0;  // what it takes to see that the condition holds
    Ticket awaited = 0;
    // Messages: tickets up to `ended` are done, and those in `done` behind it.
    Ticket last = 0, ended = 0;
    std::deque<bool> done;
    std::size_t to_copy = 0;                // bytes that have come to its MPI's buffers
    std::unordered_map<int, Channel> from;  // by sender
  };
  // Of a rank; and of a message: where it comes to, with its first byte or with the last.
  enum class Kind : std::uint8_t { start, look, go_on, sender_nic, receiver_nic, receiver };
  struct Event {
    std::int64_t at_ns;
    std::uint64_t order;  // first scheduled, first served
    Kind kind;
    int rank;
    std::shared_ptr<Message> message;
    bool operator>(const Event& other) const {
      return at_ns != other.at_ns ? at_ns > other.at_ns : order > other.order;
    }
  };

  static std::size_t index(int i) { return static_cast<std::size_t>(i); }
  [[nodiscard]] std::int64_t copying_ns(std::size_t bytes) const;
  [[nodiscard]] std::int64_t nic_ns(std::size_t bytes) const;   // for a message
  [[nodiscard]] std::int64_t link_ns(std::size_t bytes) const;  // of a switch's links
  [[nodiscard]] std::size_t switch_of(int rank) const;
  [[nodiscard]] bool are_near(const Message& message) const {
    return places_.node_of(message.from) == places_.node_of(message.to);
  }
  [[nodiscard]] std::int64_t latency_ns(const Message& message) const;

  // Of the rank that runs.
  void spend(int rank, std::int64_t ns) { ranks_[index(rank)].now_ns += ns; }
  [[nodiscard]] bool is_ahead(int rank) const { return ranks_[index(rank)].now_ns > now_ns_; }
  void sleep(int rank, std::coroutine_handle<> handle);
  void wait(int rank, std::coroutine_handle<> handle, bool (*poll)(void*), void* awaiter,
            const Watch* watch, std::int64_t look_ns);
  void wake(int rank, const std::atomic<std::uint64_t>& word);
  Ticket send(int rank, int to, const void* from, std::size_t bytes);
  Ticket receive(int rank, int from, void* to, std::size_t bytes);
  void wait_for(int rank, std::coroutine_handle<> handle, Ticket ticket);
  void unpack_arrived(int rank);

  void start(int rank);
  void go_on(int rank);
  void look(int rank);
  void watch(int rank);
  void match(int from, int to);
  void let_pass(const std::shared_ptr<Message>& message, std::int64_t at_ns);
  void arrive(const std::shared_ptr<Message>& message);
  void deliver(const Message& message);
  void end_message(int rank, Ticket ticket);
  void schedule(std::int64_t at_ns, Kind kind, int rank,
                std::shared_ptr<Message> message = nullptr);
  void happen(const Event& event);
  void leave(const std::shared_ptr<Message>& message);
  void come(const std::shared_ptr<Message>& message);

  ClusterMachine machine_;
  NodeMap places_;
  std::vector<NodeMap> maps_;
  std::vector<std::unique_ptr<VirtualDesks>> desks_;  // by group
  std::vector<std::unique_ptr<ClusterProvider>> providers_;
  std::vector<std::unique_ptr<ClusterFabric>> fabrics_;
  std::vector<ClusterWire> wires_;
  const std::function<Task(int)>* body_ = nullptr;
  std::vector<Rank> ranks_;
  std::int64_t now_ns_ = 0;
  std::uint64_t events_ = 0;
  std::vector<Event> future_;                                   // a heap, the next one first
  std::unordered_map<const void*, std::vector<int>> watchers_;  // ranks that wait for a word
  // When each is free again: by node, and by switch.
  std::vector<std::int64_t> out_free_ns_, in_free_ns_;
  std::vector<std::int64_t> up_free_ns_, down_free_ns_;
  std::uint64_t messages_ = 0, bytes_ = 0;
};

// Nobody posts anything before its time. (What it finishes, lands or produces is seen at once, even
// if spend() has put it ahead.)
template <class Condition>
bool ClusterProvider::Await<Condition>::await_ready() {
  return !looks && !provider.cluster_->is_ahead(provider.rank_) && condition.poll(watch);
}
template <class Condition>
void ClusterProvider::Await<Condition>::await_suspend(std::coroutine_handle<> handle) {
  const auto poll = [](void* awaiter) {
    auto* self = static_cast<Await*>(awaiter);
    return self->condition.poll(self->watch);
  };
  provider.cluster_->wait(provider.rank_, handle, poll, this, &watch,
                          looks ? provider.cluster_->machine_.flag_ns / 3 : 0);
}
inline void ClusterProvider::Pause::await_suspend(std::coroutine_handle<> handle) {
  provider.cluster_->spend(provider.rank_, provider.cluster_->copying_ns(bytes) +
                                               transfers * provider.cluster_->machine_.flag_ns);
  provider.cluster_->sleep(provider.rank_, handle);
}
inline void ClusterProvider::spend(std::size_t bytes) {
  cluster_->spend(rank_, cluster_->copying_ns(bytes));
}
inline void ClusterProvider::wake(const std::atomic<std::uint64_t>& word,
                                  const std::atomic<std::uint32_t>&) {
  cluster_->wake(rank_, word);
}
inline Ticket ClusterWire::send(int member, const void* from, std::size_t bytes, fabric::Whole) {
  return cluster_->send(rank_, member, from, bytes);
}
inline Ticket ClusterWire::receive(int member, void* to, std::size_t bytes, fabric::Whole) {
  return cluster_->receive(rank_, member, to, bytes);
}
inline bool ClusterWire::Await::await_ready() const { return ticket == 0; }
inline void ClusterWire::Await::await_suspend(std::coroutine_handle<> handle) const {
  wire.cluster_->wait_for(wire.rank_, handle, ticket);
}
inline void ClusterWire::Await::await_resume() const { wire.cluster_->unpack_arrived(wire.rank_); }

}  // namespace tutti::lab
