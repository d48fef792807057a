// SPDX-License-Identifier: BSD-3-Clause
// Where the ranks of a node run, and where their progress threads do.
#include "engine/placing.h"

#include <gtest/gtest.h>

#include <string>

#include "os/os.h"
#include "support/teams.h"

namespace tutti::engine {
namespace {

// What two ranks say that join twice with this TUTTI_COMM_CORES.
std::string said_with(const std::string& comm_cores, bool kept) {
  const auto endings = test::fork_ranks(2, [&](test::Rank& self) {
    ::setenv("TUTTI_COMM_CORES", comm_cores.c_str(), 1);
    for (int time = 0; time < 2; ++time)
      RANK_CHECK((*test::join(self)->kept_free() != '\0') == kept);
  });
  EXPECT_TRUE(endings.all(0));
  return endings.output;
}

TEST(CommCores, ThatLeaveNoCoreAreNamedOnce) {
  const int cores = os::possible_cpus().count();
  // The last is 1 in 32 bits.
  for (const std::string& asked : {std::to_string(cores), std::string("4294967297")})
    EXPECT_EQ(said_with(asked, false), "tutti: TUTTI_COMM_CORES=" + asked +
                                           " leaves no core for the ranks: this node has " +
                                           std::to_string(cores) + ", so it may be at most " +
                                           std::to_string(cores - 1) + "; none is kept free\n");
}

TEST(CommCores, ThatLeaveACoreAreNotSpokenOf) {
  const int cores = os::possible_cpus().count();
  EXPECT_EQ(said_with("0", false), "");
  if (cores == 1) return;
  EXPECT_EQ(said_with(std::to_string(cores - 1), true), "");
}

}  // namespace
}  // namespace tutti::engine
