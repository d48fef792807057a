// SPDX-License-Identifier: BSD-3-Clause
#include "os/relatives.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace tutti::os {
namespace {

// The whole of /proc/PID/NAME, "" if it cannot be read.
std::string read_of(pid_t pid, const char* name) {
  char path[64];
  std::snprintf(path, sizeof path, "/proc/%d/%s", static_cast<int>(pid), name);
  const int fd = ::open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return "";
  std::string text;
  char part[4096];
  for (;;) {
    const ssize_t length = ::read(fd, part, sizeof part);
    if (length < 0 && errno == EINTR) continue;
    if (length <= 0) break;
    text.append(part, static_cast<std::size_t>(length));
  }
  ::close(fd);
  return text;
}

}  // namespace

pid_t parent_of(pid_t pid) {
  const std::string stat = read_of(pid, "stat");
  const std::size_t after_name = stat.rfind(')');  // the name may hold anything
  int parent = 0;
  if (after_name == std::string::npos) return 0;
  return std::sscanf(stat.c_str() + after_name, ") %*c %d", &parent) == 1 ? parent : 0;
}

std::vector<pid_t> children_of(pid_t pid) {
  std::vector<pid_t> children;
  DIR* all = ::opendir("/proc");
  if (all == nullptr) return children;
  while (const dirent* entry = ::readdir(all)) {
    const pid_t each = std::atoi(entry->d_name);  // 0 for what is no process
    if (each > 0 && parent_of(each) == pid) children.push_back(each);
  }
  ::closedir(all);
  return children;
}

bool variable_of(pid_t pid, const char* name, std::string& value) {
  const std::string all = read_of(pid, "environ");
  const std::size_t length = std::strlen(name);
  for (std::size_t at = 0; at < all.size(); at = all.find('\0', at) + 1) {
    if (all.compare(at, length, name) == 0 && all[at + length] == '=') {
      value = all.c_str() + at + length + 1;
      return true;
    }
    if (all.find('\0', at) == std::string::npos) break;
  }
  return false;
}

pid_t launcher(const char* rank) {
  const char* const mine = std::getenv(rank);
  if (mine == nullptr) return 0;
  std::string theirs;
  pid_t ancestor = ::getppid();
  while (ancestor > 0 && variable_of(ancestor, rank, theirs) && theirs == mine)
    ancestor = parent_of(ancestor);
  return ancestor;
}

bool has_mapped(pid_t pid, const char* part) {
  return read_of(pid, "maps").find(part) != std::string::npos;
}

}  // namespace tutti::os
