// SPDX-License-Identifier: BSD-3-Clause
// Ranks that are threads of this process, on the fabric of real ranks.
#pragma once

#include <sys/mman.h>

#include <cstdio>
#include <memory>
#include <thread>
#include <vector>

#include "base/base.h"
#include "fabric/node.h"

namespace tutti::test {

// How the threads reach each other's buffers: as threads do, or as if they were processes, by the
// kernel's copy or not at all.
enum class Between { threads, copied, staged };

class ThreadRanks {
 public:
  explicit ThreadRanks(int ranks, segment::WaitPolicy wait_policy = {},
                       Between between = Between::threads)
      : bytes_(static_cast<std::size_t>(ranks) * round_up(sizeof(fabric::Desk), page_bytes)) {
    void* memory = ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) std::abort();
    memory_ = static_cast<std::byte*>(memory);
    fabric::NodeProvider::Peer peer;
    if (between != Between::threads) {
      const memory::Allowed allowed{.ways = {memory::Transport::copied}};
      self_.open(memory::introduce(allowed), allowed);
      peer.reach = &self_;
    }
    for (int rank = 0; rank < ranks; ++rank)
      desks_.push_back(reinterpret_cast<fabric::Desk*>(
          memory_ + static_cast<std::size_t>(rank) * round_up(sizeof(fabric::Desk), page_bytes)));
    if (between == Between::copied) transports_.ways.add(memory::Transport::copied);
    peers_.assign(static_cast<std::size_t>(ranks), peer);
    for (int rank = 0; rank < ranks; ++rank) {
      hosts_.push_back(
          std::make_unique<fabric::NodeProvider>(peers_, transports_, wait_policy, emergencies()));
      fabrics_.push_back(std::make_unique<fabric::NodeFabric>(*hosts_.back(), desks_, rank));
    }
  }
  ~ThreadRanks() { ::munmap(memory_, bytes_); }
  ThreadRanks(const ThreadRanks&) = delete;
  ThreadRanks& operator=(const ThreadRanks&) = delete;

  [[nodiscard]] fabric::NodeFabric& fabric(int rank) {
    return *fabrics_[static_cast<std::size_t>(rank)];
  }

  // What other hosts for the same desks need.
  [[nodiscard]] const std::vector<fabric::Peers::Peer>& peers() const { return peers_; }
  [[nodiscard]] memory::Transports transports() const { return transports_; }
  [[nodiscard]] std::span<fabric::Desk* const> desks() const { return desks_; }

  // body(fabric) on every rank, a thread each.
  template <class Body>
  void run(const Body& body) {
    std::vector<std::thread> threads;
    for (auto& f : fabrics_) threads.emplace_back([&body, &f] { const auto task = body(*f); });
    for (std::thread& thread : threads) thread.join();
  }

  // None of these may happen in a test of threads, but where a death test asks for it.
  static fabric::Emergencies emergencies() {
    return {
        .peer_lost = [](void*, int peer) { die("lost", peer); },
        .mismatch = [](void*, int peer, std::uint64_t, std::uint64_t) { die("mismatch", peer); },
        .truncation = [](void*, int peer, std::size_t, std::size_t) { die("truncation", peer); },
        .unreachable = [](void*, int peer, const Status&) { die("unreachable", peer); }};
  }

 private:
  [[noreturn]] static void die(const char* what, int peer) {
    std::fprintf(stderr, "emergency: %s, peer %d\n", what, peer);
    std::abort();
  }

  std::size_t bytes_;
  std::byte* memory_;
  memory::PeerMemory self_;
  memory::Transports transports_;
  std::vector<fabric::Peers::Peer> peers_;
  std::vector<fabric::Desk*> desks_;
  std::vector<std::unique_ptr<fabric::NodeProvider>> hosts_;
  std::vector<std::unique_ptr<fabric::NodeFabric>> fabrics_;
};

}  // namespace tutti::test
