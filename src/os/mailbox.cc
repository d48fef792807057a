// SPDX-License-Identifier: BSD-3-Clause
// A connection a letter: it is made, checked on both sides and closed again within one call. Only
// connected sockets know their peer's process and user, and the sender must know them too before it
// gives anything away: a name says nothing about who holds it.
#include "os/mailbox.h"

#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstring>

namespace tutti::os {
namespace {

struct Address {
  sockaddr_un name{};
  socklen_t bytes = 0;

  explicit Address(std::uint64_t mailbox) {
    name.sun_family = AF_UNIX;  // sun_path[0] stays 0: the abstract namespace
    const int length = std::snprintf(name.sun_path + 1, sizeof name.sun_path - 1, "tutti-%016llx",
                                     static_cast<unsigned long long>(mailbox));
    bytes = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1) +
            static_cast<socklen_t>(length);
  }
  [[nodiscard]] const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&name); }
};

// Closes itself and leaves errno alone.
struct Socket {
  int fd;
  explicit Socket(int opened) : fd(opened) {}
  ~Socket() {
    const int error = errno;
    if (fd >= 0) ::close(fd);
    errno = error;
  }
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;
};

constexpr int most_connections = 1 << 20;

int new_socket() { return ::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0); }

// The process at the other end; 0 when it is another user's, or in another PID namespace.
pid_t peer_of(int socket) {
  ucred peer{};
  socklen_t bytes = sizeof peer;
  if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &bytes) != 0) return 0;
  return peer.uid == ::geteuid() ? peer.pid : 0;
}

// What a letter looks like on its way: the descriptors that are there, in order, go beside it.
struct Wire {
  std::uint64_t secret;
  std::uint32_t filled[Letter::slots];
};

// Room for the descriptors, aligned as the kernel wants it.
union Control {
  cmsghdr header;
  char bytes[CMSG_SPACE(Letter::slots * sizeof(int))];
};

bool send_letter(int socket, const Letter& letter) {
  Wire wire{letter.secret, {}};
  int fds[Letter::slots];
  std::size_t count = 0;
  for (std::size_t i = 0; i < Letter::slots; ++i) {
    if (letter.fds[i] < 0) continue;
    wire.filled[i] = 1;
    fds[count++] = letter.fds[i];
  }
  iovec data{&wire, sizeof wire};
  Control control{};
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  if (count > 0) {
    message.msg_control = control.bytes;
    message.msg_controllen = CMSG_SPACE(count * sizeof(int));
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(count * sizeof(int));
    std::memcpy(CMSG_DATA(header), fds, count * sizeof(int));
  }
  return ::sendmsg(socket, &message, MSG_NOSIGNAL) == ssize_t{sizeof wire};
}

bool receive_letter(int socket, Letter& letter) {
  Wire wire{};
  iovec data{&wire, sizeof wire};
  Control control{};
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = control.bytes;
  message.msg_controllen = sizeof control.bytes;
  const ssize_t length = ::recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
  if (length < 0) return false;
  // Fewer than were sent, when this process may not open more.
  int fds[Letter::slots];
  std::size_t count = 0;
  const cmsghdr* header = CMSG_FIRSTHDR(&message);
  if (header != nullptr && header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS) {
    count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    std::memcpy(fds, CMSG_DATA(header), count * sizeof(int));
  }
  letter.secret = wire.secret;
  std::size_t taken = 0;
  for (std::size_t i = 0; i < Letter::slots; ++i)
    letter.fds[i] = wire.filled[i] != 0 && taken < count ? fds[taken++] : -1;
  while (taken < count) ::close(fds[taken++]);
  if (length == ssize_t{sizeof wire}) return true;
  letter.close_all();
  return false;
}

}  // namespace

void Letter::close_all() {
  for (int& fd : fds) {
    if (fd >= 0) ::close(fd);
    fd = -1;
  }
}

Mailbox::~Mailbox() {
  if (socket_ >= 0) ::close(socket_);
}

Status Mailbox::open(int senders) {
  const int fd = new_socket();
  if (fd < 0) return Status::system(errno, "socket");
  std::uint64_t name = 0;
  const char* failed = "getrandom";
  if (::getrandom(&name, sizeof name, 0) == sizeof name && name != 0) {
    const Address address(name);
    failed = "bind of a socket without a file";
    if (::bind(fd, address.get(), address.bytes) == 0) {
      failed = "listen";
      if (::listen(fd, senders) == 0) {
        socket_ = fd;
        name_ = name;
        return {};
      }
    }
  }
  const int error = errno;
  ::close(fd);
  return Status::system(error, failed);
}

bool Mailbox::receive(Letter& letter) {
  // The bound is for strangers who knock without end.
  while (socket_ >= 0 && connections_++ < most_connections) {
    const Socket connection(::accept4(socket_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (connection.fd < 0) {
      if (errno == EINTR || errno == ECONNABORTED) continue;
      return false;
    }
    letter.from = peer_of(connection.fd);
    if (letter.from != 0 && receive_letter(connection.fd, letter)) return true;
  }
  return false;
}

Posted post(std::uint64_t mailbox, pid_t owner, const Letter& letter) {
  const auto said = [](int error) {
    return error == EAGAIN || error == ETOOMANYREFS || error == EINTR || error == ENOBUFS
               ? Posted::later
               : Posted::never;
  };
  const Socket socket(new_socket());
  if (socket.fd < 0) return Posted::never;
  const Address address(mailbox);
  if (::connect(socket.fd, address.get(), address.bytes) != 0) return said(errno);
  if (peer_of(socket.fd) != owner) return Posted::never;
  return send_letter(socket.fd, letter) ? Posted::yes : said(errno);
}

}  // namespace tutti::os
