// SPDX-License-Identifier: BSD-3-Clause
// Scripts of collectives for members on several nodes.
#pragma once

#include <string_view>

#include "coll/leaders/rows.h"
#include "support/script.h"

namespace tutti::test {

// The collectives that have an algorithm of leaders.
template <fabric::Fabric F, fabric::Wire W>
std::vector<Collective> led() {
  std::vector<Collective> all;
  for (int c = 0; c < coll::collective_count; ++c)
    if (coll::leaders::algorithm_of<F, W>(static_cast<Collective>(c)) != nullptr)
      all.push_back(static_cast<Collective>(c));
  return all;
}

// As a launcher lays ranks over nodes: one after the other, in turn, or at random.
inline std::vector<std::int32_t> draw_hosts(std::mt19937_64& random, int ranks) {
  const auto nodes =
      static_cast<std::int32_t>(1 + random() % static_cast<unsigned>(std::min(7, ranks)));
  const auto mode = random() % 3;
  std::vector<std::int32_t> hosts;
  for (std::int32_t rank = 0; rank < ranks; ++rank)
    hosts.push_back(mode == 0   ? rank * nodes / ranks
                    : mode == 1 ? rank % nodes
                                : static_cast<std::int32_t>(random() % 7));
  return hosts;
}

// Mostly of `collective`. Operations that neither commute nor associate are for one node alone.
template <fabric::Fabric F, fabric::Wire W>
Script draw_led_script(std::mt19937_64& random, Collective collective, int ranks,
                       std::size_t most_ops = 8) {
  Script script{.ranks = ranks, .ops = {}};
  const std::vector<Collective> all = led<F, W>();
  const std::size_t ops = 1 + random() % most_ops;
  while (script.ops.size() < ops) {
    const Collective next = random() % 3 != 0 ? collective : all[random() % all.size()];
    const std::size_t row = coll::rows_of<F>(next).size() - 1;
    Op op = draw_op<F>(random, {next, row}, ranks, {});
    const bool computes = next == Collective::reduce || next == Collective::allreduce;
    if (computes && std::string_view(kinds[op.kind].name) != "sum of 24") continue;
    op.order = coll::Order::tree;
    script.ops.push_back(op);
  }
  return script;
}

}  // namespace tutti::test
