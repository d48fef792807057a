// SPDX-License-Identifier: BSD-3-Clause
#include "base/log.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstdarg>
#include <cstdio>

#include "base/options.h"

namespace tutti::log {
namespace {

Level g_level = Level::warn;

// Where nobody reads any more, as a launcher that is ending the job, the rank goes on to end as it
// should: SIGPIPE would be how it ended.
void write_without_signal(int fd, const char* data, std::size_t bytes) {
  sigset_t pipe, before, pending;
  sigemptyset(&pipe);
  sigaddset(&pipe, SIGPIPE);
  ::pthread_sigmask(SIG_BLOCK, &pipe, &before);
  ::sigpending(&pending);
  const timespec at_once{};
  if (::write(fd, data, bytes) < 0 && errno == EPIPE && sigismember(&pending, SIGPIPE) == 0)
    ::sigtimedwait(&pipe, nullptr, &at_once);
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void write_line(int fd, const char* format, std::va_list arguments) {
  char line[1024] = "tutti: ";
  constexpr int prefix = 7;
  int length = std::vsnprintf(line + prefix, sizeof(line) - prefix - 1, format, arguments);
  if (length < 0) return;
  length += prefix;
  if (length > static_cast<int>(sizeof(line)) - 2) length = sizeof(line) - 2;
  line[length++] = '\n';
  write_without_signal(fd, line, static_cast<size_t>(length));
}

}  // namespace

void set_level(Level level) { g_level = level; }
bool enabled(Level level) { return level <= g_level; }

#define TUTTI_LOG_BODY(condition)                 \
  if (condition) {                                \
    std::va_list arguments;                       \
    va_start(arguments, format);                  \
    write_line(STDERR_FILENO, format, arguments); \
    va_end(arguments);                            \
  }
void warn(const char* format, ...) { TUTTI_LOG_BODY(enabled(Level::warn)) }
void info(const char* format, ...) { TUTTI_LOG_BODY(enabled(Level::info)) }
void debug(const char* format, ...) { TUTTI_LOG_BODY(enabled(Level::debug)) }
#undef TUTTI_LOG_BODY

// A launcher that ends the job may throw away what ranks said last, so it is kept in a file too.
void fatal(const char* format, ...) {
  std::va_list arguments;
  va_start(arguments, format);
  char path[1024];
  const char* report = options().report;
  if (*report != '\0') {
    std::snprintf(path, sizeof path, "%s.fatal", report);
    const int fd = ::open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    std::va_list again;
    va_copy(again, arguments);
    write_line(fd, format, again);
    va_end(again);
    if (fd >= 0) ::close(fd);
  }
  write_line(STDERR_FILENO, format, arguments);
  va_end(arguments);
  // Where standard error is a launcher's pipe, until the launcher has read it; for a second at
  // most.
  int unread = 0;
  const timespec pause{0, 1'000'000};
  for (int i = 0; i < 1000 && ::ioctl(STDERR_FILENO, FIONREAD, &unread) == 0 && unread > 0; ++i)
    ::nanosleep(&pause, nullptr);
}

}  // namespace tutti::log
