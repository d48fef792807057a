// SPDX-License-Identifier: BSD-3-Clause
#include "os/mailbox.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <string>

#include "support/denied.h"

namespace tutti::os {
namespace {

using test::Rank;

int memfd_with(const char* text) {
  const int fd = ::memfd_create("posted", MFD_CLOEXEC);
  return ::write(fd, text, std::strlen(text)) > 0 ? fd : -1;
}

std::string text_of(int fd) {
  char text[16] = "";
  const ssize_t length = ::pread(fd, text, sizeof text, 0);
  return {text, length > 0 ? static_cast<std::size_t>(length) : 0};
}

Letter letter_with(std::uint64_t secret, int first, int second) {
  Letter letter;
  letter.secret = secret;
  letter.fds = {first, second};
  return letter;
}

TEST(Mailbox, DeliversWhatIsPostedInItsPlace) {
  Mailbox mailbox;
  ASSERT_EQ(mailbox.name(), 0u);
  ASSERT_TRUE(mailbox.open(4).ok());
  const int a = memfd_with("a"), b = memfd_with("b");
  EXPECT_EQ(post(mailbox.name(), ::getpid(), letter_with(7, a, b)), Posted::yes);
  EXPECT_EQ(post(mailbox.name(), ::getpid(), letter_with(8, -1, b)), Posted::yes);
  EXPECT_EQ(post(mailbox.name(), ::getpid(), letter_with(9, -1, -1)), Posted::yes);
  Letter letter;
  ASSERT_TRUE(mailbox.receive(letter));
  EXPECT_EQ(letter.from, ::getpid());
  EXPECT_EQ(letter.secret, 7u);
  EXPECT_EQ(text_of(letter.fds[0]), "a");
  EXPECT_EQ(text_of(letter.fds[1]), "b");
  EXPECT_EQ(::fcntl(letter.fds[0], F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
  letter.close_all();
  ASSERT_TRUE(mailbox.receive(letter));
  EXPECT_EQ(letter.fds[0], -1);
  EXPECT_EQ(text_of(letter.fds[1]), "b");
  letter.close_all();
  ASSERT_TRUE(mailbox.receive(letter));
  EXPECT_EQ(letter.secret, 9u);
  EXPECT_EQ(letter.fds, (std::array<int, 2>{-1, -1}));
  EXPECT_FALSE(mailbox.receive(letter));
  ::close(a);
  ::close(b);
}

// What a sender has posted is there, although it has ended.
TEST(Mailbox, KeepsLettersOfTheDead) {
  Mailbox mailbox;
  ASSERT_TRUE(mailbox.open(4).ok());
  const auto endings = test::fork_ranks(1, [&](Rank&) {
    RANK_CHECK(post(mailbox.name(), ::getppid(), letter_with(1, memfd_with("x"), -1)) ==
               Posted::yes);
  });
  ASSERT_TRUE(endings.all(0)) << endings.output;
  Letter letter;
  ASSERT_TRUE(mailbox.receive(letter));
  EXPECT_NE(letter.from, ::getpid());
  EXPECT_EQ(text_of(letter.fds[0]), "x");
  letter.close_all();
}

TEST(Mailbox, IsNotWaitedForWhenFull) {
  Mailbox mailbox;
  ASSERT_TRUE(mailbox.open(2).ok());
  int posted = 0;
  while (posted < 100 && post(mailbox.name(), ::getpid(), Letter()) == Posted::yes) ++posted;
  EXPECT_LT(posted, 100);
  EXPECT_EQ(post(mailbox.name(), ::getpid(), Letter()), Posted::later);
  Letter letter;
  for (int i = 0; i < posted; ++i) EXPECT_TRUE(mailbox.receive(letter));
  EXPECT_EQ(post(mailbox.name(), ::getpid(), Letter()), Posted::yes);
}

TEST(Post, OnlyToTheProcessThatIsMeant) {
  Mailbox mailbox;
  ASSERT_TRUE(mailbox.open(2).ok());
  EXPECT_EQ(post(mailbox.name(), ::getppid(), Letter()), Posted::never);
  EXPECT_EQ(post(mailbox.name() + 1, ::getpid(), Letter()), Posted::never);
  EXPECT_EQ(post(mailbox.name(), ::getpid(), letter_with(1, 999'999, -1)), Posted::never);
  Letter letter;
  EXPECT_FALSE(mailbox.receive(letter));
}

TEST(Post, NotToAnotherUserNorFromOne) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can become another user";
  Mailbox mailbox;
  ASSERT_TRUE(mailbox.open(4).ok());
  const auto endings = test::fork_ranks(1, [&](Rank&) {
    test::become_unprivileged();
    RANK_CHECK(post(mailbox.name(), ::getppid(), Letter()) == Posted::never);
    // One who does not ask, but writes what a letter looks like.
    const int socket = ::socket(AF_UNIX, SOCK_SEQPACKET, 0);
    sockaddr_un name{};
    name.sun_family = AF_UNIX;
    const int length = std::snprintf(name.sun_path + 1, 60, "tutti-%016llx",
                                     static_cast<unsigned long long>(mailbox.name()));
    RANK_CHECK(::connect(socket, reinterpret_cast<sockaddr*>(&name),
                         static_cast<socklen_t>(sizeof name.sun_family + 1) +
                             static_cast<socklen_t>(length)) == 0);
    const std::uint64_t forged[2] = {};
    RANK_CHECK(::write(socket, forged, sizeof forged) == sizeof forged);
  });
  ASSERT_TRUE(endings.all(0)) << endings.output;
  Letter letter;
  EXPECT_FALSE(mailbox.receive(letter));
  EXPECT_EQ(post(mailbox.name(), ::getpid(), Letter()), Posted::yes);
  EXPECT_TRUE(mailbox.receive(letter));
}

TEST(Mailbox, ReceivesWhatThisProcessMayStillOpen) {
  Mailbox mailbox;
  ASSERT_TRUE(mailbox.open(4).ok());
  const int fd = memfd_with("z");
  ASSERT_EQ(post(mailbox.name(), ::getpid(), letter_with(3, fd, fd)), Posted::yes);
  // Room for the connection and one descriptor.
  const int first_free = ::dup(0);
  ::close(first_free);
  rlimit usual;
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &usual), 0);
  const rlimit few{static_cast<rlim_t>(std::max(first_free, fd) + 2), usual.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &few), 0);
  Letter letter;
  const bool received = mailbox.receive(letter);
  ::setrlimit(RLIMIT_NOFILE, &usual);
  ASSERT_TRUE(received);
  EXPECT_EQ(text_of(letter.fds[0]), "z");
  EXPECT_EQ(letter.fds[1], -1);
  letter.close_all();
  ::close(fd);
}

TEST(Mailbox, LeavesNothing) {
  char needle[32];
  {
    Mailbox mailbox;
    ASSERT_TRUE(mailbox.open(4).ok());
    std::snprintf(needle, sizeof needle, "@tutti-%016llx",
                  static_cast<unsigned long long>(mailbox.name()));
    ASSERT_EQ(post(mailbox.name(), ::getpid(), letter_with(3, memfd_with("never read"), -1)),
              Posted::yes);
  }
  std::ifstream file("/proc/net/unix");
  const std::string all{std::istreambuf_iterator<char>(file), {}};
  EXPECT_FALSE(all.empty());
  EXPECT_EQ(all.find(needle), std::string::npos);
}

}  // namespace
}  // namespace tutti::os
