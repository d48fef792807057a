// SPDX-License-Identifier: BSD-3-Clause
#include "lab/cluster.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace tutti::lab {

Cluster::Cluster(const ClusterMachine& machine, const NodeMap& places, const NodeMap& groups)
    : machine_(machine), places_(places), ranks_(index(places.size())) {
  const auto nodes = index(places.nodes());
  out_free_ns_.resize(nodes);
  in_free_ns_.resize(nodes);
  up_free_ns_.resize(nodes);
  down_free_ns_.resize(nodes);
  for (int group = 0; group < groups.nodes(); ++group)
    desks_.push_back(
        std::make_unique<VirtualDesks>(static_cast<int>(groups.members(group).size())));
  for (int rank = 0; rank < ranks(); ++rank) {
    maps_.emplace_back(groups, rank);
    providers_.push_back(std::make_unique<ClusterProvider>(*this, rank));
    fabrics_.push_back(std::make_unique<ClusterFabric>(
        *providers_.back(), desks_[index(groups.node_of(rank))]->all(), groups.place_of(rank)));
    wires_.emplace_back(*this, rank);
  }
}

bool Cluster::run(const std::function<Task(int)>& body,
                  const std::function<std::int64_t(int)>& start_ns) {
  body_ = &body;
  for (int rank = 0; rank < ranks(); ++rank) schedule(start_ns(rank), Kind::start, rank);
  while (!future_.empty()) {
    std::ranges::pop_heap(future_, std::greater<>());
    const Event event = std::move(future_.back());
    future_.pop_back();
    now_ns_ = event.at_ns;
    happen(event);
  }
  return std::ranges::all_of(ranks_, [](const Rank& rank) { return rank.end_ns >= 0; });
}

std::int64_t Cluster::end_ns() const {
  std::int64_t last = 0;
  for (const Rank& rank : ranks_) last = std::max(last, rank.end_ns);
  return last;
}

std::int64_t Cluster::copying_ns(std::size_t bytes) const {
  return std::llround(static_cast<double>(bytes) / machine_.bytes_per_ns);
}

std::int64_t Cluster::nic_ns(std::size_t bytes) const {
  const Network& network = machine_.network;
  return std::max<std::int64_t>(network.startup_ns,
                                std::llround(static_cast<double>(bytes) / network.bytes_per_ns));
}

std::int64_t Cluster::link_ns(std::size_t bytes) const {
  const Network& network = machine_.network;
  const double whole = network.bytes_per_ns * network.switch_nodes / network.taper;
  return std::llround(static_cast<double>(bytes) / whole);
}

std::size_t Cluster::switch_of(int rank) const {
  const int nodes = machine_.network.switch_nodes;
  return nodes == 0 ? 0 : index(places_.node_of(rank) / nodes);
}

std::int64_t Cluster::latency_ns(const Message& message) const {
  if (are_near(message)) return machine_.flag_ns;
  const bool hops = switch_of(message.from) != switch_of(message.to);
  return machine_.network.latency_ns + (hops ? machine_.network.hop_ns : 0);
}

void Cluster::schedule(std::int64_t at_ns, Kind kind, int rank, std::shared_ptr<Message> message) {
  future_.push_back({at_ns, ++events_, kind, rank, std::move(message)});
  std::ranges::push_heap(future_, std::greater<>());
}

void Cluster::happen(const Event& event) {
  switch (event.kind) {
    case Kind::start:
      return start(event.rank);
    case Kind::look:
      return look(event.rank);
    case Kind::go_on:
      return go_on(event.rank);
    case Kind::sender_nic:
      return leave(event.message);
    case Kind::receiver_nic:
      return come(event.message);
    case Kind::receiver:
      return arrive(event.message);
  }
}

// Its first byte goes ahead; the links between two switches, and the receiver's NIC, may keep back
// the last one.
void Cluster::leave(const std::shared_ptr<Message>& message) {
  std::int64_t& free_ns = out_free_ns_[index(places_.node_of(message->from))];
  const std::int64_t begin = std::max(now_ns_, free_ns);
  free_ns = begin + nic_ns(message->bytes);
  message->left_ns = free_ns + latency_ns(*message);
  schedule(begin + latency_ns(*message), Kind::receiver_nic, message->to, message);
}

void Cluster::come(const std::shared_ptr<Message>& message) {
  const auto pass = [&](std::int64_t& free_ns, std::int64_t taken_ns) {
    free_ns = std::max(now_ns_, free_ns) + taken_ns;
    message->left_ns = std::max(message->left_ns, free_ns);
  };
  const std::size_t from = switch_of(message->from), to = switch_of(message->to);
  if (from != to) {
    pass(up_free_ns_[from], link_ns(message->bytes));
    pass(down_free_ns_[to], link_ns(message->bytes));
  }
  pass(in_free_ns_[index(places_.node_of(message->to))], nic_ns(message->bytes));
  schedule(message->left_ns, Kind::receiver, message->to, message);
}

void Cluster::start(int rank) {
  Rank& it = ranks_[index(rank)];
  it.now_ns = now_ns_;
  it.task.emplace((*body_)(rank));
  if (it.task->done()) it.end_ns = it.now_ns;
}

void Cluster::go_on(int rank) {
  Rank& it = ranks_[index(rank)];
  it.now_ns = now_ns_;
  it.handle.resume();
  if (it.task->done()) it.end_ns = it.now_ns;
}

void Cluster::sleep(int rank, std::coroutine_handle<> handle) {
  Rank& it = ranks_[index(rank)];
  it.handle = handle;
  schedule(it.now_ns, Kind::go_on, rank);
}

