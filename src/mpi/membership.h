// SPDX-License-Identifier: BSD-3-Clause
// Who the members of a communicator of several nodes are. Communicators with the same members in
// the same order, such as duplicates, share what takes memory for each member.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "base/runs.h"
#include "fabric/node_map.h"

namespace tutti::mpi {

struct Membership {
  Runs ranks;           // of the members, in the communicator over which messages go
  fabric::NodeMap map;  // as this rank sees it
};

// Those that are in use, of communicators that share their links.
class Memberships {
 public:
  // `hosts`: of each rank of the communicator over which messages go. `rank`: this one's among the
  // members.
  [[nodiscard]] std::shared_ptr<const Membership> of(Runs ranks, const Runs& hosts, int rank);

 private:
  std::mutex mutex_;
  std::vector<std::weak_ptr<const Membership>> known_;
};

// A count for each member, 0 until it is changed. Of members that one never asks for it takes a bit
// each: a rank sends to few.
class MemberCounts {
 public:
  [[nodiscard]] std::uint32_t& operator[](int member) {
    const auto place = static_cast<std::size_t>(member);
    if (blocks_.size() <= place / block_members) blocks_.resize(place / block_members + 1);
    std::unique_ptr<Block>& block = blocks_[place / block_members];
    if (block == nullptr) block = std::make_unique<Block>();
    return (*block)[place % block_members];
  }
  [[nodiscard]] std::size_t bytes() const {
    std::size_t all = blocks_.capacity() * sizeof blocks_[0];
    for (const auto& block : blocks_) all += block != nullptr ? sizeof(Block) : 0;
    return all;
  }

 private:
  static constexpr std::size_t block_members = 64;
  using Block = std::array<std::uint32_t, block_members>;
  std::vector<std::unique_ptr<Block>> blocks_;
};

}  // namespace tutti::mpi
