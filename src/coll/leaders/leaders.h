// SPDX-License-Identifier: BSD-3-Clause
// Collectives of members on several nodes, in stages: those of a node meet by the node's own
// algorithms, and one of them, the leader, or a few talk with the leaders of other nodes. An
// algorithm is a coroutine over both, and a file here (docs/nodes.md).
//
// Operands meet node by node, in an order that depends on the nodes alone, so all members get the
// same bits. Operations that do not commute are only for scans, which keep the order of the ranks,
// and late reductions (late.h), in which no operands meet on the way.
#pragma once

#include <numeric>

#include "coll/alone.h"
#include "coll/leaders/way.h"
#include "coll/plans.h"
#include "fabric/node_map.h"
#include "fabric/wire.h"

namespace tutti::coll::leaders {

using fabric::NodeMap;
using fabric::Ticket;
using fabric::Wire;

inline constexpr int nobody = -1;  // as root

// How many leaders of each node share so many bytes of it, of which a part of `least_part` is worth
// a leader of its own.
[[nodiscard]] inline int leaders_of(const NodeMap& map, const Way& way, std::size_t bytes,
                                    std::size_t least_part) {
  const std::size_t most = std::max<std::size_t>(1, bytes / least_part);
  const int leaders = std::min(way.leaders, map.smallest());
  return static_cast<int>(std::min(static_cast<std::size_t>(leaders), most));
}

// Positions that are so many elements apart are whole grains apart, of Way::grain_bytes.
[[nodiscard]] inline std::size_t elements_of_grain(const Way& way, std::size_t element_bytes) {
  return way.grain_bytes / std::gcd(way.grain_bytes, element_bytes);
}

// What each leader of a node has of vectors or blocks. Parts are whole grains apart, unless that
// made one a lot longer than another one.
class Parts {
 public:
  // `count`: elements of what is cut, or about as many.
  Parts(const Way& way, std::size_t element_bytes, std::size_t count, int leaders)
      : leaders_(static_cast<std::size_t>(leaders)), grain_(elements_of_grain(way, element_bytes)) {
    constexpr std::size_t many = 4, least = 64;
    if (count < leaders_ * many * grain_) grain_ = least;
  }
  [[nodiscard]] Slice of(const Slice& whole, int leader) const {
    return cut(whole, leaders_, static_cast<std::size_t>(leader), grain_);
  }

 private:
  std::size_t leaders_, grain_;  // elements
};

// The members of a communicator, as one of them sees them.
template <Fabric F, Wire W>
struct Members {
  F& fabric;  // those of this node
  W& wire;    // all of them
  const NodeMap& map;
  const choice::Plans& plans;  // of this node's
  bool strict = false;         // the leaders compare calls in each Barrier, of which there are more
  Way way = {};

  // What a rank does itself, beside the stages.
  void fold(const Work& work, void* to, const void* left, const void* right, std::size_t count,
            Stores stores) {
    work.kernel->apply(to, left, right, count, stores);
    fabric.spend(count * work.element_bytes);
  }
  void copy(void* to, const void* from, std::size_t bytes) {
    reduce::copy(to, from, bytes);
    fabric.spend(bytes);
  }

  // Who speaks for a node in a collective of that root.
  [[nodiscard]] bool leads(int root = nobody) const {
    return map.leader(map.node(), root) == map.rank();
  }
  // Its place among the members of this node.
  [[nodiscard]] int leading_place(int root = nobody) const {
    return map.place_of(map.leader(map.node(), root));
  }
  // A call with a root, as a stage has it.
  [[nodiscard]] Work staged(const Work& work) const {
    Work own = work;
    own.root = leading_place(work.root);
    return own;
  }
};

// A stage: a collective of this node's members, of which there may be one. `work` is as one of them
// has it, and lives until the stage has ended.
template <Fabric F, Wire W>
Task on_node(Members<F, W>& all, Collective collective, const Work& work) {
  F& f = all.fabric;
  if (f.size() > 1) {
    f.begin_stage();
    co_await row_of<F>(all.plans, collective, work)->run(f, work);
  } else if (!run_alone(collective, work)) {
    f.truncation(f.rank(), work.out[0].bytes, work.in[0].bytes);
  }
}

// Whether a member sends more than it has room for itself, which ends the call.
template <Fabric F, Wire W>
[[nodiscard]] bool has_no_room(Members<F, W>& all, const Block& sent, const Block& room) {
  if (sent.bytes <= room.bytes) return false;
  all.fabric.truncation(all.fabric.rank(), sent.bytes, room.bytes);
  return true;
}

// Bcast within the node, from the leader. All its members know whether there is anything.
template <Fabric F, Wire W>
Task bcast_on_node(Members<F, W>& all, std::byte* data, std::size_t bytes, int root = nobody) {
  if (bytes == 0) co_return;
  const Work work{.recv = data, .count = bytes, .root = all.leading_place(root)};
  co_await on_node(all, Collective::bcast, work);
}

// Reduces elements [begin, begin + count) of the node's operands to `result` on its leader.
template <Fabric F, Wire W>
Task reduce_on_node(Members<F, W>& all, const Work& work, Slice part, std::byte* result,
                    int root = nobody) {
  Work own = work;
  own.send = static_cast<const std::byte*>(work.send) + part.begin * work.element_bytes;
  own.recv = all.leads(root) ? result : nullptr;
  own.count = part.count;
  own.root = all.leading_place(root);
  co_await on_node(all, Collective::reduce, own);
}

}  // namespace tutti::coll::leaders
