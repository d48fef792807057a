// SPDX-License-Identifier: BSD-3-Clause
// Allreduce over nodes. Each node's Reduce, a sum of the leaders (cube.h, or shares.h if it is
// longer), each node's Bcast; a node may have several leaders for that, each of a part of the
// vector. Large: all of that in slices, along a ring of the nodes (ring.h).
#pragma once

#include "coll/leaders/cube.h"
#include "coll/leaders/ring.h"
#include "coll/leaders/shares.h"

namespace tutti::coll::leaders {

// The leaders' way to a sum.
enum class Sum : std::uint8_t { whole, by_shares, along_ring };

inline Sum sum_of(const NodeMap& map, const Way& way, std::size_t bytes) {
  const auto nodes = static_cast<std::size_t>(map.nodes());
  // Only a small one may need a leader's memory for as much as the vector.
  if (bytes > limits::most_halved_bytes) return Sum::along_ring;
  const std::size_t most = std::has_single_bit(nodes) ? way.halved_bytes : way.paired_bytes;
  if (bytes / nodes <= most) return Sum::whole;
  return bytes / nodes <= way.by_share_bytes ? Sum::by_shares : Sum::along_ring;
}

// Whole or by shares.
template <Fabric F, Wire W>
Task allreduce_in_one(Members<F, W>& all, const Work& work, Sum sum) {
  const int leaders =
      leaders_of(all.map, all.way, work.bytes() / static_cast<std::size_t>(all.map.nodes()),
                 all.way.part_bytes);
  const Parts parts(all.way, work.element_bytes, work.count, leaders);
  const auto members = all.map.members(all.map.node());
  const auto part = [&](int leader) { return parts.of({0, work.count}, leader); };
  const auto at = [&](Slice where) {
    return static_cast<std::byte*>(work.recv) + where.begin * work.element_bytes;
  };
  for (int leader = 0; leader < leaders; ++leader)
    if (part(leader).count > 0)
      co_await reduce_on_node(all, work, part(leader), at(part(leader)),
                              members[static_cast<std::size_t>(leader)]);
  if (const int place = all.map.place_of(all.map.rank()); place < leaders) {
    const Slice mine = part(place);
    if (sum == Sum::by_shares) {
      Shares<F, W> shares(all, work, mine);
      co_await shares.run();
    } else {
      Work own = work;
      own.count = mine.count;
      co_await sum_of_leaders(all, own, at(mine));
    }
  }
  for (int leader = 0; leader < leaders; ++leader)
    co_await bcast_on_node(all, at(part(leader)), part(leader).count * work.element_bytes,
                           members[static_cast<std::size_t>(leader)]);
}

template <Fabric F, Wire W>
Task allreduce_along_ring(Members<F, W>& all, const Work& work) {
  Ring<F, W> ring(all, work);
  co_await ring.run();
}

template <Fabric F, Wire W>
Task allreduce(Members<F, W>& all, const Work& work) {
  const Sum sum = sum_of(all.map, all.way, work.bytes());
  return sum == Sum::along_ring ? allreduce_along_ring(all, work)
                                : allreduce_in_one(all, work, sum);
}

}  // namespace tutti::coll::leaders
