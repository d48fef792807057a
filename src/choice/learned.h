// SPDX-License-Identifier: BSD-3-Clause
// Learns from the user's own calls which of two ways is faster. It does so where that depends on
// the processor, on the size, and on whether the data still is in a cache. For large results the
// ways are plain and streaming stores. For memory that only the kernel can copy they are the
// kernel's copy and the node segment.
//
// A call finds in the caches what the one before has left there: after streaming stores even plain
// ones are slow, up to four times. So the two ways are not compared call by call but in runs of
// equal calls, the first of which does not count. On all ranks that call alike, runs come at the
// same calls: what one rank stores the others wait for. Where the second way is clearly slower, the
// rest of its run goes the first way. Where it seems to be faster and did not before, the first way
// has another run, which counts instead of the one before: calls may have become faster meanwhile
// for another reason (buffers that peers can map now, a processor that others no longer use).
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "base/collective.h"

namespace tutti::choice {

// How much this rank has moved since a buffer was last used, in classes. It is a guess at the cache
// that the buffer is still in.
inline constexpr std::size_t distances = 5;
class Distances {
 public:
  // To be called once for each collective, which moves `bytes`.
  [[nodiscard]] std::size_t of(const void* buffer, std::size_t bytes) {
    const auto page = reinterpret_cast<std::uintptr_t>(buffer) >> 12;
    Seen& seen = seen_[(page * 0x9e3779b97f4a7c15u) >> 54];
    const std::uint64_t since = seen.buffer == buffer ? traffic_ - seen.last : ~std::uint64_t{0};
    seen = {buffer, traffic_};
    traffic_ += 2 * bytes;
    if (since == ~std::uint64_t{0}) return distances - 1;
    return std::min<std::size_t>(std::bit_width(since >> 22) / 2, distances - 2);
  }

 private:
  struct Seen {
    const void* buffer = nullptr;
    std::uint64_t last = 0;
  };
  std::array<Seen, 1024> seen_{};
  std::uint64_t traffic_ = 0;
};

class Learner {
  // A trial is a run of calls of the first way, one of the second, and perhaps one more of the
  // first.
  static constexpr std::uint32_t settling = 1;  // calls of a run that find what others left
  static constexpr std::uint32_t kept = 4;      // calls that count
  static constexpr std::uint32_t run = settling + kept;
  static constexpr std::uint32_t confirming = settling + kept / 2;  // a run that confirms
  static constexpr std::uint32_t first_again = 128;  // calls after which a trial is repeated,
  static constexpr std::uint32_t most_again = 1024;  // twice as many each time

 public:
  // `gives_up`: a trial drops the second way as soon as it is clearly slower.
  explicit Learner(bool gives_up) : gives_up_(gives_up) {}

  static constexpr std::uint8_t none = kept;
  // Smaller calls have no choice.
  static constexpr std::size_t least_bytes = std::size_t{8} << 10;

  struct Choice {
    bool second = false;         // of the two ways
    std::uint8_t sample = none;  // which one of its run this call gives
    std::uint16_t cell = 0;
  };

  // To be called once for each collective, which moves `bytes`. `distance` is that of one buffer,
  // which stands for all that the collective touches. `otherwise`: the choice while nothing is
  // known.
  [[nodiscard]] Choice choose(Collective collective, std::size_t bytes, std::size_t distance,
                              bool otherwise) {
    const std::size_t index = index_of(collective, bytes, distance);
    const auto [second, sample] = cells_[index].next(otherwise);
    return {second, sample, static_cast<std::uint16_t>(index)};
  }
  // The choice by what is known, for calls that nothing can be learned from.
  [[nodiscard]] Choice choose_known(Collective collective, std::size_t bytes, std::size_t distance,
                                    bool otherwise) const {
    return {.second = cells_[index_of(collective, bytes, distance)].prefers_second(otherwise)};
  }

  // What was chosen took `ticks` for `bytes`. In a blocking call that is the time from when all
  // members had come until all was done. It is much the same for each of them, so that they tend to
  // learn the same.
  void learn(const Choice& choice, std::uint64_t ticks, std::size_t bytes) {
    if (choice.sample == none) return;
    Cell& cell = cells_[choice.cell];
    cell.samples[choice.second][choice.sample] = static_cast<std::uint32_t>(
        std::min<std::uint64_t>(ticks * counted_bytes / bytes, unknown[0] - 1));
    if (choice.second && gives_up_) cell.given_up = cell.is_hopeless();
  }

 private:
  // A sample is the ticks of so many, as a KiB may take only two or three where ticks are slow.
  static constexpr std::size_t counted_bytes = 64 << 10;
  static constexpr std::size_t size_classes = 16;  // powers of two, from the least

  static std::size_t index_of(Collective collective, std::size_t bytes, std::size_t distance) {
    const auto size_class =
        std::min<std::size_t>(std::bit_width(bytes / least_bytes) - 1u, size_classes - 1);
    return (static_cast<std::size_t>(collective) * size_classes + size_class) * distances +
           distance;
  }

  using Samples = std::array<std::uint32_t, kept>;  // ticks for counted_bytes
  static constexpr Samples unknown = {~0u, ~0u, ~0u, ~0u};

  struct Cell {
    std::array<Samples, 2> samples = {unknown, unknown};
    std::uint32_t call = 0;  // since the last trial began
    std::uint32_t again = first_again;
    bool given_up = false;  // the second way in this trial: the rest of its run goes the first
    bool confirms = false;  // the first way has another run in this trial, if the second has won

    std::pair<bool, std::uint8_t> next(bool otherwise) {
      if (call == again) {
        call = 0;
        again = std::min(again * 2, most_again);
      }
      const std::uint32_t at = call++;
      if (at == 0) confirms = !prefers_second(false);
      if (at == 2 * run) confirms = confirms && prefers_second(true) && is_known(samples[1]);
      if (at >= 2 * run + (confirms ? confirming : 0)) return {prefers_second(otherwise), none};
      const bool second = at / run == 1;
      if (at % run == 0) {
        samples[second] = unknown;
        given_up = false;
      }
      if (second && given_up) return {false, none};
      const std::uint32_t sample = at % run - settling;  // wraps for those that settle
      return {second, static_cast<std::uint8_t>(std::min<std::uint32_t>(sample, none))};
    }

    [[nodiscard]] bool prefers_second(bool otherwise) const {
      if (!is_known(samples[0]) || !is_known(samples[1])) return otherwise;
      return cost(samples[1]) < cost(samples[0]);
    }

    // Two calls of the second way have taken half as long again as those of the first.
    [[nodiscard]] bool is_hopeless() const {
      const auto [first, second] = std::minmax(samples[1][0], samples[1][1]);
      return second != unknown[0] && 4 * std::uint64_t{first} > 3 * cost(samples[0]);
    }
  };

  // Half of the calls have told how long they took.
  static bool is_known(const Samples& samples) {
    return std::count(samples.begin(), samples.end(), unknown[0]) <= kept / 2;
  }
  // How long the faster half of the calls took. In the others a rank may have lost its core, or
  // found its caches as somebody else's work had left them.
  static std::uint64_t cost(const Samples& samples) {
    static_assert(kept == 4);
    const auto [a, b] = std::minmax(samples[0], samples[1]);
    const auto [c, d] = std::minmax(samples[2], samples[3]);
    return std::uint64_t{std::min(a, c)} + std::min(std::max(a, c), std::min(b, d));
  }

  std::array<Cell, collective_count * size_classes * distances> cells_{};
  bool gives_up_;
};

}  // namespace tutti::choice
