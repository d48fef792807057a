// SPDX-License-Identifier: BSD-3-Clause
// Where the ranks of a node run, and where their progress threads do.
#include "engine/placing.h"

#include <gtest/gtest.h>

#include <string>

#include "os/os.h"
#include "support/teams.h"

namespace tutti::engine {
namespace {

using os::CpuMask;
using Masks = std::vector<CpuMask>;

CpuMask cores(int first, int last) {
  CpuMask mask;
  for (int core = first; core <= last; ++core) mask |= CpuMask::of(core);
  return mask;
}

// A rank bound to each of these.
Masks bound(std::initializer_list<int> each) {
  Masks masks;
  for (const int core : each) masks.push_back(CpuMask::of(core));
  return masks;
}

std::string ranks_of(const Placing& placing) {
  std::string text;
  for (const CpuMask& mask : placing.ranks) text += text_of(mask) + ' ';
  return text;
}

// By rank; a thread that is with its rank as "-".
std::string threads_of(const Placing& placing) {
  std::string text;
  for (std::size_t rank = 0; rank < placing.progress.size(); ++rank)
    text += (placing.dedicated(rank) ? text_of(*placing.progress[rank]) : "-") + ' ';
  return text;
}

const Masks one = {cores(0, 7)};
const Masks two = {cores(0, 3), cores(4, 7)};

TEST(CoresOfAJob, AreThoseThatItsLauncherMayUse) {
  const CpuMask cpuset = cores(0, 7), few = cores(0, 3), none;
  const CpuMask first = cores(0, 0), second = cores(1, 1), other = cores(5, 5);
  const auto of = [&](std::initializer_list<Confines> ranks) {
    return text_of(cores_of_job(ranks));
  };
  EXPECT_EQ(of({{first, cpuset, few}, {second, cpuset, few}}), "0-3");
  EXPECT_EQ(of({{few, cpuset, few}, {few, cpuset, few}}), "0-3") << "bound to none of them";
  EXPECT_EQ(of({{first, cpuset, cpuset}, {second, cpuset, cpuset}}), "0-7");
  EXPECT_EQ(of({{first, cores(0, 2), few}, {second, few, few}}), "0-2");
  EXPECT_EQ(of({{first, cpuset, none}, {second, cpuset, none}}), "0-7") << "nobody knows";
  EXPECT_EQ(of({{first, cpuset, few}, {second, cpuset, none}}), "0-3") << "one does not know";
  EXPECT_EQ(of({{first, cpuset, few}, {other, cpuset, few}}), "0-7") << "the MPI binds elsewhere";
  EXPECT_EQ(of({{first, cpuset, first}, {second, cpuset, second}}), "0-7")
      << "each is started by what only looks like a launcher";
}

TEST(Threads, ShareTheFreeCoresOfTheirDomain) {
  const Placing placing = place({}, bound({0, 1, 2, 4, 5}), cores(0, 7), two);
  EXPECT_EQ(threads_of(placing), "3 3 3 6 7 ");
  EXPECT_EQ(ranks_of(placing), "");
  EXPECT_FALSE(placing.too_many);
}

TEST(Threads, OfNeighboursShareACoreOrTakeTurns) {
  const Masks bindings = bound({0, 1, 2, 3});
  EXPECT_EQ(threads_of(place({"auto"}, bindings, cores(0, 5), one)), "4 4 5 5 ");
  EXPECT_EQ(threads_of(place({"numa"}, bindings, cores(0, 5), one)), "4 4 5 5 ");
  EXPECT_EQ(threads_of(place({"odd-even"}, bindings, cores(0, 5), one)), "4 5 4 5 ");
}

TEST(Threads, WithoutAFreeCoreInTheirDomainGoElsewhere) {
  const Masks bindings = bound({0, 1, 2, 3, 4});
  EXPECT_EQ(threads_of(place({}, bindings, cores(0, 7), two)), "5 5 6 6 5 ");
  EXPECT_EQ(threads_of(place({"odd-even"}, bindings, cores(0, 7), two)), "5 6 7 5 5 ");
}

TEST(Threads, OfRanksThatSpanDomainsTakeAnyFreeCore) {
  const Masks bindings = {cores(2, 4), cores(2, 4)};
  EXPECT_EQ(threads_of(place({}, bindings, cores(0, 5), two)), "0 1 ");
}

TEST(Threads, TakeNoMoreCoresThanTheCgroupGrantsTimeFor) {
  const Masks bindings = bound({0, 1, 2});
  const auto with = [&](std::int64_t quota_milli) {
    return threads_of(place({"auto", 0, quota_milli}, bindings, cores(0, 7), one));
  };
  EXPECT_EQ(with(0), "3 4 6 ");
  EXPECT_EQ(with(8000), "3 4 6 ");
  EXPECT_EQ(with(5000), "3 3 5 ") << "for two, which are not neighbours";
  EXPECT_EQ(with(4900), "3 3 3 ") << "a part of a core is none";
  EXPECT_EQ(with(3000), "- - - ");
  EXPECT_EQ(with(1000), "- - - ") << "less than the ranks need";
}

TEST(Threads, AreWithTheirRanksWhereTheyAreToldTo) {
  for (const char* policy : {"bind", "none"})
    EXPECT_EQ(threads_of(place({policy}, bound({0, 1}), cores(0, 7), two)), "- - ") << policy;
}

TEST(Threads, AreWithTheirRanksWhereNoCoreIsFree) {
  EXPECT_EQ(threads_of(place({}, bound({0, 1}), cores(0, 1), one)), "- - ");
  EXPECT_EQ(threads_of(place({}, Masks{cores(0, 7), cores(0, 7)}, cores(0, 7), two)), "- - ");
}

TEST(CommCores, AreKeptFreeInEachDomain) {
  const Masks bindings(6, cores(0, 7));
  const auto kept = [&](const char* policy) {
    return place({policy, 2}, bindings, cores(0, 7), two);
  };
  for (const char* policy : {"auto", "numa", "odd-even", "bind", "none"}) {
    EXPECT_EQ(ranks_of(kept(policy)), "0 1 2 4 5 6 ") << policy;
    EXPECT_FALSE(kept(policy).too_many);
  }
  EXPECT_EQ(threads_of(kept("auto")), "3 3 3 7 7 7 ");
  EXPECT_EQ(threads_of(kept("numa")), "3 3 3 7 7 7 ");
  EXPECT_EQ(threads_of(kept("odd-even")), "3 7 3 7 3 7 ");
  EXPECT_EQ(threads_of(kept("bind")), "- - - - - - ");
  EXPECT_EQ(threads_of(kept("none")), "- - - - - - ");
}

TEST(CommCores, AreOfTheJobsCores) {
  EXPECT_EQ(ranks_of(place({"auto", 1}, Masks(3), cores(4, 7), two)), "4 5 6 ");
  EXPECT_EQ(threads_of(place({"auto", 1}, Masks(3), cores(4, 7), two)), "7 7 7 ");
  EXPECT_EQ(ranks_of(place({"auto", 2}, Masks(4), cores(1, 6), two)), "1 2 4 5 ");
  EXPECT_EQ(threads_of(place({"auto", 2}, Masks(4), cores(1, 6), two)), "3 3 6 6 ");
}

TEST(CommCores, FollowTheNumbersOfADomain) {
  Masks taking_turns(2);
  for (int core = 0; core < 8; ++core)
    taking_turns[static_cast<std::size_t>(core % 2)] |= CpuMask::of(core);
  const Placing all = place({"auto", 2}, Masks(6), cores(0, 7), taking_turns);
  EXPECT_EQ(ranks_of(all), "0 2 4 1 3 5 ");
  EXPECT_EQ(threads_of(all), "6 6 6 7 7 7 ");
  // Nothing of the third is the job's, and not all of the others.
  taking_turns.insert(taking_turns.begin() + 1, cores(8, 11));
  const Placing some = place({"auto", 2}, Masks(4), cores(0, 5), taking_turns);
  EXPECT_EQ(ranks_of(some), "0 2 1 3 ");
  EXPECT_EQ(threads_of(some), "4 4 5 5 ");
}

// Uneven ones, and one that the system does not name, count as one.
TEST(CommCores, OfOtherDomainsAreSpreadOverAll) {
  const Placing uneven = place({"auto", 2}, Masks(3), cores(0, 4), two);
  EXPECT_EQ(ranks_of(uneven), "0 1 3 ");
  EXPECT_EQ(threads_of(uneven), "2 2 4 ");
  for (const Masks& known : {Masks{cores(0, 3)}, Masks{}}) {
    const Placing placing = place({"auto", 1}, Masks(7), cores(0, 7), known);
    EXPECT_EQ(ranks_of(placing), "0 1 2 3 4 5 6 ");
    EXPECT_EQ(threads_of(placing), "7 7 7 7 7 7 7 ");
  }
}

TEST(CommCores, LeaveTheOthersToAnyNumberOfRanks) {
  const Placing placing = place({"auto", 2}, Masks(5), cores(0, 3), {one});
  EXPECT_EQ(ranks_of(placing), "0 2 0 2 0 ");
  EXPECT_EQ(threads_of(placing), "1 3 1 3 1 ");
}

TEST(CommCores, ServeDomainsThatHaveNone) {
  for (const char* policy : {"auto", "numa", "odd-even"}) {
    const Placing placing = place({policy, 1}, Masks(7), cores(0, 7), two);
    EXPECT_EQ(ranks_of(placing), "0 1 2 3 4 5 6 ") << policy;
    EXPECT_EQ(threads_of(placing), "7 7 7 7 7 7 7 ") << policy;
  }
}

TEST(CommCores, ThatLeaveNoCoreChangeNothing) {
  const Masks bindings = bound({0, 1, 2, 4});
  for (const std::int64_t asked : {std::int64_t{8}, std::int64_t{9}, (std::int64_t{1} << 32) + 1}) {
    const Placing placing = place({"auto", asked}, bindings, cores(0, 7), two);
    EXPECT_TRUE(placing.too_many);
    EXPECT_EQ(ranks_of(placing), "");
    EXPECT_EQ(threads_of(placing), threads_of(place({}, bindings, cores(0, 7), two)));
  }
  EXPECT_FALSE(place({"auto", 7}, bindings, cores(0, 7), two).too_many);
}

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

TEST(CommCores, AreReportedWithTheThreadsOnThem) {
  if (os::possible_cpus().count() < 2) GTEST_SKIP() << "needs two cores";
  for (const std::string policy : {"auto", "bind"}) {
    const auto endings = test::fork_ranks(2, [&](test::Rank& self) {
      ::setenv("TUTTI_COMM_CORES", "1", 1);
      ::setenv("TUTTI_PROGRESS", policy.c_str(), 1);
      const std::string kept = test::join(self)->kept_free();
      RANK_CHECK((kept.find("progress threads on core ") == 0) == (policy == "auto"));
      RANK_CHECK((kept.find("ranks on core ") == 0) == (policy == "bind"));
    });
    EXPECT_TRUE(endings.all(0)) << endings.output;
  }
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

// Both on the first core, `before` or after it was noted what they may use.
void expect_threads_apart(bool before, bool apart) {
  const auto endings = test::fork_ranks(2, [&](test::Rank& self) {
    int cpu = 0;
    while (!os::usable_cpus().has(cpu)) ++cpu;
    if (!before) os::note_home_cpus();
    RANK_CHECK(os::run_on(os::CpuMask::of(cpu)));
    if (before) os::note_home_cpus();
    const auto node = test::join(self);
    RANK_CHECK(node->progress().dedicated == apart);
    RANK_CHECK(node->progress().cpus.has_value() == apart);
    RANK_CHECK(node->oversubscribed());
    RANK_CHECK(node->plans(2)->costs.sharers == 2);
  });
  EXPECT_TRUE(endings.all(0)) << endings.output;
}

TEST(Threads, KeepOffTheCoresOfARanksOwnThreads) {
  if (os::usable_cpus().count() < 2) GTEST_SKIP() << "needs two cores";
  expect_threads_apart(true, true);    // a launcher has bound them
  expect_threads_apart(false, false);  // OpenMP has
}

// Hybrid ranks: two cores each of eight, of which OpenMP uses both.
TEST(Threads, HaveTheCoresThatNoRankWasGiven) {
  const Masks homes{cores(0, 1), cores(2, 3)};
  EXPECT_EQ(threads_of(place({}, homes, cores(0, 3), Masks{cores(0, 3)})), "- - ");
  EXPECT_EQ(threads_of(place({}, homes, cores(0, 7), one)), "4 6 ");
}

TEST(Domains, AreSeveralWhereRanksRunInMoreThanOne) {
  EXPECT_FALSE(are_in_several(one, bound({0, 7})));
  EXPECT_FALSE(are_in_several(two, bound({0, 3})));
  EXPECT_TRUE(are_in_several(two, bound({3, 4})));
  EXPECT_TRUE(are_in_several(two, Masks{cores(2, 5)}));
  EXPECT_FALSE(are_in_several(two, Masks{}));
  // Where ranks are bound, it is where they are then.
  const Placing placing = place({"auto", 2, 0}, bound({0, 1, 2, 3}), cores(0, 7), two);
  EXPECT_EQ(are_in_several(two, placing.ranks), true) << ranks_of(placing);
}

}  // namespace
}  // namespace tutti::engine
