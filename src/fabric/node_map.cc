// SPDX-License-Identifier: BSD-3-Clause
#include "fabric/node_map.h"

#include <algorithm>
#include <numeric>
#include <ranges>
#include <unordered_map>

namespace tutti::fabric {

namespace {

// All ranks, node by node. `first`: the place among these of each node's first one.
Runs sorted(const Runs& node_of, std::vector<std::int32_t> first) {
  std::vector<std::int32_t> members(node_of.size());
  std::int32_t rank = 0;
  for (const std::int32_t node : node_of)
    members[static_cast<std::size_t>(first[static_cast<std::size_t>(node)]++)] = rank++;
  return Runs(members);
}

}  // namespace

NodeMap::NodeMap(const Runs& hosts, int rank) : rank_(rank) {
  const auto places = std::make_shared<Places>();
  std::unordered_map<std::int32_t, std::int32_t> numbers;
  std::vector<std::int32_t> sizes;
  std::int32_t node = 0;
  for (const std::int32_t host : hosts) {
    const auto [known, is_new] = numbers.try_emplace(host, static_cast<std::int32_t>(sizes.size()));
    if (is_new) sizes.push_back(0);
    places->in_order = places->in_order && known->second >= node;
    node = known->second;
    places->node_of.push_back(node);
    places->place_of.push_back(sizes[static_cast<std::size_t>(node)]++);
  }
  places->node_of.shrink();
  places->place_of.shrink();
  const auto [smallest, largest] = std::minmax_element(sizes.begin(), sizes.end());
  places->smallest = *smallest;
  places->largest = *largest;
  places->first.assign(sizes.size() + 1, 0);
  std::partial_sum(sizes.begin(), sizes.end(), places->first.begin() + 1);
  places->members = places->in_order
                        ? Runs(std::views::iota(0, static_cast<std::int32_t>(hosts.size())))
                        : sorted(places->node_of, places->first);
  node_ = places->node_of[static_cast<std::size_t>(rank)];
  places_ = places;
}

}  // namespace tutti::fabric
