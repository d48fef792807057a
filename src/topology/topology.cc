// SPDX-License-Identifier: BSD-3-Clause
#include "topology/topology.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

namespace tutti::topology {

std::int64_t quota_milli(std::span<const Binding> bindings) {
  std::int64_t most = 0;
  for (const Binding& binding : bindings) most = std::max(most, binding.quota_milli);
  return most;
}

double ranks_per_core(std::span<const Binding> bindings) {
  const auto ranks = static_cast<double>(bindings.size());
  os::CpuMask all;
  for (const Binding& binding : bindings) all |= binding.cpus;
  double most = ranks / std::max(1, all.count());
  if (const std::int64_t quota = quota_milli(bindings); quota > 0)
    most = std::max(most, ranks * 1000 / static_cast<double>(quota));
  for (const Binding& confined : bindings) {
    const auto inside = std::count_if(bindings.begin(), bindings.end(), [&](const Binding& other) {
      return other.cpus.within(confined.cpus);
    });
    // One that is not known may be any, also one that others need.
    const double cores = std::max(0.5, static_cast<double>(confined.cpus.count()));
    most = std::max(most, static_cast<double>(inside) / cores);
  }
  return most;
}

namespace {

template <class Matters>
bool any_overclaimed(std::span<const Claim> claims, Matters matters) {
  std::unordered_map<std::uint64_t, std::int32_t> ranks;
  for (const Claim& claim : claims) ++ranks[claim.cores_id];
  return std::ranges::any_of(claims, [&](const Claim& claim) {
    return matters(claim) && ranks[claim.cores_id] > claim.cores;
  });
}

}  // namespace

bool overclaimed(std::span<const Claim> claims, std::int32_t node) {
  return any_overclaimed(claims, [node](const Claim& claim) { return claim.node == node; });
}

bool overclaimed(std::span<const Claim> claims) {
  return any_overclaimed(claims, [](const Claim&) { return true; });
}

bool lack_free_cores(std::span<const Claim> claims) {
  struct Users {
    std::size_t ranks = 0;
    std::unordered_set<std::int32_t> nodes;
  };
  std::unordered_map<std::uint64_t, Users> users;
  for (const Claim& claim : claims) {
    Users& those = users[claim.cores_id];
    ++those.ranks;
    those.nodes.insert(claim.node);
  }
  return std::ranges::any_of(claims, [&](const Claim& claim) {
    const Users& those = users[claim.cores_id];
    return those.nodes.size() > 1 &&
           those.ranks + those.nodes.size() > static_cast<std::size_t>(claim.cores);
  });
}

}  // namespace tutti::topology
