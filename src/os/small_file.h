// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <cstddef>

namespace tutti::os {

// The start of a file of /proc or /sys, as a string; false when it cannot be read.
template <std::size_t size>
bool read_file(const char* path, char (&text)[size]) {
  const int fd = ::open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  const ssize_t length = ::read(fd, text, size - 1);
  ::close(fd);
  if (length < 0) return false;
  text[length] = '\0';
  return true;
}

}  // namespace tutti::os
