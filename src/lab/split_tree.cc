// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>

#include "lab/model.h"

namespace tutti::lab::model {
namespace {

// What a message of this level carries, in buffers.
double weight(int level, Buffers buffers) {
  return buffers == Buffers::growing ? static_cast<double>(std::int64_t{1} << (level - 1)) : 1;
}

// A level on the communication cores, which send its messages in turns.
double folded_time(int ranks, int cores, int level, Buffers buffers) {
  const int spare = communication_cores(ranks, cores);
  if (spare == 0) return std::numeric_limits<double>::infinity();
  const int turns = (level_messages(ranks, level) - 1) / spare + 1;
  return turns * weight(level, buffers);
}

double folded_time_above(int ranks, int cores, int levels, Buffers buffers) {
  double time = 0;
  for (int level = height(ranks); level > std::max(levels, 0); --level)
    time += folded_time(ranks, cores, level, buffers);
  return time;
}

// The first levels on the ranks' cores: the messages of a level all go at once.
double application_time(int ranks, int levels, Buffers buffers) {
  const int run = std::clamp(levels, 0, height(ranks));
  // W(N, S) = 1 + 2 + 4 + ...
  return buffers == Buffers::growing ? static_cast<double>((std::int64_t{1} << run) - 1) : run;
}

}  // namespace

int height(int ranks) noexcept {
  return ranks < 2 ? 0 : std::bit_width(static_cast<unsigned>(ranks) - 1);
}

int level_messages(int ranks, int level) noexcept {
  if (level < 1 || level > height(ranks)) return 0;
  const std::int64_t half = std::int64_t{1} << (level - 1);
  return static_cast<int>((ranks + half - 1) / (2 * half));
}

int communication_cores(int ranks, int cores) noexcept {
  return std::max(0, std::max(cores, 0) - std::max(ranks, 0));
}

double blocking_time(int ranks, Buffers buffers) noexcept {
  return application_time(ranks, height(ranks), buffers);
}

double computation_time(int ranks, int cores, Buffers buffers) noexcept {
  if (ranks < 1 || cores < 1) return 0;
  return blocking_time(cores, buffers) * cores / std::min(ranks, cores);
}

double nonblocking_time(int ranks, int cores, int levels, Buffers buffers) noexcept {
  return application_time(ranks, levels, buffers) +
         folded_time_above(ranks, cores, levels, buffers);
}

double overlapped_time(int ranks, int cores, int levels, Buffers buffers) noexcept {
  return application_time(ranks, levels, buffers) +
         std::max(computation_time(ranks, cores, buffers),
                  folded_time_above(ranks, cores, levels, buffers));
}

int best_levels(int ranks, int cores, Buffers buffers) noexcept {
  const double computation = computation_time(ranks, cores, buffers);
  double least = std::numeric_limits<double>::infinity();
  double folded = 0;  // the levels above the split
  int best = height(ranks);
  for (int levels = best; levels >= 0; --levels) {
    const double time = application_time(ranks, levels, buffers) + std::max(computation, folded);
    if (time <= least) {
      least = time;
      best = levels;
    }
    if (levels > 0) folded += folded_time(ranks, cores, levels, buffers);
  }
  return best;
}

}  // namespace tutti::lab::model
