// SPDX-License-Identifier: BSD-3-Clause
// Plain or streaming stores for large results, learned from the user's own calls: which of the two
// is faster depends on the processor, on the size, and on whether the result's memory still is in
// a cache. The choice is this rank's own; it changes no bits.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "coll/coll.h"

namespace tutti::engine {

class StoresChooser {
 public:
  // Smaller results are read again before anything pushes them out of the caches.
  static constexpr std::size_t least_bytes = std::size_t{16} << 10;

  struct Choice {
    reduce::Stores stores;
    std::uint16_t cell;  // to be given back to learn()
  };

  // Once a collective that writes `bytes`, not fewer than the least, at `buffer`.
  [[nodiscard]] Choice choose(coll::Collective collective, const void* buffer, std::size_t bytes) {
    const auto size_class =
        std::min<std::size_t>(std::bit_width(bytes / least_bytes), size_classes - 1);
    const std::size_t index =
        (static_cast<std::size_t>(collective) * size_classes + size_class) * distances +
        distance_of(buffer, bytes);
    Cell& cell = cells_[index];
    const bool streaming = next(cell);
    ++cell.uses;
    return {streaming ? reduce::Stores::streaming : reduce::Stores::plain,
            static_cast<std::uint16_t>(index)};
  }

  // It took `ticks` from when all members had come until all was done: much the same for each of
  // them, so that they tend to learn the same.
  void learn(const Choice& choice, std::uint64_t ticks, std::size_t bytes) {
    auto& samples = cells_[choice.cell].samples[choice.stores == reduce::Stores::streaming];
    samples.costs[samples.count++ % kept] = ticks * 1024 / bytes;
  }

 private:
  static constexpr std::size_t size_classes = 16;  // powers of two, from the least
  static constexpr std::size_t distances = 5;
  static constexpr unsigned kept = 5;          // samples of each way; all before one is preferred
  static constexpr std::uint32_t retry = 128;  // uses after which the other way gets a chance

  struct Samples {
    std::array<std::uint64_t, kept> costs{};
    std::uint32_t count = 0;
    // The median is moved neither by a rank that lost its core nor by a lucky run.
    [[nodiscard]] std::uint64_t median() const {
      std::array<std::uint64_t, kept> sorted = costs;
      std::nth_element(sorted.begin(), sorted.begin() + kept / 2, sorted.end());
      return sorted[kept / 2];
    }
  };
  struct Cell {
    std::array<Samples, 2> samples{};  // plain, streaming
    std::uint32_t uses = 0;
  };

  static bool next(const Cell& cell) {
    const Samples& plain = cell.samples[0];
    const Samples& streaming = cell.samples[1];
    if (plain.count < kept || streaming.count < kept) return plain.count > streaming.count;
    const bool better = streaming.median() < plain.median();
    return cell.uses % retry == 0 ? !better : better;
  }

  // How much this rank has moved since `buffer` was last a result, in classes: a guess at the cache
  // that it is still in.
  std::size_t distance_of(const void* buffer, std::size_t bytes) {
    const auto page = reinterpret_cast<std::uintptr_t>(buffer) >> 12;
    Seen& seen = seen_[(page * 0x9e3779b97f4a7c15u) >> 54];
    const std::uint64_t since = seen.buffer == buffer ? traffic_ - seen.last : ~std::uint64_t{0};
    seen = {buffer, traffic_};
    traffic_ += 2 * bytes;
    if (since == ~std::uint64_t{0}) return distances - 1;
    return std::min<std::size_t>(std::bit_width(since >> 22) / 2, distances - 2);
  }

  struct Seen {
    const void* buffer = nullptr;
    std::uint64_t last = 0;
  };

  std::array<Cell, coll::collective_count * size_classes * distances> cells_{};
  std::array<Seen, 1024> seen_{};
  std::uint64_t traffic_ = 0;
};

}  // namespace tutti::engine
