// SPDX-License-Identifier: BSD-3-Clause
// Allreduce over nodes. Each node's Reduce, a sum of the leaders (cube.h, or shares.h if it is
// longer), each node's Bcast; a node may have several leaders for that, each of a part of the
// vector. Large: all of that in slices, along a ring of the nodes (ring.h).
#pragma once

#include "coll/leaders/cube.h"
#include "coll/leaders/ring.h"
#include "coll/leaders/row.h"
#include "coll/leaders/shares.h"

namespace tutti::coll::leaders {

// What each leader of a node has of a vector that does not go along a ring.
class Vector {
 public:
  Vector(const NodeMap& map, const Way& way, const Work& work)
      : count_(work.count),
        leaders_(leaders_of(map, way, work.bytes() / static_cast<std::size_t>(map.nodes()),
                            way.part_bytes)),
        parts_(way, work.element_bytes, work.count, leaders_) {}

  [[nodiscard]] int leaders() const { return leaders_; }
  [[nodiscard]] Slice part(int leader) const { return parts_.of({0, count_}, leader); }

 private:
  std::size_t count_;
  int leaders_;
  Parts parts_;
};

// How leaders of the same place sum up their parts.
enum class Sum : std::uint8_t { by_doubling, by_halving, by_shares };

template <Fabric F, Wire W, Sum sum>
Task allreduce_in_parts(Members<F, W>& all, const Work& work) {
  const Vector vector(all.map, all.way, work);
  const int leaders = vector.leaders();
  const auto members = all.map.members(all.map.node());
  const auto part = [&](int leader) { return vector.part(leader); };
  const auto at = [&](Slice where) {
    return static_cast<std::byte*>(work.recv) + where.begin * work.element_bytes;
  };
  for (int leader = 0; leader < leaders; ++leader)
    if (part(leader).count > 0)
      co_await reduce_on_node(all, work, part(leader), at(part(leader)),
                              members[static_cast<std::size_t>(leader)]);
  if (const int place = all.map.place_of(all.map.rank()); place < leaders) {
    const Slice mine = part(place);
    if constexpr (sum == Sum::by_shares) {
      Shares<F, W> shares(all, work, mine);
      co_await shares.run();
    } else {
      Work own = work;
      own.count = mine.count;
      co_await sum_of_leaders(all, own, at(mine), sum == Sum::by_halving);
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

// Only a small one may need a leader's memory for as much as the vector.
inline bool fits_leader(const NodeMap&, const Way&, const Work& work) {
  return work.bytes() <= limits::most_halved_bytes;
}
inline bool pays_in_halves(const NodeMap& map, const Way& way, const Work& work) {
  const auto nodes = static_cast<std::size_t>(map.nodes());
  const std::size_t most = std::has_single_bit(nodes) ? way.halved_bytes : way.paired_bytes;
  return work.bytes() / nodes <= most;
}
inline bool pays_whole(const NodeMap& map, const Way& way, const Work& work) {
  const std::size_t part = Vector(map, way, work).part(0).count * work.element_bytes;
  const auto rounds = static_cast<std::size_t>(Cube(map).rounds());
  return pays_in_halves(map, way, work) && rounds * part <= most_doubled(way);
}
inline bool pays_by_shares(const NodeMap& map, const Way& way, const Work& work) {
  return work.bytes() / static_cast<std::size_t>(map.nodes()) <= way.by_share_bytes;
}

template <Fabric F, Wire W>
inline constexpr Row<F, W> allreduce_rows[] = {
    {{"doubling", "leaders exchange all of it, each with a partner a round", fits_leader,
      pays_whole},
     allreduce_in_parts<F, W, Sum::by_doubling>},
    {{"halving", "leaders exchange halves, and then what these sum up to", fits_leader,
      pays_in_halves},
     allreduce_in_parts<F, W, Sum::by_halving>},
    {{"shares", "each leader sums up a share, which it hears from all others", fits_leader,
      pays_by_shares},
     allreduce_in_parts<F, W, Sum::by_shares>},
    {{"ring", "slices go round the nodes", always, always}, allreduce_along_ring<F, W>},
};

}  // namespace tutti::coll::leaders
