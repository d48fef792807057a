// SPDX-License-Identifier: BSD-3-Clause
// The command line of tutti-bench.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tutti_bench/names.h"

namespace tutti::bench {

enum class Memory : std::uint8_t { heap, statics, mapped };
enum class Cache : std::uint8_t { cold, hot };
enum class What : std::uint8_t { blocking, overlap };

struct Collective;  // a row of collectives.h

struct Arguments {
  std::vector<const Collective*> collectives;
  std::vector<std::uint64_t> sizes;  // bytes; Collective::has_data says which need them
  What what = What::blocking;
  bool with_base = true;            // times the MPI alone, too; for overlap it may be left out
  std::vector<std::uint64_t> work;  // for each size, steps that the ranks share; empty: not given
  const TypeName* type = &types[0];
  const OpName* op = &ops[0];
  Memory memory = Memory::heap;
  Cache cache = Cache::cold;
  int root = 0;
  std::int64_t min_time_ms = 300;   // spent on a point's samples, at least
  std::int64_t max_time_ms = 6000;  // after which 3 samples are enough
  std::int64_t iterations = 0;      // samples a point; 0: as many as min_time_ms holds
};

inline constexpr const char* usage =
    "tutti-bench --collective NAME,... --sizes BYTES,... [--measure blocking|overlap] "
    "[--work STEPS,...] [--libraries both|tutti] [--dtype float] [--op sum] "
    "[--memory heap|static|mmap] [--cache cold|hot] [--root 0] [--min-time-ms 300] [--max-time-ms "
    "6000] "
    "[--iterations N]";

// False: `why` is one sentence that names the argument and what it may be.
[[nodiscard]] bool parse(int count, char** words, Arguments& arguments, std::string& why);

}  // namespace tutti::bench
