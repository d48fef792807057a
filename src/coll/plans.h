// SPDX-License-Identifier: BSD-3-Clause
// From the tables to plans, and from a plan to the row that runs a call: for blocking calls,
// nonblocking ones, stages of a node and the simulator alike.
#pragma once

#include <array>
#include <vector>

#include "choice/plans.h"
#include "coll/late/rows.h"
#include "coll/tables.h"

namespace tutti::coll {

// Either of the tables of a collective.
template <Fabric F>
constexpr std::span<const Row<F>> table_of(Collective collective, bool late) {
  return late ? late_rows_of<F>(collective) : rows_of<F>(collective);
}

namespace detail {

// The first row of each table: late ones behind the others.
template <Fabric F>
inline constexpr auto first_rows = [] {
  std::array<const Row<F>*, std::size_t{2} * collective_count> rows{};
  for (std::size_t i = 0; i < rows.size(); ++i)
    rows[i] =
        table_of<F>(static_cast<Collective>(i % collective_count), i >= collective_count).data();
  return rows;
}();

}  // namespace detail

// What choice/ weighs of a table.
template <Fabric F>
std::vector<choice::Algorithm> algorithms_of(Collective collective, bool late) {
  const auto rows = table_of<F>(collective, late);
  return {rows.begin(), rows.end()};
}

// Those of both tables, late ones last.
template <Fabric F>
std::vector<choice::Algorithm> all_algorithms(Collective collective) {
  auto all = algorithms_of<F>(collective, false);
  const auto late = algorithms_of<F>(collective, true);
  all.insert(all.end(), late.begin(), late.end());
  return all;
}

template <Fabric F>
choice::Plans make_plans(int ranks, const Costs& costs, const choice::Forced& forced = {}) {
  choice::Plans plans{.costs = costs, .tables = {}};
  plans.costs.direct_bytes = choice::least_direct_bytes(costs);
  plans.costs.whole_bytes = reduction::most_whole_bytes(ranks, costs, reduction::everyone);
  plans.costs.whole_to_root_bytes = reduction::most_whole_bytes(ranks, costs, 0);
  for (std::size_t i = 0; i < forced.size(); ++i) {
    const auto collective = static_cast<Collective>(i);
    const auto all = all_algorithms<F>(collective);
    const char* name = forced[i] - 1u < all.size() ? all[forced[i] - 1u].name : "";
    for (const bool late : {false, true}) {
      const auto table = algorithms_of<F>(collective, late);
      plans.tables[choice::Plans::table_of(collective, late)] =
          choice::make_ladder(table, ranks, costs, choice::place_of(table, name));
    }
  }
  return plans;
}

// nullptr: the collective computes nothing that could be late.
template <Fabric F>
[[gnu::always_inline]] inline const Row<F>* row_of(const choice::Plans& plans,
                                                   Collective collective, const Work& work) {
  const std::size_t table = choice::Plans::table_of(collective, work.operands != nullptr);
  const int place = plans.tables[table].at(work.bytes());
  return place < 0 ? nullptr : detail::first_rows<F>[table] + place;
}

}  // namespace tutti::coll
