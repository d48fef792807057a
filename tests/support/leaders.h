// SPDX-License-Identifier: BSD-3-Clause
// Scripts of collectives for members on several nodes.
#pragma once

#include <algorithm>
#include <string_view>

#include "coll/leaders/rows.h"
#include "support/script.h"

namespace tutti::test {

// The collectives that have an algorithm of leaders.
template <fabric::Fabric F, fabric::Wire W>
std::vector<Collective> led() {
  std::vector<Collective> all;
  for (int c = 0; c < coll::collective_count; ++c)
    if (!coll::leaders::rows_of<F, W>(static_cast<Collective>(c)).empty())
      all.push_back(static_cast<Collective>(c));
  return all;
}

// Whether ranks of each node must follow each other.
inline bool wants_order(Collective collective) { return is_scan(collective); }

// As a launcher lays ranks over nodes: one after the other, in turn, or at random.
inline std::vector<std::int32_t> draw_hosts(std::mt19937_64& random, int ranks, bool in_order) {
  const auto nodes =
      static_cast<std::int32_t>(1 + random() % static_cast<unsigned>(std::min(12, ranks)));
  const auto mode = in_order ? random() % 2 * 2 : random() % 3;
  std::vector<std::int32_t> hosts;
  for (std::int32_t rank = 0; rank < ranks; ++rank)
    hosts.push_back(mode == 0   ? rank * nodes / ranks
                    : mode == 1 ? rank % nodes
                                : static_cast<std::int32_t>(random() % 12));
  if (in_order || random() % 4 == 0) std::sort(hosts.begin(), hosts.end());  // unequal nodes
  return hosts;
}

// Whether operands meet in it, in an order that is not the ranks'.
inline bool sums_up(Collective collective) { return computes(collective) && !is_scan(collective); }

// Operations that neither commute nor associate are for one node alone, and those that only
// associate are for those that keep the ranks' order.
template <class Kind>
bool leaders_may_fold(Collective collective, const Kind& kind) {
  if (wants_order(collective)) return kind.associates;
  return !sums_up(collective) || std::string_view(kind.name) == "sum of 24";
}

// Mostly of `collective`, for which `hosts` must do; of those that compute some are late.
template <fabric::Fabric F, fabric::Wire W>
Script draw_led_script(std::mt19937_64& random, Collective collective,
                       const std::vector<std::int32_t>& hosts, std::size_t most_ops = 8) {
  const int ranks = static_cast<int>(hosts.size());
  const bool in_order = fabric::NodeMap(hosts, 0).in_order();
  Script script{.ranks = ranks, .ops = {}};
  const std::vector<Collective> all = led<F, W>();
  const std::size_t ops = 1 + random() % most_ops;
  while (script.ops.size() < ops) {
    const bool other = !script.ops.empty() && random() % 3 == 0;
    const Collective next = other ? all[random() % all.size()] : collective;
    const bool late = !coll::late_rows_of<F>(next).empty() && random() % 4 == 0;
    if (wants_order(next) && !in_order && !late) continue;
    const std::size_t row = (late ? all_rows<F>(next) : coll::rows_of<F>(next)).size() - 1;
    Op op;
    do {
      op = draw_op<F>(random, {next, row, late}, ranks, {});
    } while (!late && !leaders_may_fold(next, kinds[op.kind]));
    op.order = coll::Order::tree;
    script.ops.push_back(op);
  }
  return script;
}

}  // namespace tutti::test
