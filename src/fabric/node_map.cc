// SPDX-License-Identifier: BSD-3-Clause
#include "fabric/node_map.h"

#include <algorithm>
#include <numeric>
#include <unordered_map>

namespace tutti::fabric {

NodeMap::NodeMap(std::span<const std::int32_t> hosts, int rank) : rank_(rank) {
  const auto index = [](std::int32_t i) { return static_cast<std::size_t>(i); };
  const auto places = std::make_shared<Places>();
  std::unordered_map<std::int32_t, std::int32_t> numbers;
  std::vector<std::int32_t> sizes;
  for (const std::int32_t host : hosts) {
    const auto [known, is_new] = numbers.emplace(host, static_cast<std::int32_t>(sizes.size()));
    if (is_new) sizes.push_back(0);
    places->node_of.push_back(known->second);
    places->place_of.push_back(sizes[index(known->second)]++);
  }
  const auto [smallest, largest] = std::minmax_element(sizes.begin(), sizes.end());
  places->smallest = *smallest;
  places->largest = *largest;
  places->first.assign(sizes.size() + 1, 0);
  std::partial_sum(sizes.begin(), sizes.end(), places->first.begin() + 1);
  places->members.resize(hosts.size());
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    const std::int32_t at = places->first[index(places->node_of[i])] + places->place_of[i];
    places->members[index(at)] = static_cast<std::int32_t>(i);
    places->in_order = places->in_order && at == static_cast<std::int32_t>(i);
  }
  places_ = places;
}

}  // namespace tutti::fabric
