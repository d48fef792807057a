// SPDX-License-Identifier: BSD-3-Clause
// The options, read once from the environment. See options.def for the table.
#pragma once

#include <cstdint>
#include <span>

namespace tutti {

struct Options {
  using Flag = bool;
  using Bytes = std::uint64_t;
  using Number = std::int64_t;
  using Text = const char*;
#define TUTTI_OPTION(name, type, fallback, meaning) type name;
#include "base/options.def"
#undef TUTTI_OPTION
};

// A row as people see it; the variable is TUTTI_ and the name in capitals.
struct OptionRow {
  const char* name;
  const char* type;
  const char* fallback;
  const char* meaning;
};

// Read at the first call; safe before main and inside malloc (no heap). The texts are copies: the
// program may overwrite its environment.
const Options& options();
// Whether they have been read, or can be: libc has found the environment, and the program has not
// taken it away.
[[nodiscard]] bool options_are_there();

std::span<const OptionRow> option_rows();

// Says once per process, for each TUTTI_* variable that is no option or has a value that cannot be
// read, which one was probably meant.
void warn_about_unknown_options();

// Says so where the kernel has other pages than those that Tutti counts in, as it can on aarch64.
// There `off` is set, whatever the environment says.
void warn_about_other_pages();
// Both of these. Call it where one rank speaks for all.
void warn_about_surroundings();
[[nodiscard]] std::size_t kernel_page_bytes();

// "8", "32K", "4M", "1G" (powers of 1024). False, and `value` untouched, for anything else.
[[nodiscard]] bool parse_bytes(const char* text, std::uint64_t& value);

}  // namespace tutti
