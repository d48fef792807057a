// SPDX-License-Identifier: BSD-3-Clause
#include "lab/sim.h"

#include <algorithm>
#include <numeric>

namespace tutti::lab {
namespace {

// Interrupts nest: a rank that runs on top of another can be interrupted too, this deep.
constexpr int max_depth = 3;
// One in `interrupt_period` chances becomes an interrupt, of fewer than `max_turns` turns.
constexpr unsigned interrupt_period = 4;
constexpr unsigned max_turns = 6;

}  // namespace

Simulator::Simulator(int ranks, std::uint64_t seed, memory::TransportSet transports, Step before)
    : Simulator(std::vector<std::int32_t>(static_cast<std::size_t>(ranks)), seed, transports,
                before) {}

Simulator::Simulator(std::span<const std::int32_t> hosts, std::uint64_t seed,
                     memory::TransportSet transports, Step before)
    : random_(seed),
      transports_(transports),
      order_(hosts.size()),
      written_(hosts.size()),
      offered_(hosts.size()),
      mapped_(hosts.size()),
      receiving_(hosts.size()),
      desks_(static_cast<int>(hosts.size())),
      suspended_(hosts.size()) {
  constexpr unsigned calms[] = {1, 1, 8, 64};
  calm_ = calms[random_() % std::size(calms)];
  maps_.reserve(hosts.size());
  for (int rank = 0; rank < static_cast<int>(hosts.size()); ++rank) {
    const fabric::NodeMap& map = maps_.emplace_back(hosts, rank);
    const std::size_t members = map.members(map.node()).size();
    const auto desks =
        desks_.all().subspan(static_cast<std::size_t>(map.before(map.node())), members);
    providers_.push_back(std::make_unique<SimProvider>(*this, map));
    fabrics_.push_back(
        std::make_unique<SimFabric>(*providers_.back(), desks, map.place_of(rank), before));
  }
}

bool Simulator::run(const Body& body, int* stuck) {
  return run_ranks([&](int rank) { return body(fabric(rank)); }, stuck);
}

bool Simulator::run_ranks(const std::function<Task(int)>& body, int* stuck) {
  std::iota(order_.begin(), order_.end(), 0);
  std::shuffle(order_.begin(), order_.end(), random_);
  const std::vector<int> first = order_;
  std::vector<Task> tasks;
  tasks.reserve(first.size());
  for (int rank : first) tasks.push_back(body(rank));
  while (turn()) {
  }
  const auto waiting =
      std::count_if(tasks.begin(), tasks.end(), [](const Task& task) { return !task.done(); });
  if (stuck != nullptr) *stuck = static_cast<int>(waiting);
  return waiting == 0;
}

bool Simulator::turn() {
  const std::size_t ranks = order_.size();
  const bool shuffle = random_() % calm_ == 0;
  for (std::size_t i = 0; i < ranks; ++i) {
    if (shuffle) std::swap(order_[i], order_[i + random_() % (ranks - i)]);
    const int rank = order_[i];
    Suspended& state = suspended_[static_cast<std::size_t>(rank)];
    if (!state.handle || !state.ready(state.awaiter)) continue;
    schedule_ = (schedule_ ^ static_cast<std::uint64_t>(rank + 1)) * 0x100000001b3u;  // FNV-1a
    std::exchange(state, {}).handle.resume();
    return true;
  }
  return false;
}

void Simulator::interrupt() {
  if (depth_ >= max_depth || random_() % interrupt_period != 0) return;
  ++depth_;
  for (auto turns = random_() % max_turns; turns > 0 && turn(); --turns) {
  }
  --depth_;
}

void SimProvider::wake(const std::atomic<std::uint64_t>&, const std::atomic<std::uint32_t>&) {
  simulator_->interrupt();
}

void SimProvider::mismatch(int, std::uint64_t, std::uint64_t) { ++simulator_->mismatches_; }
void SimProvider::truncation(int, std::size_t, std::size_t) { ++simulator_->mismatches_; }

// Pages of a buffer may move as it is offered (commons/sharing.cc), so nobody may be writing to it.
Card SimProvider::offer(const void* buffer, std::size_t bytes, bool full) {
  ++simulator_->offers_;
  const auto me = static_cast<std::size_t>(rank_);
  const fabric::Bytes offered(static_cast<const std::byte*>(buffer), bytes);
  const SimFabric& fabric = simulator_->fabric(rank_);
  simulator_->trespasses_ += simulator_->written_[me].count(offered, fabric.first_step());
  for (const fabric::Bytes& place : simulator_->receiving_[me])
    simulator_->trespasses_ += full && Simulator::overlap(place, offered);
  // What lies between blocks may be anybody's.
  if (full) simulator_->offered_[me].add(offered, fabric.call());
  Transport possible[std::size(memory::every_transport)];
  std::size_t count = 0;
  for (const Transport transport : memory::every_transport)
    if (simulator_->transports_.has(transport)) possible[count++] = transport;
  return {reinterpret_cast<std::uint64_t>(buffer), possible[simulator_->random_() % count]};
}

std::byte* SimProvider::map(int peer, const Card& card) const {
  simulator_->interrupt();
  if (!memory::can_map(card.transport)) return nullptr;
  auto* const at = reinterpret_cast<std::byte*>(card.address);
  const int owner = map_->members(map_->node())[static_cast<std::size_t>(peer)];
  if (owner != rank_)
    simulator_->mapped_[static_cast<std::size_t>(rank_)].add(
        simulator_->offered_[static_cast<std::size_t>(owner)].at(at),
        simulator_->fabric(rank_).call());
  return at;
}

void SimProvider::read(int, const Card& card, std::size_t offset, void* to, std::size_t bytes) {
  simulator_->trespasses_ += !memory::needs_kernel(card.transport);
  simulator_->interrupt();
  std::memcpy(to, reinterpret_cast<const std::byte*>(card.address) + offset, bytes);
}

void SimProvider::write(int peer, const Card& card, std::size_t offset, const void* from,
                        std::size_t bytes) {
  simulator_->trespasses_ += !memory::needs_kernel(card.transport);
  const int owner = map_->members(map_->node())[static_cast<std::size_t>(peer)];
  auto* const to = reinterpret_cast<std::byte*>(card.address) + offset;
  simulator_->written_[static_cast<std::size_t>(owner)].add({to, bytes},
                                                            simulator_->fabric(owner).first_step());
  simulator_->interrupt();
  std::memcpy(to, from, bytes);
}

std::byte* SimProvider::scratch(std::size_t bytes) {
  if (bytes > scratch_bytes_) {
    auto larger = std::make_unique_for_overwrite<std::byte[]>(bytes);
    std::copy_n(scratch_.get(), scratch_bytes_, larger.get());
    simulator_->give_back({scratch_.get(), scratch_bytes_});
    scratch_ = std::move(larger);
    scratch_bytes_ = bytes;
  }
  return scratch_.get();
}

}  // namespace tutti::lab
