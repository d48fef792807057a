// SPDX-License-Identifier: BSD-3-Clause
#include "base/log.h"

#include <unistd.h>

#include <cstdarg>
#include <cstdio>

namespace tutti::log {
namespace {

Level g_level = Level::warn;

void write_line(const char* format, std::va_list arguments) {
  char line[1024] = "tutti: ";
  constexpr int prefix = 7;
  int length = std::vsnprintf(line + prefix, sizeof(line) - prefix - 1, format, arguments);
  if (length < 0) return;
  length += prefix;
  if (length > static_cast<int>(sizeof(line)) - 2) length = sizeof(line) - 2;
  line[length++] = '\n';
  [[maybe_unused]] auto written = ::write(STDERR_FILENO, line, static_cast<size_t>(length));
}

}  // namespace

void set_level(Level level) { g_level = level; }
bool enabled(Level level) { return level <= g_level; }

#define TUTTI_LOG_BODY(condition)   \
  if (condition) {                  \
    std::va_list arguments;         \
    va_start(arguments, format);    \
    write_line(format, arguments);  \
    va_end(arguments);              \
  }
void warn(const char* format, ...) { TUTTI_LOG_BODY(enabled(Level::warn)) }
void info(const char* format, ...) { TUTTI_LOG_BODY(enabled(Level::info)) }
void debug(const char* format, ...) { TUTTI_LOG_BODY(enabled(Level::debug)) }
void fatal(const char* format, ...) { TUTTI_LOG_BODY(true) }
#undef TUTTI_LOG_BODY

}  // namespace tutti::log
