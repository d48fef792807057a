// SPDX-License-Identifier: BSD-3-Clause
// One sentence to the user on standard error, by one write(2), without touching the heap: it may
// be called from inside malloc and from a forked child.
#pragma once

namespace tutti::log {

enum class Level { quiet, warn, info, debug };

void set_level(Level level);
bool enabled(Level level);

// Each message becomes one line "tutti: ...", cut at 1 KiB.
[[gnu::format(printf, 1, 2)]] void warn(const char* format, ...);
[[gnu::format(printf, 1, 2)]] void info(const char* format, ...);
[[gnu::format(printf, 1, 2)]] void debug(const char* format, ...);
// Always printed, whatever the level, and kept in TUTTI_REPORT.fatal: the job is about to end.
[[gnu::format(printf, 1, 2)]] void fatal(const char* format, ...);

}  // namespace tutti::log
