// SPDX-License-Identifier: BSD-3-Clause
#include "fabric/sim.h"

#include <sys/mman.h>

#include <algorithm>
#include <new>
#include <numeric>

#include "base/base.h"

namespace tutti::fabric {

Simulator::Simulator(int ranks, std::uint64_t seed, SimWays ways)
    : random_(seed),
      ways_(ways),
      memory_bytes_(static_cast<std::size_t>(ranks) * round_up(sizeof(Desk), page_bytes)) {
  // Zeroed and sparse: most slots of most desks are never touched.
  void* memory = ::mmap(nullptr, memory_bytes_, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) std::abort();
  memory_ = static_cast<std::byte*>(memory);
  for (int rank = 0; rank < ranks; ++rank)
    desks_.push_back(std::launder(reinterpret_cast<Desk*>(
        memory_ + static_cast<std::size_t>(rank) * round_up(sizeof(Desk), page_bytes))));
  for (int rank = 0; rank < ranks; ++rank) {
    hosts_.push_back(std::make_unique<SimHost>(*this, rank));
    fabrics_.push_back(std::make_unique<SimFabric>(*hosts_.back(), desks_, rank));
  }
}

Simulator::~Simulator() { ::munmap(memory_, memory_bytes_); }

bool Simulator::run(const Body& body, int* stuck) {
  std::vector<int> order(static_cast<std::size_t>(ranks()));
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), random_);
  std::vector<Task> tasks;
  tasks.reserve(order.size());
  for (int rank : order) tasks.push_back(body(fabric(rank)));

  std::vector<std::size_t> runnable;
  while (!suspended_.empty()) {
    runnable.clear();
    for (std::size_t i = 0; i < suspended_.size(); ++i)
      if (suspended_[i].ready()) runnable.push_back(i);
    if (runnable.empty()) {
      if (stuck != nullptr) *stuck = static_cast<int>(suspended_.size());
      suspended_.clear();
      return false;
    }
    const std::size_t pick = runnable[random_() % runnable.size()];
    const std::coroutine_handle<> next = suspended_[pick].handle;
    suspended_[pick] = std::move(suspended_.back());
    suspended_.pop_back();
    next.resume();
  }
  return std::all_of(tasks.begin(), tasks.end(), [](const Task& task) { return task.done(); });
}

void SimHost::mismatch(int, std::uint64_t, std::uint64_t) { ++simulator_->mismatches_; }

Card SimHost::offer(const void* buffer, std::size_t) {
  Way possible[3];
  std::size_t count = 0;
  if (simulator_->ways_.mapped) possible[count++] = Way::mapped;
  if (simulator_->ways_.copied) possible[count++] = Way::copied;
  if (simulator_->ways_.staged) possible[count++] = Way::staged;
  return {reinterpret_cast<std::uint64_t>(buffer), possible[simulator_->random_() % count]};
}

std::byte* SimHost::map(int, const Card& card) const {
  return card.way == Way::mapped ? reinterpret_cast<std::byte*>(card.address) : nullptr;
}

void SimHost::read(int, const Card& card, std::size_t offset, void* to, std::size_t bytes) {
  if (card.way == Way::staged) std::abort();  // an algorithm that reads what cannot be read
  std::memcpy(to, reinterpret_cast<const std::byte*>(card.address) + offset, bytes);
}

void SimHost::write(int, const Card& card, std::size_t offset, const void* from,
                    std::size_t bytes) {
  if (card.way == Way::staged) std::abort();
  std::memcpy(reinterpret_cast<std::byte*>(card.address) + offset, from, bytes);
}

std::byte* SimHost::scratch(std::size_t bytes) {
  if (bytes > scratch_.size()) scratch_.resize(bytes);
  return scratch_.data();
}

}  // namespace tutti::fabric
