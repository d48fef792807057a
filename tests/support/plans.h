// SPDX-License-Identifier: BSD-3-Clause
// Plans of the usual costs, for tests that do not ask what is chosen.
#pragma once

#include <map>
#include <memory>
#include <mutex>

#include "coll/plans.h"

namespace tutti::test {

// They are kept: to make them takes longer than a simulated collective.
template <fabric::Fabric F>
std::shared_ptr<const choice::Plans> usual_plans(int ranks) {
  static std::mutex mutex;
  static std::map<int, std::shared_ptr<const choice::Plans>> made;
  const std::scoped_lock lock(mutex);
  std::shared_ptr<const choice::Plans>& plans = made[ranks];
  if (plans == nullptr)
    plans = std::make_shared<const choice::Plans>(coll::make_plans<F>(ranks, choice::usual));
  return plans;
}

}  // namespace tutti::test
