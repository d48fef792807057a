// SPDX-License-Identifier: BSD-3-Clause
// A peer maps the memfd through /proc/PID/fd and reads and writes the owner's blocks.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/prctl.h>

#include <string>

#include "commons_testing.h"

namespace tutti::commons {
namespace {

using namespace testing;

// A process that was there before the commons, so that it has inherited nothing of it.
class Peer {
 public:
  struct Order {
    pid_t pid;
    int fd;
    std::size_t bytes, offset, length;
    std::uint64_t expected, tag;
  };

  Peer() {
    EXPECT_EQ(::pipe(to_), 0);
    EXPECT_EQ(::pipe(from_), 0);
    pid_ = ::fork();
    if (pid_ == 0) serve();
    ::close(to_[0]);
    ::close(from_[1]);
    ::prctl(PR_SET_PTRACER, pid_, 0, 0, 0);  // for systems with Yama
  }
  ~Peer() {
    ::close(to_[1]);
    ::waitpid(pid_, nullptr, 0);
    ::close(from_[0]);
  }
  // Whether the peer found `expected` in the block; afterwards the block holds `tag`.
  bool check_and_write(const unsigned char* block, std::size_t length, std::uint64_t expected,
                       std::uint64_t tag) {
    const Handle s = handle();
    const Order order{
        ::getpid(), s.fd,
        s.bytes,    static_cast<std::size_t>(reinterpret_cast<const std::byte*>(block) - s.base),
        length,     expected,
        tag};
    char answer = 0;
    return ::write(to_[1], &order, sizeof order) == sizeof order &&
           ::read(from_[0], &answer, 1) == 1 && answer == 'y';
  }

 private:
  [[noreturn]] void serve() {
    ::close(to_[1]);
    Order order;
    unsigned char* window = nullptr;
    while (::read(to_[0], &order, sizeof order) == sizeof order) {
      if (window == nullptr) {
        const std::string path =
            "/proc/" + std::to_string(order.pid) + "/fd/" + std::to_string(order.fd);
        const int fd = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
        void* mapped =
            ::mmap(nullptr, order.bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
        if (fd < 0 || mapped == MAP_FAILED) ::_exit(1);
        // Only memfds can be sealed.
        if (::fcntl(fd, F_GET_SEALS) != F_SEAL_SEAL && ::ftruncate(fd, 4096) == 0) ::_exit(1);
        window = static_cast<unsigned char*>(mapped);
      }
      const bool good = has_pattern(window + order.offset, order.length, order.expected);
      write_pattern(window + order.offset, order.length, order.tag);
      if (::write(from_[1], good ? "y" : "n", 1) != 1) break;
    }
    ::_exit(0);
  }

  int to_[2], from_[2];
  pid_t pid_;
};

TEST(CommonsShare, APeerReadsAndWritesBlocksThroughOneMapping) {
  Peer peer;
  for (std::uint64_t round = 0; round < 20; ++round) {
    const std::size_t bytes = 64 * kib + round * 500 * kib;
    unsigned char* block = take(bytes);
    write_pattern(block, bytes, round);
    EXPECT_TRUE(peer.check_and_write(block, bytes, round, round + 1000));
    EXPECT_TRUE(has_pattern(block, bytes, round + 1000));
    auto* grown = static_cast<unsigned char*>(resize(block, bytes * 3));
    write_pattern(grown, bytes * 3, round + 1);
    EXPECT_TRUE(peer.check_and_write(grown, bytes * 3, round + 1, 0));
    release(grown);
    if (round % 5 == 4) trim();
  }
  EXPECT_TRUE(is_valid());
}

TEST(CommonsShare, AfterTheOwnerHasForked) {
  Peer peer;
  unsigned char* block = take(1 * mib);
  write_pattern(block, 1 * mib, 1);
  EXPECT_TRUE(peer.check_and_write(block, 1 * mib, 1, 2));
  EXPECT_EQ(in_child([&] {
              const bool good = has_pattern(block, 1 * mib, 2);
              write_pattern(block, 1 * mib, 3);
              return good;
            }),
            0);
  EXPECT_TRUE(peer.check_and_write(block, 1 * mib, 2, 4));
  EXPECT_TRUE(has_pattern(block, 1 * mib, 4));
  release(block);
}

TEST(CommonsShare, KnowsWhatIsReachable) {
  unsigned char* block = take(1 * mib);
  const Handle s = handle();
  EXPECT_STREQ(s.why_not, "");
  EXPECT_TRUE(shared(block, 1 * mib));
  EXPECT_TRUE(shared(s.base, s.bytes));
  EXPECT_FALSE(shared(s.base, s.bytes + 1));
  EXPECT_FALSE(shared(s.base + s.bytes - 1, 2));
  EXPECT_FALSE(shared(s.base - 1, 2));
  EXPECT_FALSE(shared(block, ~std::size_t{0}));
  int local = 0;
  EXPECT_FALSE(shared(&local, sizeof local));
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(s.base) % (2 * mib), 0u);
  release(block);
}

TEST(CommonsShare, TheDescriptorIsClosedOnExecAndOutOfTheWay) {
  const int fd = handle().fd;
  EXPECT_EQ(::fcntl(fd, F_GETFD), FD_CLOEXEC);
  EXPECT_GE(fd, 512);
}

}  // namespace
}  // namespace tutti::commons
