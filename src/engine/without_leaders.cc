// SPDX-License-Identifier: BSD-3-Clause
#include "engine/without_leaders.h"

#include <algorithm>
#include <bit>
#include <span>

#include "coll/tree/shape.h"

namespace tutti::engine {

namespace {

using coll::Block;
using coll::Collective;
using coll::Work;
using fabric::NodeMap;

constexpr std::size_t halved_bytes = 2048, ring_bytes = 80 * 1024;

// What one rank sends.
class Sender {
 public:
  explicit Sender(const NodeMap& map)
      : map_(map),
        me_(map.rank()),
        ranks_(map.size()),
        pairs_(ranks_ - static_cast<int>(std::bit_floor(static_cast<unsigned>(ranks_)))) {}

  [[nodiscard]] const fabric::Sent& sent() const { return sent_; }

  void send(int rank, std::size_t bytes) {
    if (map_.node_of(rank) != map_.node()) sent_.add(bytes);
  }

  void disseminate() {
    for (int distance = 1; distance < ranks_; distance *= 2) send((me_ + distance) % ranks_, 0);
  }
  void scan(std::size_t bytes) {
    for (int distance = 1; me_ + distance < ranks_; distance *= 2) send(me_ + distance, bytes);
  }

  // `block`: a message has so many bytes for each rank below its receiver or sender; else it has
  // `bytes`.
  void send_up(int root, std::size_t bytes, std::size_t block = 0) {
    const coll::tree::Shape tree(ranks_, root);
    const int top = tree.top(me_);
    if (top > tree.height()) return;
    send(tree.edge(me_, top).peer, bytes + block * count(tree.held(me_)));
  }
  void send_down(int root, std::size_t bytes, std::size_t block = 0) {
    const coll::tree::Shape tree(ranks_, root);
    for (int level = tree.top(me_) - 1; level > 0; --level) {
      const coll::tree::Edge edge = tree.edge(me_, level);
      if (edge.exists()) send(edge.peer, bytes + block * count(tree.held(edge.peer)));
    }
  }

  // Where the ranks are no power of two, the first ones form pairs, of which the even one takes
  // part for both. It hears the other's `bytes` first, and in the end sends it `result` bytes.
  void pair_up(std::size_t bytes, std::size_t result) {
    if (is_paired()) send(me_ ^ 1, me_ % 2 == 0 ? result : bytes);
  }
  // Those that take part meet partners that are 1, 2, 4 ... apart. `bytes_of`: what is sent in a
  // round; the first is 0.
  template <class BytesOf>
  void meet(BytesOf bytes_of) {
    if (is_paired() && me_ % 2 == 1) return;
    const int mine = is_paired() ? me_ / 2 : me_ - pairs_;
    for (int round = 0; ranks_ - pairs_ > 1 << round; ++round) {
      const int theirs = mine ^ 1 << round;
      send(theirs < pairs_ ? 2 * theirs : theirs + pairs_, bytes_of(round));
    }
  }

  // `bytes`: of all blocks.
  void gather_by_rounds(std::size_t bytes) {
    const auto ranks = static_cast<std::size_t>(ranks_);
    for (std::size_t distance = 1; distance < ranks; distance *= 2) {
      const auto to = (static_cast<std::size_t>(me_) + ranks - distance) % ranks;
      send(static_cast<int>(to), bytes * std::min(distance, ranks - distance) / ranks);
    }
  }
  void gather_along_ring(std::span<const Block> blocks) {
    const std::size_t next = static_cast<std::size_t>(me_ + 1) % blocks.size();
    if (map_.node_of(static_cast<int>(next)) == map_.node()) return;
    for (std::size_t rank = 0; rank < blocks.size(); ++rank)
      if (rank != next) sent_.add(blocks[rank].bytes);
  }

  // To whom each block is; empty ones are not sent.
  void send_blocks(std::span<const Block> blocks) {
    for (int node = 0; node < map_.nodes(); ++node) {
      if (node == map_.node()) continue;
      for (const int rank : map_.members(node))
        if (const Block& block = blocks[static_cast<std::size_t>(rank)]; block.bytes > 0)
          sent_.add(block.bytes);
    }
  }

 private:
  [[nodiscard]] bool is_paired() const { return me_ < 2 * pairs_; }
  static std::size_t count(const coll::tree::Range& range) {
    return static_cast<std::size_t>(range.count);
  }

  const NodeMap& map_;
  int me_, ranks_, pairs_;
  fabric::Sent sent_;
};

void send_sum(Sender& sender, std::size_t bytes) {
  sender.pair_up(bytes, bytes);
  if (bytes < halved_bytes) return sender.meet([&](int) { return bytes; });
  const auto half = [&](int round) { return bytes >> (round + 1); };
  sender.meet(half);
  sender.meet(half);  // the way back
}

void send_parts_of_sum(Sender& sender, std::size_t bytes, std::size_t ranks) {
  sender.pair_up(bytes, bytes / ranks);
  sender.meet([&](int round) { return bytes >> (round + 1); });
}

void gather_to_all(Sender& sender, std::span<const Block> blocks) {
  std::size_t bytes = 0;
  for (const Block& block : blocks) bytes += block.bytes;
  if (bytes < ring_bytes)
    sender.gather_by_rounds(bytes);
  else
    sender.gather_along_ring(blocks);
}

}  // namespace

fabric::Sent sent_without_leaders(Collective collective, const Work& work, const NodeMap& map) {
  Sender sender(map);
  const std::size_t bytes = work.bytes();
  switch (collective) {
    case Collective::barrier:
      sender.disseminate();
      break;
    case Collective::bcast:
      sender.send_down(work.root, bytes);
      break;
    case Collective::reduce:
      sender.send_up(work.root, bytes);
      break;
    case Collective::gather:
      sender.send_up(work.root, 0, bytes);
      break;
    case Collective::scatter:
      sender.send_down(work.root, 0, bytes);
      break;
    case Collective::gatherv:
      if (map.rank() != work.root && work.out[0].bytes > 0)
        sender.send(work.root, work.out[0].bytes);
      break;
    case Collective::scatterv:
      if (map.rank() == work.root) sender.send_blocks(work.out);
      break;
    case Collective::allreduce:
      send_sum(sender, bytes);
      break;
    case Collective::reduce_scatter:
    case Collective::reduce_scatter_block:
      send_parts_of_sum(sender, bytes, static_cast<std::size_t>(map.size()));
      break;
    case Collective::allgather:
    case Collective::allgatherv:
      gather_to_all(sender, work.in);
      break;
    case Collective::alltoall:
    case Collective::alltoallv:
    case Collective::alltoallw:
      sender.send_blocks(work.out);
      break;
    case Collective::scan:
    case Collective::exscan:
      sender.scan(bytes);
      break;
  }
  return sender.sent();
}

}  // namespace tutti::engine
