// SPDX-License-Identifier: BSD-3-Clause
// Reduce_scatter over nodes: each node's leaders hear from those of each other node what that one
// has of their own node's parts, and hand out the sums. Few bytes, or nodes whose parts do not
// follow each other: by ranges of the vector (ranges.h). Else a node reduces what is for one node
// while what is for the one before is on its way.
#pragma once

#include "coll/leaders/ranges.h"
#include "coll/leaders/row.h"

namespace tutti::coll::leaders {

// The nodes' parts follow each other. Of what is for a node, each leader has a part.
template <Fabric F, Wire W>
class SumsByNode : ScatteredSums<F, W> {
 public:
  SumsByNode(Members<F, W>& all, const Work& work)
      : ScatteredSums<F, W>(all, work),
        place_(all.map.place_of(all.map.rank())),
        leaders_(leaders_of(all.map, all.way, work.bytes() / static_cast<std::size_t>(nodes_),
                            all.way.block_part_bytes)),
        leads_(place_ < leaders_),
        parts_(all.way, work.element_bytes, work.count / static_cast<std::size_t>(nodes_),
               leaders_) {}

  Task run() {
    const std::size_t most =
        std::max<std::size_t>(64, limits::most_ring_slice_bytes / work_.element_bytes / 64 * 64);
    std::size_t longest = 0;
    for (int node = 0; node < nodes_; ++node)
      longest = std::max(longest, count_of(node, {0, work_.count}));
    if (leads_) {
      place_bytes_ = round_up(bytes_of(parts_.of({0, std::min(most, longest)}, 0).count), 64);
      places_ = all_.wire.scratch(5 * place_bytes_);
    }
    for (std::size_t begin = 0; begin < longest; begin += most) co_await pass(begin, most);
  }

 private:
  using Sums = ScatteredSums<F, W>;
  using Sums::all_, Sums::work_, Sums::me_, Sums::nodes_;
  using Sums::node_at, Sums::part_of, Sums::bytes_of, Sums::count_of, Sums::hand_out;

  [[nodiscard]] int leader(int node, int place) const {
    return all_.map.members(node)[static_cast<std::size_t>(place)];
  }
  [[nodiscard]] std::byte* place(int index) const {
    return places_ + static_cast<std::size_t>(index) * place_bytes_;
  }

  // Elements [begin, begin + most) of each node's parts.
  Task pass(std::size_t begin, std::size_t most) {
    const auto slice = [&](int node) {
      const std::size_t first = part_of(all_.map.members(node)[0]).begin;
      const std::size_t count = count_of(node, {0, work_.count});
      return Slice{first + std::min(begin, count), std::min(most, count - std::min(begin, count))};
    };
    const Slice mine = leads_ ? parts_.of(slice(me_), place_) : Slice{};
    const bool hears = mine.count > 0;
    std::byte* const sum = place(0);
    const std::byte* own = sum;  // what this node has of this leader's part
    Ticket heard[2] = {0, 0}, sent[2] = {0, 0};
    co_await fold_on_node(slice(me_), own, sum);
    const auto add = [&](int distance) {
      all_.fold(work_, sum, own, place(1 + distance % 2), mine.count, work_.stores);
      own = sum;
    };
    for (int distance = 1; distance < nodes_; ++distance) {
      const int to = node_at(distance), from = node_at(-distance);
      if (hears)
        heard[distance % 2] =
            all_.wire.receive(leader(from, place_), place(1 + distance % 2), bytes_of(mine.count));
      if (leads_) co_await all_.wire.done(sent[distance % 2]);
      std::byte* const made = place(3 + distance % 2);
      const std::byte* result = made;
      co_await fold_on_node(slice(to), result, made);
      if (const Slice theirs = leads_ ? parts_.of(slice(to), place_) : Slice{}; theirs.count > 0)
        sent[distance % 2] = all_.wire.send(leader(to, place_), result, bytes_of(theirs.count));
      if (!hears || distance == 1) continue;
      co_await all_.wire.done(heard[(distance - 1) % 2]);
      add(distance - 1);
    }
    const Ticket last_heard = std::max(heard[0], heard[1]), last_sent = std::max(sent[0], sent[1]);
    if (leads_) co_await all_.wire.done(std::max(last_heard, last_sent));
    if (hears && nodes_ > 1) add(nodes_ - 1);
    for (int each = 0; each < leaders_; ++each)
      if (const Slice sums = parts_.of(slice(me_), each); sums.count > 0)
        co_await hand_out(sums, const_cast<std::byte*>(own), leader(me_, each));
  }

  // Each leader gets its part. What a rank alone on its node has needs no copy.
  Task fold_on_node(Slice slice, const std::byte*& result, std::byte* made) {
    for (int each = 0; each < leaders_; ++each) {
      const Slice own = parts_.of(slice, each);
      if (all_.fabric.size() == 1)
        result = static_cast<const std::byte*>(work_.send) + bytes_of(own.begin);
      else if (own.count > 0)
        co_await reduce_on_node(all_, work_, own, made, leader(me_, each));
    }
  }

  int place_;  // among the members of this node
  int leaders_;
  bool leads_;
  Parts parts_;
  std::byte* places_ = nullptr;
  std::size_t place_bytes_ = 0;
};

template <Fabric F, Wire W, bool halves>
Task reduce_scatter_by_range(Members<F, W>& all, const Work& work) {
  SumsByRange<F, W> sums(all, work, halves);
  co_await sums.run();
}

template <Fabric F, Wire W>
Task reduce_scatter_by_node(Members<F, W>& all, const Work& work) {
  SumsByNode<F, W> sums(all, work);
  co_await sums.run();
}

inline bool parts_follow(const NodeMap& map, const Way&, const Work&) { return map.in_order(); }
inline bool pays_by_node(const NodeMap& map, const Way& way, const Work& work) {
  return work.bytes() / static_cast<std::size_t>(map.nodes()) > way.ranged_bytes;
}
inline bool pays_in_ranges_halved(const NodeMap& map, const Way& way, const Work& work) {
  return halving_pays(map, way,
                      std::min(work.count, most_in_range(map, work)) * work.element_bytes);
}

template <Fabric F, Wire W>
inline constexpr Row<F, W> reduce_scatter_rows[] = {
    {{"pairwise", "node by node: what is for one, while that for another is on its way",
      parts_follow, pays_by_node},
     reduce_scatter_by_node<F, W>},
    {{"halving", "leaders exchange halves of a range of the vector", always, pays_in_ranges_halved},
     reduce_scatter_by_range<F, W, true>},
    {{"ranges", "each leader sends each other one what is for its node, range by range", always,
      always},
     reduce_scatter_by_range<F, W, false>},
};

}  // namespace tutti::coll::leaders
