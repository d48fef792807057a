// SPDX-License-Identifier: BSD-3-Clause
#include "os/huge_file.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>

#include "os/mapping.h"
#include "os/small_file.h"

namespace tutti::os {
namespace {

// Of linux/mount.h (Linux 5.2), which older headers lack.
constexpr unsigned fsopen_cloexec = 1;
constexpr unsigned fsconfig_set_string = 1;
constexpr unsigned fsconfig_cmd_create = 6;
constexpr unsigned fsmount_cloexec = 1;
#ifdef SYS_fsopen
constexpr long nr_fsopen = SYS_fsopen, nr_fsconfig = SYS_fsconfig, nr_fsmount = SYS_fsmount;
#else
constexpr long nr_fsopen = 430, nr_fsconfig = 431, nr_fsmount = 432;
#endif

// What the helper is told, and what it answers. It runs in the memory of this process while the
// thread that has made it stands still, so it may use what that thread may.
struct Order {
  const char* name;
  uid_t user;
  gid_t group;
  int fd = -1;
  const char* why_not = "it was killed";
};

bool write_text(const char* path, const char* text, std::size_t bytes) {
  const int fd = ::open(path, O_WRONLY | O_CLOEXEC);
  if (fd < 0) return false;
  const bool written = ::write(fd, text, bytes) == static_cast<ssize_t>(bytes);
  ::close(fd);
  return written;
}

// A file system takes files only of the users that its namespace knows: this one, by its number.
bool map_id(const char* path, unsigned id) {
  char line[32];
  char* at = line;
  for (int i = 0; i < 2; ++i) {
    at = std::to_chars(at, line + sizeof line, id).ptr;
    *at++ = ' ';
  }
  *at++ = '1';
  return write_text(path, line, static_cast<std::size_t>(at - line));
}

// Mounted nowhere, for this process alone.
int mount_tmpfs(const char** why_not) {
  const auto context = static_cast<int>(::syscall(nr_fsopen, "tmpfs", fsopen_cloexec));
  if (context < 0) {
    *why_not = errno == ENOSYS ? "Linux is older than 5.2" : "mounting is refused there";
    return -1;
  }
  const auto set = [&](const char* key, const char* value) {
    return ::syscall(nr_fsconfig, context, fsconfig_set_string, key, value, 0) == 0;
  };
  int mount = -1;
  // Not the usual half of the machine's memory, beyond which a store would be a SIGBUS.
  if (!set("size", "0"))
    *why_not = "tmpfs refuses its size";
  else if (!set("huge", "advise"))
    *why_not = "the kernel has no huge pages";
  else if (::syscall(nr_fsconfig, context, fsconfig_cmd_create, nullptr, nullptr, 0) != 0 ||
           (mount = static_cast<int>(::syscall(nr_fsmount, context, fsmount_cloexec, 0))) < 0)
    *why_not = "mounting is refused there";
  ::close(context);
  return mount;
}

int make_file(const Order& order, const char** why_not) {
  // In this order: else the second is refused to a user who is not root.
  (void)write_text("/proc/self/setgroups", "deny", 4);
  if (!map_id("/proc/self/uid_map", order.user) || !map_id("/proc/self/gid_map", order.group)) {
    *why_not = "the user cannot be named there";
    return -1;
  }
  const int mount = mount_tmpfs(why_not);
  if (mount < 0) return -1;
  const int fd = ::openat(mount, order.name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0)
    *why_not = "no file can be made there";
  else
    ::unlinkat(mount, order.name, 0);
  ::close(mount);
  return fd;
}

int help(void* argument) {
  auto* order = static_cast<Order*>(argument);
  order->fd = make_file(*order, &order->why_not);
  return 0;
}

const char* refusal(int error) {
  switch (error) {
    case EPERM:
    case EACCES:
      return "user namespaces are refused";
    case ENOSPC:
    case EUSERS:
      return "there are as many user namespaces as there may be";
    case EINVAL:
      return "the kernel has no user namespaces";
    default:
      return "no process can be made";
  }
}

// The helper shares memory and descriptors, and this thread waits as after a vfork. It ends without
// a signal, and only who asks for such children finds it among this process's.
void send_helper(Order* order) {
  constexpr std::size_t stack_bytes = std::size_t{64} << 10;
  constexpr int flags = CLONE_VM | CLONE_VFORK | CLONE_FILES | CLONE_NEWUSER | CLONE_NEWNS;
  void* stack = map_private(stack_bytes);
  if (stack == nullptr) {
    order->why_not = "no address space";
    return;
  }
  sigset_t all, before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);  // no handler may run in it
  const pid_t helper = ::clone(help, static_cast<std::byte*>(stack) + stack_bytes, flags, order);
  if (helper < 0) order->why_not = refusal(errno);
  while (helper > 0 && ::waitpid(helper, nullptr, __WALL) < 0 && errno == EINTR) {
  }
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  unmap(stack, stack_bytes);
}

}  // namespace

int create_huge_file(const char* name, std::size_t bytes, FileId* id, const char** why_not) {
  Order order{name, ::geteuid(), ::getegid()};
  send_helper(&order);
  if (order.fd < 0) {
    *why_not = order.why_not;
    return -1;
  }
  struct stat status {};
  if (::ftruncate(order.fd, static_cast<off_t>(bytes)) != 0 || ::fstat(order.fd, &status) != 0) {
    *why_not = "it cannot be large enough";
    ::close(order.fd);
    return -1;
  }
  *id = {status.st_dev, status.st_ino};
  return move_out_of_the_way(order.fd);
}

bool huge_pages_come_unasked() {
  char text[64];
  return read_file("/sys/kernel/mm/transparent_hugepage/enabled", text) &&
         std::strstr(text, "[always]") != nullptr;
}

bool memfds_have_huge_pages() {
  char text[96];
  return read_file("/sys/kernel/mm/transparent_hugepage/shmem_enabled", text) &&
         std::strstr(text, "[never]") == nullptr && std::strstr(text, "[deny]") == nullptr;
}

bool host_takes_free_memory() {
  char text[32];
  return read_file("/sys/module/page_reporting/parameters/page_reporting_order", text) &&
         is_reported_order(text);
}

bool huge_pages_take_long() { return host_takes_free_memory() && !huge_pages_come_unasked(); }

bool is_reported_order(const char* text) {
  // Where nobody has asked for reports it is -1, unsigned, or (before Linux 6.1) the first order
  // that no block has.
  constexpr unsigned long largest_order = 10;
  char* end = nullptr;
  const unsigned long order = std::strtoul(text, &end, 10);
  return end != text && order <= largest_order;
}

}  // namespace tutti::os
