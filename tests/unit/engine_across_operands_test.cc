// SPDX-License-Identifier: BSD-3-Clause
// When the operand of a nonblocking collective between nodes is read.
#include <gtest/gtest.h>

#include "support/across.h"

namespace tutti::test {
namespace {

using engine::ErrorCode;

// A few bytes are read in the call, though rank 0 starts the chain only when the others have
// changed theirs. MPI forbids that before the call has ended; DOLFINx 0.5 does it.
TEST(Across, ReadsSmallOperandsInTheCall) {
  Wires wires(3);
  const Endings endings = fork_ranks(3, [&](Rank& self) {
    auto team = team_across(self, wires, {0, 1, 2}, false, false, false, nullptr, true);
    std::int64_t operand = 10 + self.rank, result = -1;
    char mine = 0, all[3];
    if (self.rank == 0) RANK_CHECK(self.world.allgather(&mine, all, 1));
    engine::Pending pending;
    pending.collective = Collective::exscan;
    pending.work = {.send = &operand,
                    .recv = self.rank == 0 ? nullptr : &result,
                    .count = 1,
                    .element_bytes = sizeof operand,
                    .kernel = reduce::find(reduce::Op::sum, reduce::Type::i64)};
    RANK_CHECK(team->may_start(pending.collective, pending.work) == ErrorCode::none);
    team->start(pending);
    team->end_start();
    operand = 1'000'000;
    if (self.rank != 0) RANK_CHECK(self.world.allgather(&mine, all, 1));
    progress::Driver::Wait wait(engine::driver());
    while (!engine::driver().has_finished()) wait.step(true);
    (void)engine::driver().finished();
    RANK_CHECK(engine::Team::finish(pending) == ErrorCode::none);
    engine::driver().completed();
    RANK_CHECK(result == (self.rank == 0 ? -1 : self.rank == 1 ? 10 : 21));
    const engine::Account account = engine::account();
    const std::size_t kind = engine::kind_of(pending.collective, false);
    RANK_CHECK(account.sent[kind].messages == (self.rank < 2 ? 1 : 0));  // along the chain
    RANK_CHECK(account.without_leaders[kind].messages == static_cast<unsigned>(2 - self.rank));
  });
  EXPECT_TRUE(endings.all(0)) << endings.output;
}

}  // namespace
}  // namespace tutti::test
