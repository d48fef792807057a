// SPDX-License-Identifier: BSD-3-Clause
#include "fabric/node_map.h"

#include <algorithm>
#include <numeric>
#include <unordered_map>

namespace tutti::fabric {

NodeMap::NodeMap(std::span<const std::int32_t> hosts, int rank)
    : rank_(rank), node_of_(hosts.size()), place_of_(hosts.size()), members_(hosts.size()) {
  std::unordered_map<std::int32_t, std::int32_t> numbers;
  std::vector<std::int32_t> sizes;
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    const auto known = numbers.emplace(hosts[i], static_cast<std::int32_t>(sizes.size()));
    if (known.second) sizes.push_back(0);
    node_of_[i] = known.first->second;
    place_of_[i] = sizes[static_cast<std::size_t>(node_of_[i])]++;
  }
  largest_ = *std::max_element(sizes.begin(), sizes.end());
  first_.assign(sizes.size() + 1, 0);
  std::partial_sum(sizes.begin(), sizes.end(), first_.begin() + 1);
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    const std::int32_t at = first_[static_cast<std::size_t>(node_of_[i])] + place_of_[i];
    members_[static_cast<std::size_t>(at)] = static_cast<std::int32_t>(i);
    in_order_ = in_order_ && at == static_cast<std::int32_t>(i);
  }
}

}  // namespace tutti::fabric
