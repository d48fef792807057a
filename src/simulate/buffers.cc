// SPDX-License-Identifier: BSD-3-Clause
#include "simulate/buffers.h"

#include <algorithm>

namespace tutti::simulate {
namespace {

using coll::Collective;

constexpr std::size_t root = 0;
constexpr std::size_t element_bytes = sizeof(std::uint64_t);

// Element i of what a rank sends; sums of them are easy to say.
std::uint64_t sent(std::size_t rank, std::size_t i) { return rank * 1'000'003 + i; }
std::uint64_t sum_of(std::size_t ranks, std::size_t i) {
  return ranks * (ranks - 1) / 2 * 1'000'003 + ranks * i;
}

}  // namespace

Buffers::Buffers(Collective collective, std::size_t bytes, std::size_t ranks,
                 std::size_t most_bytes)
    : collective_(collective),
      count_(std::max<std::size_t>(1, bytes / element_bytes)),
      ranks_(ranks),
      own_((length(true) + (ranks - 1) * length(false)) * element_bytes <= most_bytes),
      members_(own_ ? ranks : 1) {
  for (std::size_t rank = 0; rank < members_.size(); ++rank) {
    Member& mine = members_[rank];
    mine.send.resize(length(sends_all(), rank == root));
    mine.recv.resize(length(receives_all(), rank == root));
    std::vector<std::uint64_t>& filled = collective == Collective::bcast ? mine.recv : mine.send;
    if (collective != Collective::bcast || rank == root)
      for (std::size_t i = 0; own_ && i < filled.size(); ++i) filled[i] = sent(rank, i);
    mine.out = blocks_of(mine.send);
    mine.in = blocks_of(mine.recv);
  }
  for (std::size_t rank = 0; collective == Collective::reduce_scatter_block && rank < ranks; ++rank)
    parts_.push_back({rank * count_, count_});
}

coll::Work Buffers::work(std::size_t rank) {
  Member& mine = members_[own_ ? rank : 0];
  coll::Work work{.count = count_,
                  .element_bytes = element_bytes,
                  .kernel = reduce::find(reduce::Op::sum, reduce::Type::u64),
                  .root = static_cast<int>(root),
                  .parts = parts_};
  if (collective_ == Collective::reduce_scatter_block) work.count = count_ * ranks_;
  switch (collective_) {
    case Collective::gather:
      work.out = mine.out;
      if (rank == root) work.in = mine.in;
      break;
    case Collective::scatter:
      if (rank == root) work.out = mine.out;
      work.in = mine.in;
      break;
    case Collective::allgather:
    case Collective::alltoall:
      work.out = mine.out;
      work.in = mine.in;
      break;
    default:
      work.send = mine.send.data();
      work.recv = mine.recv.data();
  }
  return work;
}

bool Buffers::are_right() const {
  for (std::size_t rank = 0; own_ && rank < ranks_; ++rank) {
    const bool only_root = collective_ == Collective::reduce || collective_ == Collective::gather;
    if (only_root && rank != root) continue;
    const std::vector<std::uint64_t>& got = members_[rank].recv;
    for (std::size_t i = 0; i < got.size(); ++i)
      if (got[i] != expected(rank, i)) return false;
  }
  return true;
}

Buffers::All Buffers::sends_all() const {
  switch (collective_) {
    case Collective::scatter:
      return All::the_root;
    case Collective::alltoall:
    case Collective::reduce_scatter_block:
      return All::everyone;
    default:
      return All::nobody;
  }
}

Buffers::All Buffers::receives_all() const {
  switch (collective_) {
    case Collective::gather:
      return All::the_root;
    case Collective::allgather:
    case Collective::alltoall:
      return All::everyone;
    default:
      return All::nobody;
  }
}

std::size_t Buffers::length(All who, bool at_root) const {
  const bool all = who == All::everyone || (who == All::the_root && at_root);
  return collective_ == Collective::barrier ? 0 : all ? count_ * ranks_ : count_;
}

std::vector<coll::Block> Buffers::blocks_of(std::vector<std::uint64_t>& data) const {
  std::vector<coll::Block> blocks;
  for (std::size_t at = 0; at < data.size(); at += count_)
    blocks.push_back({reinterpret_cast<std::byte*>(&data[at]), count_ * element_bytes});
  return blocks;
}

std::uint64_t Buffers::expected(std::size_t rank, std::size_t i) const {
  const std::size_t block = i / count_, inner = i % count_;
  switch (collective_) {
    case Collective::bcast:
      return sent(root, i);
    case Collective::gather:
    case Collective::allgather:
      return sent(block, inner);
    case Collective::scatter:
      return sent(root, rank * count_ + i);
    case Collective::alltoall:
      return sent(block, rank * count_ + inner);
    case Collective::reduce_scatter_block:
      return sum_of(ranks_, rank * count_ + i);
    case Collective::scan:
      return sum_of(rank + 1, i);
    default:
      return sum_of(ranks_, i);
  }
}

}  // namespace tutti::simulate
