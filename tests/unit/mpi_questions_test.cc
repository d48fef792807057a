// SPDX-License-Identifier: BSD-3-Clause
// Questions of two ranks, by an MPI that is a mailbox, and the tags that keep calls apart.
#include <gtest/gtest.h>

#include <cstring>
#include <deque>
#include <functional>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "coll/work.h"
#include "mpi/handles.h"
#include "mpi/links.h"
#include "mpi/questions.h"

namespace tutti::mpi {
namespace {

// A communicator is the rank that uses it; what is sent is there at once.
struct Letter {
  int from;
  std::vector<std::byte> data;
};
std::deque<Letter> g_letters[2];
// What else it does in the next call, once.
std::function<void()> g_meanwhile;
void go_on() {
  if (const auto what = std::exchange(g_meanwhile, nullptr)) what();
}

void say_source(void* status, int from) {
  std::memcpy(static_cast<std::byte*>(status) + status_layout(Family::mpich).error - 8, &from,
              sizeof from);
}

Native<int> mailbox() {
  Native<int> native{};
  native.family = Family::mpich;
  native.isend = [](const void* data, int count, int, int to, int, int comm, void*) {
    const auto* bytes = static_cast<const std::byte*>(data);
    g_letters[to].push_back({comm, {bytes, bytes + count}});
    go_on();
    return 0;
  };
  native.iprobe = [](int, int, int comm, int* flag, void* status) {
    go_on();
    *flag = !g_letters[comm].empty();
    if (*flag) say_source(status, g_letters[comm].front().from);
    return 0;
  };
  native.irecv = [](void* data, int, int, int, int, int comm, void*) {
    std::memcpy(data, g_letters[comm].front().data.data(), g_letters[comm].front().data.size());
    g_letters[comm].pop_front();
    return 0;
  };
  native.test = [](void*, int* flag, void*) {
    *flag = 1;
    return 0;
  };
  return native;
}

constexpr std::uint64_t name = 77, bcast = 5, scan = 6;

// Rank 0 asks rank 1 about its last call.
struct Ranks {
  Ranks() {
    for (int rank = 0; rank < 2; ++rank) {
      g_letters[rank].clear();
      each[rank].open(rank, 1);
      each[rank].add(logs[rank]);
    }
  }
  ~Ranks() {
    for (int look = 0; look < 2; ++look)  // what they have sent is over then
      for (auto& one : each) one.look();
  }
  std::optional<Questions<int>::Answer> look() {
    each[1].look();
    each[0].look();
    return each[0].answer(logs[0]);
  }
  Native<int> native = mailbox();
  Questions<int> each[2] = {Questions<int>(native), Questions<int>(native)};
  CallLog logs[2] = {{name, true}, {name, true}};
};

TEST(Questions, NothingComesOfTheSameCall) {
  Ranks ranks;
  for (CallLog& log : ranks.logs) log.add(bcast);
  ranks.each[0].ask(1, ranks.logs[0]);
  EXPECT_FALSE(ranks.look());
  ranks.logs[1].add(scan);  // nor later
  EXPECT_FALSE(ranks.look());
}

TEST(Questions, AnotherCallIsAnswered) {
  for (const int later : {0, 1, 200}) {
    Ranks ranks;
    ranks.logs[0].add(bcast);
    ranks.logs[1].add(scan);
    for (int call = 0; call < later; ++call) ranks.logs[1].add(bcast);
    ranks.each[0].ask(1, ranks.logs[0]);
    const auto answer = ranks.look();
    ASSERT_TRUE(answer) << later;
    EXPECT_EQ(answer->rank, 1);
    EXPECT_EQ(answer->theirs, scan);
    EXPECT_EQ(answer->mine, bcast);
  }
}

// The MPI may delete a communicator in any call, whoever has made it.
TEST(Questions, ACommunicatorMayEndInACallOfTheMpi) {
  Ranks ranks;
  CallLog other(name + 1, true);
  ranks.each[0].add(other);
  ranks.logs[0].add(bcast);
  ranks.logs[1].add(scan);
  g_meanwhile = [&] { ranks.each[0].remove(other); };
  ranks.each[0].ask(1, ranks.logs[0]);
  g_meanwhile = [&] { ranks.each[1].remove(ranks.logs[1]); };
  EXPECT_TRUE(ranks.look());
}

// A rank that is late answers when it comes to that call.
TEST(Questions, ALateRankAnswersLater) {
  Ranks ranks;
  for (const std::uint64_t call : {bcast, bcast, bcast}) ranks.logs[0].add(call);
  ranks.logs[1].add(bcast);
  ranks.each[0].ask(1, ranks.logs[0]);
  EXPECT_FALSE(ranks.look());
  ranks.logs[1].add(bcast);
  EXPECT_FALSE(ranks.look());
  ranks.logs[1].add(scan);
  EXPECT_TRUE(ranks.look());
  ranks.logs[0].add(scan);  // another call than that which was asked about
  EXPECT_FALSE(ranks.look());
}

// Another communicator, its other kind of collectives, and what was called long ago.
TEST(Questions, OthersAreNotMeant) {
  for (const auto& [other, blocking, later] :
       {std::tuple{name + 1, true, 0}, {name, false, 0}, {name, true, 300}}) {
    Ranks ranks;
    CallLog log(other, blocking);
    ranks.each[0].add(log);
    log.add(bcast);
    ranks.logs[0].add(bcast);
    ranks.logs[1].add(scan);
    for (int call = 0; call < later; ++call) ranks.logs[1].add(bcast);
    ranks.each[0].ask(1, log);
    EXPECT_FALSE(ranks.look()) << later;
    EXPECT_FALSE(ranks.each[0].answer(log)) << later;
    ranks.each[0].remove(log);
  }
}

// Of a communicator that one has not made yet.
TEST(Questions, AreKeptUntilTheCommunicatorIsThere) {
  Ranks ranks;
  ranks.each[1].remove(ranks.logs[1]);
  ranks.logs[0].add(bcast);
  ranks.each[0].ask(1, ranks.logs[0]);
  EXPECT_FALSE(ranks.look());
  ranks.each[1].add(ranks.logs[1]);
  ranks.logs[1].add(scan);
  EXPECT_TRUE(ranks.look());
}

// Of the last call of one that is no more.
TEST(Questions, AreAnsweredAfterTheEnd) {
  for (const bool last : {true, false}) {
    Ranks ranks;
    ranks.logs[0].add(bcast);
    ranks.logs[1].add(scan);
    if (!last) ranks.logs[1].add(scan);
    ranks.each[1].remove(ranks.logs[1]);
    ranks.each[0].ask(1, ranks.logs[0]);
    const auto answer = ranks.look();
    ASSERT_EQ(answer.has_value(), last);
    EXPECT_EQ(answer ? answer->theirs : scan, scan);
    ranks.each[0].remove(ranks.logs[0]);  // and what was answered
    EXPECT_FALSE(ranks.each[0].answer(ranks.logs[0]));
  }
}

// What is read while calls are made is what was called, or nothing.
TEST(CallLog, IsReadWhileCallsAreMade) {
  CallLog log(name, true);
  constexpr std::uint64_t calls = 200'000;
  std::thread writer([&] {
    for (std::uint64_t number = 1; number <= calls; ++number) log.add(3 * number);
  });
  std::uint64_t wrong = 0;
  while (log.number() < calls) {
    const std::uint64_t last = log.number();
    for (std::uint64_t back : {0, 100, 250, 252, 253, 254, 255, 256}) {
      if (back >= last) continue;
      const std::uint64_t call = log.call(last - back);
      wrong += call != 0 && call != 3 * (last - back);
    }
  }
  writer.join();
  EXPECT_EQ(wrong, 0U);
  EXPECT_EQ(log.call(calls), 3 * calls);
  EXPECT_EQ(log.call(calls - 254), 3 * (calls - 254));
  EXPECT_EQ(log.call(calls - 255), 0U);
  EXPECT_EQ(log.call(calls + 1), 0U);
  EXPECT_EQ(log.call(0), 0U);
}

TEST(CallKinds, EachHasATagThatTheMpiHas) {
  for (const int largest : {32767, 77822, 77823, (1 << 19) - 1, std::numeric_limits<int>::max()}) {
    const CallKinds kinds(largest);
    std::set<int> found;
    for (int collective = 0; collective < collective_count; ++collective)
      for (int root = 0; root < 4; ++root)
        found.insert(kinds.of(static_cast<Collective>(collective), root, 0));
    EXPECT_EQ(*found.begin(), 0);
    EXPECT_LT(*found.rbegin(), kinds.count());
    EXPECT_LE((CallKinds::first + kinds.count()) * std::int64_t{CallKinds::tags} - 1, largest);
    const std::size_t least = largest < 77823 ? 1 : collective_count;
    EXPECT_GE(found.size(), largest < (1 << 19) - 1 ? least : 2 * least);
    if (largest < 77823) {
      EXPECT_EQ(found.size(), least);
    }
  }
}

TEST(CallKinds, TellOperationsApart) {
  const CallKinds few((1 << 19) - 1), many(std::numeric_limits<int>::max());
  for (const Collective collective : {Collective::reduce, Collective::allreduce}) {
    std::set<int> found_few, found;
    for (int op = 1; op <= coll::user_op; ++op) {
      found_few.insert(few.of(collective, 0, op));
      found.insert(many.of(collective, 0, op));
    }
    EXPECT_EQ(found_few.size(), 7U);
    EXPECT_EQ(found.size(), static_cast<std::size_t>(coll::user_op));
  }
}

}  // namespace
}  // namespace tutti::mpi
