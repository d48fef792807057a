// SPDX-License-Identifier: BSD-3-Clause
// How senders decide that blocks travel.
#include "coll/exchange/everybody.h"

#include <gtest/gtest.h>

#include <vector>

#include "lab/sim.h"

namespace tutti::coll {
namespace {

using lab::SimFabric;

// How often buffers are offered where each of three members sends each member a block. The blocks
// of a member are `distance` bytes apart, and the last one is `further` bytes further away.
int offers(std::size_t bytes, std::size_t distance, std::size_t further) {
  constexpr std::size_t ranks = 3;
  lab::Simulator simulator(ranks, 1);
  std::vector<std::vector<std::byte>> send(ranks), recv(ranks);
  std::vector<std::vector<Block>> out(ranks), in(ranks);
  for (std::size_t me = 0; me < ranks; ++me) {
    send[me].resize((ranks - 1) * distance + further + bytes, std::byte(me + 1));
    recv[me].resize(ranks * bytes);
    for (std::size_t q = 0; q < ranks; ++q) {
      const std::size_t at = q * distance + (q == ranks - 1 ? further : 0);
      out[me].push_back({send[me].data() + at, bytes});
      in[me].push_back({recv[me].data() + q * bytes, bytes});
    }
  }
  std::vector<Work> works(ranks);
  EXPECT_TRUE(simulator.run([&](SimFabric& f) {
    const auto me = static_cast<std::size_t>(f.rank());
    works[me].out = out[me];
    works[me].in = in[me];
    f.begin(1);
    return exchange::everybody(f, works[me]);
  }));
  for (std::size_t me = 0; me < ranks; ++me)
    for (std::size_t i = 0; i < ranks * bytes; ++i)
      EXPECT_EQ(recv[me][i], std::byte(i / bytes + 1)) << "byte " << i << " of rank " << me;
  return simulator.offers();
}

// To be offered counts as a use, and what is used often is moved where peers can map it. To look it
// up takes time, too.
TEST(Exchange, OffersNothingThatIsSmall) {
  const std::size_t large = choice::usual.direct_bytes, small = large - 8;
  for (const std::size_t further : {std::size_t{0}, std::size_t{64}}) {
    EXPECT_EQ(offers(small, small, further), 0) << further;
    EXPECT_GE(offers(large, large, further), 3) << further;
  }
  EXPECT_EQ(offers(small, 0, 0), 0) << "one block for all";
  EXPECT_EQ(offers(large, 0, 0), 3) << "one block for all";
}

}  // namespace
}  // namespace tutti::coll
