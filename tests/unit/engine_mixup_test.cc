// SPDX-License-Identifier: BSD-3-Clause
// Ranks that call blocking and nonblocking collectives, played by one thread in seeded orders:
// those that call them in one order never look mixed up to anybody, and whenever others wait for
// each other for ever, one of them sees why.
#include "engine/mixup.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

#include "engine/call_signature.h"
#include "lab/desks.h"
#include "support/seeds.h"

namespace tutti::engine {
namespace {

// 'B' is a blocking collective that waits for all, 'F' one in which all wait for rank 0, 'T' one in
// which rank 0 waits for all; 's' starts a nonblocking one, 'w' waits for all that were started.
using Calls = std::string;

// What the n-th blocking and nonblocking collective say of themselves.
std::uint64_t call_of(bool blocking, std::uint64_t number) {
  return CallSignature{.collective = Collective::bcast, .bytes = 2 * number + blocking}.encode();
}

class Player {
 public:
  Player(Desks desks, int rank, Calls calls)
      : desks_(desks), rank_(rank), calls_(std::move(calls)) {}

  [[nodiscard]] bool done() const { return next_ == calls_.size(); }

  // False: it waits.
  bool step() {
    switch (calls_[next_]) {
      case 's':
        publish_start(mine(), step_, call_of(false, ++started_));
        break;
      case 'w':
        for (const segment::Desk* desk : desks_)
          if (desk->starts.count < started_) return false;
        break;
      default:
        if (!inside_) enter();
        if (!may_leave()) return false;
        mine().done = step_;
        inside_ = false;
    }
    ++next_;
    return true;
  }

  // Of one that waits.
  [[nodiscard]] std::optional<Mixup> look() const {
    if (inside_) return find_mixup_in_call(desks_, rank_, step_, call_of(true, step_));
    return find_mixup_in_wait(desks_, rank_);
  }

 private:
  [[nodiscard]] segment::Desk& mine() const { return *desks_[static_cast<std::size_t>(rank_)]; }
  [[nodiscard]] static segment::Step posted(const segment::Desk& desk, segment::Step step) {
    return desk.lines[step % segment::ring].step;
  }
  void enter() {
    inside_ = true;
    segment::Line& line = mine().lines[++step_ % segment::ring];
    line.call = call_of(true, step_);
    line.step = step_;
  }
  [[nodiscard]] bool may_leave() const {
    if (calls_[next_] == 'F') return posted(*desks_[0], step_) >= step_;
    if (calls_[next_] == 'T' && rank_ != 0) return true;
    for (const segment::Desk* desk : desks_)
      if (posted(*desk, step_) < step_) return false;
    return true;
  }

  Desks desks_;
  int rank_;
  Calls calls_;
  std::size_t next_ = 0;
  segment::Step step_ = 0;
  std::uint64_t started_ = 0;
  bool inside_ = false;
};

// The same collectives for each rank, and waits wherever it likes.
std::vector<Calls> draw(std::mt19937_64& random) {
  std::vector<Calls> all(2 + random() % 3);
  for (int i = 0; i < 30; ++i) {
    const char call = "BFTsss"[random() % 6];
    for (Calls& calls : all) {
      if (random() % 4 == 0) calls += 'w';
      calls += call;
    }
  }
  for (Calls& calls : all) calls += 'w';
  return all;
}

// Calls one of the other kind, or exchanges a start and a blocking one next to each other.
void mix_up(Calls& calls, std::mt19937_64& random) {
  const bool exchanges = random() % 2 == 0;
  for (std::size_t i = random() % calls.size(); i + 1 < calls.size(); ++i) {
    const bool starts = calls[i] == 's';
    if (calls[i] == 'w' || calls[i + 1] == 'w' || starts == (calls[i + 1] == 's')) continue;
    if (exchanges)
      std::swap(calls[i], calls[i + 1]);
    else
      calls[i] = starts ? "BFT"[random() % 3] : 's';
    if (calls[i] == 's') calls.insert(i + 1, "w");  // or nobody would mind
    return;
  }
}

enum class Outcome { done, seen, stuck };

// Lets everyone go on in turns that `random` chooses, until nobody can; or until one sees a mix-up
// that `looks` whenever it waits.
Outcome play(const std::vector<Calls>& calls, std::mt19937_64& random, bool looks) {
  const lab::VirtualDesks memory(static_cast<int>(calls.size()));
  std::vector<Player> players;
  for (const Calls& each : calls)
    players.emplace_back(memory.all(), static_cast<int>(players.size()), each);
  // A progress thread does that whatever its rank is doing.
  const auto thread_looks = [&](std::size_t rank) {
    return find_mixup_in_wait(memory.all(), static_cast<int>(rank)).has_value();
  };
  bool moved = true;
  while (moved) {
    moved = false;
    for (std::size_t turn = 0; turn < 4 * players.size(); ++turn) {
      const std::size_t rank = random() % players.size();
      Player& player = players[rank];
      if (player.done()) continue;
      if (player.step())
        moved = true;
      else if (looks && (player.look() || thread_looks(rank)))
        return Outcome::seen;
    }
    for (Player& player : players) moved = moved || (!player.done() && player.step());
  }
  bool done = true, seen = false;
  for (const Player& player : players) {
    done = done && player.done();
    seen = seen || (!player.done() && player.look());
  }
  return seen ? Outcome::seen : done ? Outcome::done : Outcome::stuck;
}

TEST(Mixup, IsSeenInNoLegalProgram) {
  const auto [first, last] = test::seeds(5000);
  for (std::uint64_t seed = first; seed <= last; ++seed) {
    std::mt19937_64 random(seed);
    const std::vector<Calls> calls = draw(random);
    ASSERT_EQ(play(calls, random, true), Outcome::done) << "seed " << seed << ": " << calls[0];
  }
}

TEST(Mixup, IsSeenWhereRanksWaitForEachOther) {
  int seen = 0;
  const auto [first, last] = test::seeds(5000);
  for (std::uint64_t seed = first; seed <= last; ++seed) {
    std::mt19937_64 random(seed);
    std::vector<Calls> calls = draw(random);
    std::string all;
    for (Calls& each : calls) {
      if (random() % 2 == 0) mix_up(each, random);
      all += each + ' ';
    }
    const Outcome outcome = play(calls, random, seed % 2 == 0);
    ASSERT_NE(outcome, Outcome::stuck) << "seed " << seed << ": " << all;
    seen += outcome == Outcome::seen;
  }
  EXPECT_GT(seen, static_cast<int>(last - first) / 4);
}

}  // namespace
}  // namespace tutti::engine
