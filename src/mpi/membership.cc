// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/membership.h"

#include <utility>

namespace tutti::mpi {

std::shared_ptr<const Membership> Memberships::of(Runs ranks, const Runs& hosts, int rank) {
  const std::lock_guard lock(mutex_);
  std::erase_if(known_, [](const auto& each) { return each.expired(); });
  for (const auto& each : known_)
    if (const auto known = each.lock(); known != nullptr && known->ranks == ranks) return known;
  Runs places;
  for (const int each : ranks) places.push_back(hosts[static_cast<std::size_t>(each)]);
  const auto made = std::make_shared<const Membership>(
      Membership{std::move(ranks), fabric::NodeMap(places, rank)});
  known_.push_back(made);
  return made;
}

}  // namespace tutti::mpi
