// SPDX-License-Identifier: BSD-3-Clause
// What simulated ranks send and receive in a collective, and whether they have the right results.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "coll/work.h"

namespace tutti::simulate {

class Buffers {
 public:
  static constexpr std::size_t no_limit = std::numeric_limits<std::size_t>::max();

  // `bytes`: a rank's vector; where blocks move, a block. If all buffers would have more than
  // `most_bytes`, ranks share them, and their results are not looked at. The root is rank 0.
  Buffers(coll::Collective collective, std::size_t bytes, std::size_t ranks,
          std::size_t most_bytes = no_limit);

  [[nodiscard]] bool are_own() const { return own_; }
  // Sums are of unsigned integers of 8 bytes.
  [[nodiscard]] coll::Work work(std::size_t rank);
  [[nodiscard]] bool are_right() const;

 private:
  struct Member {
    std::vector<std::uint64_t> send, recv;
    std::vector<coll::Block> out, in;
  };
  // Who has something for, or of, each rank.
  enum class All : std::uint8_t { nobody, the_root, everyone };
  [[nodiscard]] All sends_all() const;
  [[nodiscard]] All receives_all() const;
  // In elements: of one buffer, and of both.
  [[nodiscard]] std::size_t length(All who, bool at_root) const;
  [[nodiscard]] std::size_t length(bool at_root) const {
    return length(sends_all(), at_root) + length(receives_all(), at_root);
  }
  [[nodiscard]] std::vector<coll::Block> blocks_of(std::vector<std::uint64_t>& data) const;
  [[nodiscard]] std::uint64_t expected(std::size_t rank, std::size_t i) const;

  coll::Collective collective_;
  std::size_t count_, ranks_;
  bool own_;
  std::vector<Member> members_;
  std::vector<coll::Slice> parts_;
};

}  // namespace tutti::simulate