void Cluster::wait(int rank, std::coroutine_handle<> handle, bool (*poll)(void*), void* awaiter,
                   const Watch* watch, std::int64_t look_ns) {
  Rank& it = ranks_[index(rank)];
  it.handle = handle;
  it.poll = poll;
  it.awaiter = awaiter;
  it.watch = watch;
  it.look_ns = look_ns;
  if (is_ahead(rank))
    schedule(it.now_ns, Kind::look, rank);
  else
    look(rank);
}

void Cluster::look(int rank) {
  Rank& it = ranks_[index(rank)];
  if (it.poll(it.awaiter))
    schedule(now_ns_ + it.look_ns, Kind::go_on, rank);
  else
    watch(rank);
}

void Cluster::watch(int rank) { watchers_[ranks_[index(rank)].watch->word].push_back(rank); }

// A wait for all members looks at one of them after the other.
void Cluster::wake(int rank, const std::atomic<std::uint64_t>& word) {
  const auto found = watchers_.find(&word);
  if (found == watchers_.end()) return;
  const std::vector<int> waiting = std::move(found->second);
  watchers_.erase(found);
  const std::int64_t seen_ns = ranks_[index(rank)].now_ns + machine_.flag_ns;
  for (const int other : waiting) {
    Rank& it = ranks_[index(other)];
    if (it.poll(it.awaiter))
      schedule(seen_ns, Kind::go_on, other);
    else
      watch(other);
  }
}

Ticket Cluster::send(int rank, int to, const void* from, std::size_t bytes) {
  Rank& it = ranks_[index(rank)];
  const auto message =
      std::make_shared<Message>(Message{.from = rank,
                                        .to = to,
                                        .bytes = bytes,
                                        .data = static_cast<const std::byte*>(from),
                                        .copy = {},
                                        .sent = ++it.last,
                                        .eager = bytes <= machine_.network.eager_bytes,
                                        .receive = {}});
  it.done.push_back(false);
  it.now_ns += machine_.network.call_ns;
  if (message->eager) {
    message->copy.assign(message->data, message->data + bytes);
    message->data = message->copy.data();
    it.now_ns += copying_ns(bytes);
    end_message(rank, message->sent);
    let_pass(message, it.now_ns);
  } else {
    schedule(it.now_ns + latency_ns(*message), Kind::receiver, to, message);
  }
  if (!are_near(*message)) {
    ++messages_;
    bytes_ += bytes;
  }
  ranks_[index(to)].from[rank].sent.push_back(message);
  match(rank, to);
  return message->sent;
}

Ticket Cluster::receive(int rank, int from, void* to, std::size_t) {
  Rank& it = ranks_[index(rank)];
  it.now_ns += machine_.network.call_ns;
  it.done.push_back(false);
  const Ticket ticket = ++it.last;
  it.from[from].receives.push_back({static_cast<std::byte*>(to), ticket});
  match(from, rank);
  return ticket;
}

void Cluster::match(int from, int to) {
  std::unordered_map<int, Channel>& channels = ranks_[index(to)].from;
  const auto found = channels.find(from);
  Channel& channel = found->second;
  if (channel.sent.empty() || channel.receives.empty()) return;
  const std::shared_ptr<Message> message = std::move(channel.sent.front());
  message->receive = channel.receives.front();
  channel.sent.erase(channel.sent.begin());
  channel.receives.erase(channel.receives.begin());
  if (channel.sent.empty() && channel.receives.empty()) channels.erase(found);
  if (message->arrived) arrive(message);
}

// Its bytes leave the sender.
void Cluster::let_pass(const std::shared_ptr<Message>& message, std::int64_t at_ns) {
  if (are_near(*message))
    schedule(at_ns + machine_.flag_ns, Kind::receiver, message->to, message);
  else
    schedule(at_ns, Kind::sender_nic, message->from, message);
}

// An eager message comes to its receiver. Of a longer one first the word of it comes, and it is
// sent when that one has said that it is awaited.
void Cluster::arrive(const std::shared_ptr<Message>& message) {
  const bool is_word = !message->eager && !message->answered;
  message->arrived = true;
  if (!message->receive) return;
  if (!is_word) return deliver(*message);
  message->answered = true;
  const std::int64_t at_ns = std::max(now_ns_, ranks_[index(message->to)].now_ns);
  const std::int64_t copied_ns = are_near(*message) ? copying_ns(message->bytes) : 0;
  let_pass(message, at_ns + latency_ns(*message) + copied_ns);
}

void Cluster::deliver(const Message& message) {
  if (message.bytes > 0) std::memcpy(message.receive->to, message.data, message.bytes);
  if (message.eager)
    ranks_[index(message.to)].to_copy += message.bytes;
  else
    end_message(message.from, message.sent);
  end_message(message.to, message.receive->ticket);
}

void Cluster::end_message(int rank, Ticket ticket) {
  Rank& it = ranks_[index(rank)];
  it.done[ticket - it.ended - 1] = true;
  while (!it.done.empty() && it.done.front()) {
    it.done.pop_front();
    ++it.ended;
  }
  if (it.awaited == 0 || it.ended < it.awaited) return;
  it.awaited = 0;
  schedule(std::max(now_ns_, it.now_ns), Kind::go_on, rank);
}

void Cluster::wait_for(int rank, std::coroutine_handle<> handle, Ticket ticket) {
  Rank& it = ranks_[index(rank)];
  it.handle = handle;
  if (it.ended >= ticket)
    schedule(it.now_ns, Kind::go_on, rank);
  else
    it.awaited = ticket;
}

void Cluster::unpack_arrived(int rank) {
  Rank& it = ranks_[index(rank)];
  it.now_ns += copying_ns(std::exchange(it.to_copy, 0));
}

}  // namespace tutti::lab
