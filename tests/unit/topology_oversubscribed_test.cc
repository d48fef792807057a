// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <algorithm>
#include <ctime>
#include <vector>

#include "topology/topology.h"

namespace tutti::topology {
namespace {

struct Case {
  const char* name;
  std::vector<std::vector<int>> cpus;  // of each rank
  std::vector<std::int64_t> quotas_milli;
  double ranks_per_core;
};

const Case cases[] = {
    {"one_rank_one_core", {{0}}, {}, 1},
    {"as_many_ranks_as_cores", {{0, 1}, {0, 1}}, {}, 1},
    {"more_ranks_than_cores", {{0, 1}, {0, 1}, {0, 1}}, {}, 1.5},
    {"each_bound_to_its_own", {{0}, {1}, {2}, {3}}, {}, 1},
    {"two_bound_to_one", {{0}, {0}, {2}, {3}}, {}, 2},
    {"two_bound_to_one_of_many", {{5}, {5}, {0, 1, 2, 3, 4, 5, 6, 7}}, {}, 2},
    {"a_full_domain_beside_an_empty_one", {{0, 1}, {0, 1}, {0, 1}, {2, 3, 4, 5}}, {}, 1.5},
    {"domains_that_fit", {{0, 1}, {0, 1}, {2, 3}, {2, 3}}, {}, 1},
    {"bound_within_a_domain_that_is_full", {{0}, {0, 1}, {0, 1}, {4, 5}}, {}, 1.5},
    {"beyond_cpu_64", {{64}, {128}, {1023}}, {}, 1},
    {"the_same_beyond_cpu_64", {{700}, {700}}, {}, 2},
    {"an_unknown_mask", {{}, {0, 1}}, {}, 2},
    {"a_quota_that_suffices", {{0, 1, 2, 3}, {0, 1, 2, 3}}, {2000, 2000}, 1},
    {"a_quota_that_does_not", {{0, 1, 2, 3}, {0, 1, 2, 3}}, {1500, 1500}, 4.0 / 3},
    {"a_quota_on_one_of_them", {{0, 1, 2, 3}, {0, 1, 2, 3}}, {0, 1000}, 2},
    {"no_quota", {{0, 1, 2, 3}, {0, 1, 2, 3}}, {0, 0}, 0.5},
};

std::vector<Binding> bindings_of(const Case& example) {
  std::vector<Binding> bindings;
  for (std::size_t rank = 0; rank < example.cpus.size(); ++rank) {
    Binding binding;
    for (const int cpu : example.cpus[rank])
      binding.cpus.words[static_cast<std::size_t>(cpu) / 64] |= std::uint64_t{1} << (cpu % 64);
    if (!example.quotas_milli.empty()) binding.quota_milli = example.quotas_milli[rank];
    bindings.push_back(binding);
  }
  return bindings;
}

class Oversubscribed : public ::testing::TestWithParam<Case> {};

TEST_P(Oversubscribed, AsTheTableSays) {
  EXPECT_DOUBLE_EQ(ranks_per_core(bindings_of(GetParam())), GetParam().ranks_per_core);
  EXPECT_EQ(ranks_per_core(bindings_of(GetParam())) > 1, GetParam().ranks_per_core > 1);
}

// All ranks must come to the same answer, whatever order they see each other in.
TEST_P(Oversubscribed, WhateverTheOrder) {
  std::vector<Binding> bindings = bindings_of(GetParam());
  for (std::size_t i = 0; i < bindings.size(); ++i) {
    std::rotate(bindings.begin(), bindings.begin() + 1, bindings.end());
    EXPECT_EQ(ranks_per_core(bindings), GetParam().ranks_per_core);
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, Oversubscribed, ::testing::ValuesIn(cases),
                         [](const auto& row) { return row.param.name; });

// Four containers of two ranks on two cores; and two of them that have cores of their own.
TEST(Overclaimed, WhereRanksOfSeveralNodesNeedTheSameCores) {
  std::vector<Claim> claims;
  for (const int node : {0, 2, 4, 6})
    for (int rank = 0; rank < 2; ++rank) claims.push_back({77, 2, node});
  EXPECT_TRUE(overclaimed(claims, 0));
  EXPECT_TRUE(overclaimed(claims, 6));
  EXPECT_FALSE(overclaimed(std::vector<Claim>(claims.begin(), claims.begin() + 2), 0));
  const std::vector<Claim> apart = {{1, 2, 0}, {1, 2, 0}, {2, 2, 2},
                                    {2, 2, 2}, {3, 1, 4}, {3, 1, 5}};
  EXPECT_FALSE(overclaimed(apart, 0));
  EXPECT_FALSE(overclaimed(apart, 2));
  EXPECT_TRUE(overclaimed(apart, 4));
  EXPECT_TRUE(overclaimed(apart)) << "of any";
  EXPECT_FALSE(overclaimed(std::vector<Claim>(claims.begin(), claims.begin() + 2)));
}

TEST(FreeCores, AreOfAllNodesThatUseThem) {
  const std::vector<Claim> alone = {{1, 2, 0}, {2, 2, 1}};  // each has a machine
  EXPECT_FALSE(lack_free_cores(alone));
  const std::vector<Claim> containers = {{1, 2, 0}, {1, 2, 1}};
  EXPECT_TRUE(lack_free_cores(containers));
  const std::vector<Claim> roomy = {{1, 4, 0}, {1, 4, 1}};
  EXPECT_FALSE(lack_free_cores(roomy));
  const std::vector<Claim> bound = {{1, 1, 0}, {2, 1, 1}};
  EXPECT_FALSE(lack_free_cores(bound));
  // That a node's own ranks have one left its placement knows.
  const std::vector<Claim> full = {{1, 2, 0}, {1, 2, 0}, {2, 2, 1}, {2, 2, 1}};
  EXPECT_FALSE(lack_free_cores(full));
}

// In MPI_Init each rank looks at what all say: a few passes, whoever shares a core.
TEST(Claims, OfManyRanksAreSeenThroughAtOnce) {
  constexpr int ranks = 131072, near = 64;
  for (const bool share : {false, true}) {
    std::vector<Claim> claims;
    for (std::int32_t rank = 0; rank < ranks; ++rank) {
      const std::int32_t node = rank / near;
      const auto cores = static_cast<std::uint64_t>(share ? node / 2 : node);
      claims.push_back({.cores_id = cores, .cores = near, .node = node});
    }
    const std::clock_t began = std::clock();
    EXPECT_EQ(overclaimed(claims), share);
    EXPECT_EQ(overclaimed(claims, ranks / near - 1), share);
    EXPECT_EQ(lack_free_cores(claims), share);
    const std::clock_t took = std::clock() - began;
    RecordProperty(share ? "shared_us" : "apart_us", static_cast<int>(took));
    EXPECT_LT(took, CLOCKS_PER_SEC / 5);
  }
}

}  // namespace
}  // namespace tutti::topology
