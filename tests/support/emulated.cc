// SPDX-License-Identifier: BSD-3-Clause
// For unit tests that were built for another processor, and run in an emulation of its programs
// (qemu-user): what of the kernel's it does not pass on, found by trying, and the tests that are
// about that. They are skipped where it is lacking, and say so. Linked only when cross-compiling.
#include <fnmatch.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <initializer_list>
#include <string>

namespace tutti::test {
namespace {

constexpr std::size_t page = 4096;

char* map(int kind) {
  void* at = ::mmap(nullptr, page, PROT_READ | PROT_WRITE, kind | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED) std::abort();
  *static_cast<char*>(at) = 1;
  return static_cast<char*>(at);
}

template <class Body>
bool true_in_child(Body body) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(body() ? 0 : 1);
  int status = 0;
  return ::waitpid(child, &status, 0) == child && status == 0;
}

bool takes_pages_back() {
  char* at = map(MAP_SHARED);
  const bool takes = ::madvise(at, page, MADV_REMOVE) == 0 && *at == 0;
  ::munmap(at, page);
  return takes;
}

bool wipes_on_fork() {
  char* at = map(MAP_PRIVATE);
  const bool wipes =
      ::madvise(at, page, MADV_WIPEONFORK) == 0 && true_in_child([at] { return *at == 0; });
  ::munmap(at, page);
  return wipes;
}

bool hides_from_children() {
  char* at = map(MAP_SHARED);
  const bool hides = ::madvise(at, page, MADV_DONTFORK) == 0 &&
                     true_in_child([at] { return ::msync(at, page, MS_ASYNC) != 0; });
  ::munmap(at, page);
  return hides;
}

bool sleeps_on_several() {
  ::syscall(SYS_futex_waitv, nullptr, 0, 0, nullptr, 0);
  return errno != ENOSYS;
}

bool copies_between_processes() {
  char from = 1, to = 0;
  const iovec local{&to, 1}, remote{&from, 1};
  return ::process_vm_readv(::getpid(), &local, 1, &remote, 1, 0) == 1;
}

bool filters_calls() { return ::prctl(PR_GET_SECCOMP, 0, 0, 0, 0) >= 0; }

bool limits_address_space() {
  return true_in_child([] {
    const rlimit limit{64 * page, 64 * page};
    return ::setrlimit(RLIMIT_AS, &limit) == 0 &&
           ::mmap(nullptr, 1024 * page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) ==
               MAP_FAILED;
  });
}

bool keeps_robust_lists() {
  void* head = nullptr;
  std::size_t bytes = 0;
  return ::syscall(SYS_get_robust_list, 0, &head, &bytes) == 0;
}

// The emulation may have threads of its own, which the kernel counts.
bool is_alone() {
  struct stat tasks {};
  return ::stat("/proc/self/task", &tasks) == 0 && tasks.st_nlink == 3;
}

struct Facility {
  const char* lacking;
  bool (*is_there)();
  std::initializer_list<const char*> tests;  // a star is any text
};

bool is_one_of(const std::string& name, std::initializer_list<const char*> patterns) {
  return std::any_of(patterns.begin(), patterns.end(),
                     [&](const char* pattern) { return ::fnmatch(pattern, name.c_str(), 0) == 0; });
}

// What a test needs that another row names as well stands in one of them.
const Facility facilities[] = {
    {"madvise(MADV_REMOVE) takes no pages back",
     takes_pages_back,
     {"CommonsBudget.WhatIsFreedForGood*", "CommonsBudget.OneBlockLargerThanItLoses*",
      "CommonsBudget.MemoryThatTheProgramHasLocked*", "CommonsBusy.WhileOthersForkAndTrim",
      "CommonsExhaustion.OfATinyRange", "CommonsFork.HandlersMayAllocate",
      "CommonsExhaustion.ScatteredHoles*", "CommonsOptions.ThresholdAndBudget",
      "CommonsOptions.LittleStays*", "CommonsModel.*Thread*", "CommonsResize.SlackIsNotResident",
      "CommonsResize.ShrinkingGivesPagesBack", "*Leaves.AtTheSameCall/*", "Segment.FreeSlicesKeep*",
      "Segment.ConcurrentAllocation*"}},
    {"madvise(MADV_WIPEONFORK) wipes nothing",
     wipes_on_fork,
     {"CommonsFork.ChildOfABareSystemCall*"}},
    {"madvise(MADV_DONTFORK) leaves children what they should not have",
     hides_from_children,
     {"OsWindow.ChildrenDoWithout*"}},
    {"a thread cannot sleep on several words (futex_waitv)",
     sleeps_on_several,
     {"Driver.WhoWokeItsThreadInVainIsSpared"}},
    {"processes cannot copy each other's memory (process_vm_readv)",
     copies_between_processes,
     {"*ThreadsOf.*_copied", "*LanesOf.*/copied", "Conformance/4.*", "*Contract.*/cma*",
      "*OnRung.*/cma", "CopyMemory.*", "WhyNot.SaysWhatIsInTheWay", "Team.BothWaysAreTried*",
      "*Denied.TheLadderFalls*/nothing"}},
    {"a process cannot deny itself system calls (seccomp)",
     filters_calls,
     {"HugeFile.SaysWhyItIsRefused", "NothingIsPossible.WithoutSockets", "NothingIsPossible.When*",
      "Handover.CostsNothing*", "*Denied.TheLadderFalls*"}},
    {"RLIMIT_AS limits nothing",
     limits_address_space,
     {"CommonsLimits.AddressSpace", "CommonsLimits.AChildWithoutRoom*",
      "CommonsLimit.WhatIsReservedAndFree*", "PeerMemory.OfMoreThanTheAddressSpaceHolds"}},
    {"the kernel is not told of robust mutexes, by which it marks who has ended",
     keeps_robust_lists,
     {"NothingIsPossible.WithoutAPeer", "*Killed.*", "Segment.SurvivesWhoIsKilled*",
      "*Gone.IsNoticed*", "Losses.*", "Leaving.NotWithoutTheDead"}},
    {"every process has threads of the emulator's, which writes its core dumps",
     is_alone,
     {"*CommonsCore.*", "CommonsStatics.KeepAddresses*", "CommonsStatics.KnowsTheirEnds",
      "CommonsStatics.CostNoMemory*", "CommonsStatics.AfterAFork*", "CommonsStatics.AForkCopies*"}},
};

class Skipper : public testing::EmptyTestEventListener {
  void OnTestStart(const testing::TestInfo& test) override {
    const std::string name = std::string(test.test_suite_name()) + "." + test.name();
    for (const Facility& each : facilities)
      if (is_one_of(name, each.tests) && !each.is_there())
        GTEST_SKIP() << "under this emulation " << each.lacking;
  }
};

[[maybe_unused]] const bool listening = [] {
  testing::UnitTest::GetInstance()->listeners().Append(new Skipper);
  return true;
}();

}  // namespace
}  // namespace tutti::test
