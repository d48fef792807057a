// SPDX-License-Identifier: BSD-3-Clause
#include "os/draft.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <utility>

#include "os/clock.h"

namespace tutti::os {
namespace {

std::string draft_of(const std::string& path) {
  struct stat found {};
  if (::lstat(path.c_str(), &found) == 0 && !S_ISREG(found.st_mode)) return path;
  return path + "." + std::to_string(::getpid()) + "-" + std::to_string(now_ns());
}

// A file that was not there: nobody else's, nor a link to one.
std::FILE* open_new(const std::string& name) {
  const int fd = ::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  std::FILE* const file = fd >= 0 ? ::fdopen(fd, "w") : nullptr;
  if (fd >= 0 && file == nullptr) ::close(fd);
  return file;
}

}  // namespace

Draft::Draft(std::string path) : path_(std::move(path)), draft_(draft_of(path_)) {
  if (path_.empty()) return;
  if (draft_ != path_) file_ = open_new(draft_);
  if (file_ != nullptr) return;
  draft_ = path_;
  file_ = std::fopen(path_.c_str(), "we");
}

Draft::~Draft() {
  if (file_ == nullptr) return;
  std::fclose(file_);
  if (draft_ != path_) ::unlink(draft_.c_str());
}

bool Draft::finish() {
  if (file_ == nullptr) return false;
  const bool written = std::ferror(file_) == 0;
  const bool closed = std::fclose(std::exchange(file_, nullptr)) == 0;
  if (draft_ == path_) return written && closed;
  if (written && closed && std::rename(draft_.c_str(), path_.c_str()) == 0) return true;
  ::unlink(draft_.c_str());
  return false;
}

}  // namespace tutti::os
