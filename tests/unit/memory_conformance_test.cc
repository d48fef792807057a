// SPDX-License-Identifier: BSD-3-Clause
// The contract of memory/, one suite for every backend, between forked processes.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <random>

#include "base/options.h"
#include "commons/commons.h"
#include "memory/memory.h"
#include "os/os.h"
#include "support/fork_ranks.h"
#include "support/kinds.h"

namespace tutti::memory {
namespace {

using test::Rank;

// A backend and how to get memory that it reaches.
struct Backend {
  const char* name;  // as in TUTTI_MEMORY
  Transport transport;
  Transports transports;
  void* (*allocate)(std::size_t bytes);
};

void* from_commons(std::size_t bytes) { return commons::allocate(bytes, 4096, false); }
void* from_mmap(std::size_t bytes) {
  void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return memory == MAP_FAILED ? nullptr : memory;
}
// In the program's own data: below what any heap serves.
void* from_static(std::size_t bytes) {
  static std::byte memory[std::size_t{48} << 20];
  return bytes <= sizeof memory ? memory : nullptr;
}

constexpr Backend backends[] = {
    {"commons", Transport::mapped, {.ways = {Transport::mapped}}, from_commons},
    {"cma", Transport::copied, {.ways = {Transport::copied}}, from_mmap},
    {"cma", Transport::copied, {.ways = {Transport::mapped, Transport::copied}}, from_static},
};

constexpr std::size_t bytes = (std::size_t{40} << 20) + 12'345;

void barrier(Rank& self) {
  int here = 1, everyone[16];
  RANK_CHECK(self.world.allgather(&here, everyone, sizeof here));
}

// What the buffer of `rank` holds in a round.
void fill_round(int rank, int round, std::span<std::byte> out) {
  test::fill(test::kinds[0], static_cast<std::uint64_t>(rank * 100 + round), out);
}

bool same_bytes(const void* a, const void* b, std::size_t size) {
  return std::memcmp(a, b, size) == 0;
}

class Contract : public ::testing::TestWithParam<Backend> {};

// Two processes that have opened a PeerMemory to each other.
struct Pair {
  Pair(Rank& self, const Backend& backend) : peer(1 - self.rank) {
    const Allowed allowed = memory::allowed(backend.name);
    const Introduction mine = introduce(allowed);
    Introduction all[2];
    RANK_CHECK(self.world.allgather(&mine, all, sizeof mine));
    reach.open(all[peer], allowed);
    if (*reach.why_not(backend.transport) != '\0')
      std::fprintf(stderr, "%s\n", reach.why_not(backend.transport));
    RANK_CHECK(*reach.why_not(backend.transport) == '\0');
  }
  int peer;
  PeerMemory reach;
};

Card swap_cards(Rank& self, const Card& mine) {
  Card all[2];
  RANK_CHECK(self.world.allgather(&mine, all, sizeof mine));
  return all[1 - self.rank];
}

TEST_P(Contract, ReadsAndWritesAnyRange) {
  const Backend& backend = GetParam();
  const auto endings = test::fork_ranks(2, [&](Rank& self) {
    Pair pair(self, backend);
    auto* mine = static_cast<std::byte*>(backend.allocate(bytes));
    RANK_CHECK(mine != nullptr);
    fill_round(self.rank, 0, {mine, bytes});
    const Card card = offer(mine, bytes, backend.transports);
    RANK_CHECK(card.transport == backend.transport);
    const Card theirs = swap_cards(self, card);
    RANK_CHECK((pair.reach.map(theirs) != nullptr) == (backend.transport == Transport::mapped));

    std::vector<std::byte> expected(bytes), seen(bytes);
    fill_round(pair.peer, 0, expected);
    RANK_CHECK(pair.reach.read(theirs, 0, seen.data(), bytes).ok());
    RANK_CHECK(seen == expected);
    std::mt19937_64 random(7);
    for (int i = 0; i < 500; ++i) {
      const std::size_t offset = random() % bytes;
      const std::size_t most = i % 2 ? 100'000 : 20;
      const std::size_t size = std::min(bytes - offset, 1 + random() % most);
      const std::size_t to = random() % 64;
      RANK_CHECK(pair.reach.read(theirs, offset, seen.data() + to, size).ok());
      RANK_CHECK(same_bytes(seen.data() + to, expected.data() + offset, size));
    }
    barrier(self);

    // Writes of odd sizes at odd places, and nothing beside them.
    std::vector<std::byte> fresh(bytes);
    fill_round(self.rank, 1, fresh);
    const auto each_range = [&](auto&& what) {
      std::mt19937_64 same(11);
      for (std::size_t offset = 3; offset < bytes;) {
        const std::size_t size = std::min(bytes - offset, 1 + same() % 300'000);
        what(offset, size);
        offset += size + 1 + same() % 5'000;
      }
    };
    each_range([&](std::size_t offset, std::size_t size) {
      RANK_CHECK(pair.reach.write(theirs, offset, fresh.data() + offset, size).ok());
    });
    barrier(self);
    fill_round(self.rank, 0, expected);
    fill_round(pair.peer, 1, fresh);
    each_range([&](std::size_t offset, std::size_t size) {
      std::memcpy(expected.data() + offset, fresh.data() + offset, size);
    });
    RANK_CHECK(same_bytes(mine, expected.data(), bytes));
  });
  EXPECT_TRUE(endings.all(0)) << endings.output;
}

// What a process does to its buffer after the peer has looked is seen at the next look.
TEST_P(Contract, IsNeverStale) {
  const Backend& backend = GetParam();
  const auto endings = test::fork_ranks(2, [&](Rank& self) {
    Pair pair(self, backend);
    constexpr std::size_t size = std::size_t{1} << 20;
    std::vector<std::byte> expected(size), seen(size);
    for (int round = 0; round < 30; ++round) {
      auto* mine = static_cast<std::byte*>(backend.allocate(size));
      RANK_CHECK(mine != nullptr);
      fill_round(self.rank, round, {mine, size});
      const Card theirs = swap_cards(self, offer(mine, size, backend.transports));
      RANK_CHECK(pair.reach.read(theirs, 0, seen.data(), size).ok());
      fill_round(pair.peer, round, expected);
      RANK_CHECK(seen == expected);
      if (const std::byte* window = pair.reach.map(theirs))
        RANK_CHECK(same_bytes(window, expected.data(), size));
      barrier(self);
      if (backend.transport == Transport::mapped) commons::release(mine);
      if (backend.allocate == from_mmap) ::munmap(mine, size);
    }
  });
  EXPECT_TRUE(endings.all(0)) << endings.output;
}

INSTANTIATE_TEST_SUITE_P(Backends, Contract, ::testing::ValuesIn(backends), [](const auto& row) {
  return std::string(row.param.name) + (row.param.allocate == from_static ? "_static" : "");
});

TEST(Allowed, IsWhatTheOptionLists) {
  struct {
    const char* option;
    bool commons, cma, bounce;
  } const cases[] = {{"commons,cma,bounce", true, true, true},
                     {"cma,bounce", false, true, true},
                     {"cma", false, true, false},
                     {"commons", true, false, false},
                     {"bounce", false, false, true},
                     {"", false, false, false},
                     {"commonsx,xcma", false, false, false},
                     {",cma,,", false, true, false}};
  for (const auto& one : cases) {
    EXPECT_EQ(allowed(one.option).ways.has(Transport::mapped), one.commons) << one.option;
    EXPECT_EQ(allowed(one.option).ways.has(Transport::copied), one.cma) << one.option;
    EXPECT_EQ(allowed(one.option).ways.has(Transport::staged), one.bounce) << one.option;
  }
}

TEST(Offer, SaysTheBestWayThatReachesAllOfTheBuffer) {
  const auto endings = test::fork_ranks(1, [](Rank&) {
    constexpr std::size_t size = std::size_t{1} << 20;
    auto* heap = static_cast<std::byte*>(commons::allocate(size, 4096, false));
    RANK_CHECK(heap != nullptr);
    static std::byte elsewhere[64];
    const Transports none{}, cma{{Transport::copied}}, commons_only{{Transport::mapped}},
        both{{Transport::mapped, Transport::copied}};
    RANK_CHECK(offer(heap, size, both).transport == Transport::mapped);
    RANK_CHECK(offer(heap + 100, size - 100, commons_only).transport == Transport::mapped);
    RANK_CHECK(offer(heap, size, cma).transport == Transport::copied);
    RANK_CHECK(offer(heap, size, none).transport == Transport::staged);
    RANK_CHECK(offer(elsewhere, sizeof elsewhere, both).transport == Transport::copied);
    RANK_CHECK(offer(elsewhere, sizeof elsewhere, commons_only).transport == Transport::staged);
    RANK_CHECK(offer(heap, std::size_t{1} << 60, both).transport != Transport::mapped);
    const std::size_t end = commons::offset_of(heap) + size;
    RANK_CHECK(offer(heap, size, {both.ways, end}).transport == Transport::mapped);
    RANK_CHECK(offer(heap, size, {both.ways, end - 1}).transport == Transport::copied);
    RANK_CHECK(offer(heap, size, {commons_only.ways, end - 1}).transport == Transport::staged);
    RANK_CHECK(offer(heap, size, both).address == reinterpret_cast<std::uint64_t>(heap));
  });
  EXPECT_TRUE(endings.all(0)) << endings.output;
}

TEST(WhyNot, SaysWhatIsInTheWay) {
  const auto endings = test::fork_ranks(2, [](Rank& self) {
    const Allowed all_transports = allowed("commons,cma,bounce");
    const Introduction mine = introduce(all_transports);
    Introduction all[2];
    RANK_CHECK(self.world.allgather(&mine, all, sizeof mine));
    const Introduction& peer = all[1 - self.rank];
    const auto why = [&](const Introduction& what, const Allowed& how, Transport transport) {
      PeerMemory reach;
      RANK_CHECK(*reach.why_not(Transport::staged) == '\0');
      reach.open(what, how);
      RANK_CHECK(*reach.why_not(Transport::staged) == '\0');
      return std::string(reach.why_not(transport));
    };
    RANK_CHECK(std::string(PeerMemory().why_not(Transport::mapped)) == "not opened");
    RANK_CHECK(why(peer, all_transports, Transport::mapped).empty());
    RANK_CHECK(why(peer, all_transports, Transport::copied).empty());
    RANK_CHECK(why(peer, allowed("cma"), Transport::mapped) == "switched off by TUTTI_MEMORY");
    RANK_CHECK(why(peer, allowed("commons"), Transport::copied) == "switched off by TUTTI_MEMORY");

    Introduction wrong = peer;
    wrong.fd = -1;
    RANK_CHECK(why(wrong, all_transports, Transport::mapped) == "the peer has no commons");
    wrong = peer;
    wrong.fd = 777;
    RANK_CHECK(why(wrong, all_transports, Transport::mapped).find("cannot be opened") !=
               std::string::npos);
    wrong = peer;
    ++wrong.nonce;
    RANK_CHECK(why(wrong, all_transports, Transport::mapped) ==
               "the peer's descriptor leads to something else");
    RANK_CHECK(why(wrong, all_transports, Transport::copied) ==
               "process_vm_readv reached another process");
    wrong = peer;
    wrong.probe = 64;  // nothing is mapped there
    RANK_CHECK(why(wrong, all_transports, Transport::copied) == "process_vm_readv failed");
    barrier(self);
  });
  EXPECT_TRUE(endings.all(0)) << endings.output;
}

// A process number may mean another process, whose descriptors are anything at all.
TEST(WhyNot, AForeignDescriptorIsRefusedNotTouched) {
  const auto endings = test::fork_ranks(1, [](Rank&) {
    const Allowed all_transports = allowed("commons,cma,bounce");
    Introduction mine = introduce(all_transports);
    const int small = ::memfd_create("small", MFD_CLOEXEC);
    RANK_CHECK(::ftruncate(small, 100) == 0);
    int pipe_ends[2];
    RANK_CHECK(::pipe(pipe_ends) == 0);
    for (const int fd : {small, pipe_ends[0], ::open("/dev/null", O_RDWR)}) {
      mine.fd = fd;
      PeerMemory reach;
      reach.open(mine, all_transports);
      RANK_CHECK(*reach.why_not(Transport::mapped) != '\0');
    }
  });
  EXPECT_TRUE(endings.all(0)) << endings.output;
}

// As on a node with 600 ranks: whole windows do not fit this address space, bounded ones do.
TEST(PeerMemory, OfMoreThanTheAddressSpaceHolds) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "a sanitizer takes most of the address space";
#endif
  const auto endings = test::fork_ranks(2, [](Rank& self) {
    constexpr std::size_t ranks = 600;
    ::setenv("TUTTI_COMMONS_RANGE", "256G", 1);
    Allowed all_transports = allowed("commons,cma,bounce");
    const Introduction mine = introduce(all_transports);
    RANK_CHECK(mine.bytes == std::uint64_t{256} << 30);
    Introduction all[2];
    RANK_CHECK(self.world.allgather(&mine, all, sizeof mine));
    for (const bool bounded : {false, true}) {
      if (bounded) all_transports.window_bytes = os::address_space_left_bytes() / 4 / ranks;
      std::vector<PeerMemory> reaches(ranks);
      for (PeerMemory& reach : reaches) reach.open(all[1 - self.rank], all_transports);
      RANK_CHECK(std::string(reaches.back().why_not(Transport::mapped)) ==
                 (bounded ? "" : "no address space for the peer's commons"));
      RANK_CHECK(*reaches.front().why_not(Transport::mapped) == '\0');
    }
    barrier(self);
  });
  EXPECT_TRUE(endings.all(0)) << endings.output;
}

// With little address space for each peer: what was allocated first is reached all the same.
TEST(PeerMemory, WhereTheProbeLiesBehindWhatIsMapped) {
  const auto endings = test::fork_ranks(2, [](Rank& self) {
    constexpr std::size_t window = std::size_t{32} << 20, small = std::size_t{1} << 20;
    Allowed mapped = allowed("commons");
    mapped.window_bytes = window;
    auto* block = static_cast<std::byte*>(commons::allocate(small, 4096, false));
    RANK_CHECK(block != nullptr);
    // As large as the probe, until none fits before the window's end.
    const std::size_t each = std::max<std::size_t>(options().commons_threshold, page_bytes);
    for (std::size_t at = 0; at < window;) {
      const auto* filler = static_cast<std::byte*>(commons::allocate(each, 4096, false));
      RANK_CHECK(filler != nullptr);
      at = commons::offset_of(filler);
    }
    fill_round(self.rank, 0, {block, small});
    const Introduction mine = introduce(mapped);
    RANK_CHECK(mine.mapped_probe - mine.base >= window);
    Introduction all[2];
    RANK_CHECK(self.world.allgather(&mine, all, sizeof mine));
    PeerMemory reach;
    reach.open(all[1 - self.rank], mapped);
    RANK_CHECK(*reach.why_not(Transport::mapped) == '\0');
    Transports transports{.ways = {Transport::mapped}};
    transports.window_bytes = window;
    const std::byte* theirs = reach.map(swap_cards(self, offer(block, small, transports)));
    std::vector<std::byte> expected(small);
    fill_round(1 - self.rank, 0, expected);
    RANK_CHECK(theirs != nullptr && same_bytes(theirs, expected.data(), small));
    barrier(self);
  });
  EXPECT_TRUE(endings.all(0)) << endings.output;
}

// Whether the kernel's flags of the mapping that holds `address` name `flag` (proc_pid_smaps(5)).
bool mapping_has(const void* address, const char* flag) {
  std::FILE* file = std::fopen("/proc/self/smaps", "r");
  RANK_CHECK(file != nullptr);
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  char line[512];
  bool here = false, found = false;
  while (std::fgets(line, sizeof line, file) != nullptr) {
    unsigned long from = 0, to = 0;
    if (std::sscanf(line, "%lx-%lx ", &from, &to) == 2) here = from <= at && at < to;
    if (here && std::strncmp(line, "VmFlags:", 8) == 0) found = std::strstr(line, flag) != nullptr;
  }
  std::fclose(file);
  return found;
}

TEST(HugePages, AreAskedForWhenTheUserWishesAndCouldBeMapped) {
  if (::access("/sys/kernel/mm/transparent_hugepage", F_OK) != 0)
    GTEST_SKIP() << "this kernel has none";
  for (const char* wish : {"0", "1"}) {
    const auto endings = test::fork_ranks(2, [wish](Rank& self) {
      ::setenv("TUTTI_COMMONS_HUGE", wish, 1);
      Pair pair(self, backends[0]);
      constexpr std::size_t size = std::size_t{8} << 20;
      void* mine = commons::allocate(size, 4096, false);
      RANK_CHECK(mine != nullptr && mapping_has(mine, " hg ") == (*wish == '1'));
      const Card theirs = swap_cards(self, offer(mine, size, backends[0].transports));
      const auto here = reinterpret_cast<std::uintptr_t>(pair.reach.map(theirs));
      RANK_CHECK(here != 0 && (here - theirs.address) % (std::size_t{2} << 20) == 0);
      barrier(self);
    });
    EXPECT_TRUE(endings.all(0)) << endings.output;
  }
}

// Only address space: what a PeerMemory opens, it gives back.
TEST(PeerMemory, LeavesNothingBehind) {
  const auto endings = test::fork_ranks(2, [](Rank& self) {
    const Allowed all_transports = allowed("commons,cma,bounce");
    const Introduction mine = introduce(all_transports);
    Introduction all[2];
    RANK_CHECK(self.world.allgather(&mine, all, sizeof mine));
    for (int i = 0; i < 5'000; ++i) {
      PeerMemory reach;
      reach.open(all[1 - self.rank], all_transports);
      RANK_CHECK(*reach.why_not(Transport::mapped) == '\0');
      PeerMemory moved(std::move(reach));
      RANK_CHECK(*moved.why_not(Transport::mapped) == '\0');
    }
    const int fd = ::open("/dev/null", O_RDONLY);
    RANK_CHECK(fd >= 0 && fd < 64);
    barrier(self);
  });
  EXPECT_TRUE(endings.all(0)) << endings.output;
}

}  // namespace
}  // namespace tutti::memory
