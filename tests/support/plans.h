// SPDX-License-Identifier: BSD-3-Clause
// Plans of the usual costs, for tests that do not ask what is chosen.
#pragma once

#include <memory>

#include "coll/plans.h"

namespace tutti::test {

template <fabric::Fabric F>
std::shared_ptr<const choice::Plans> usual_plans(int ranks) {
  return std::make_shared<const choice::Plans>(coll::make_plans<F>(ranks, choice::usual));
}

}  // namespace tutti::test
