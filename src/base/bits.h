// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

namespace tutti {

inline constexpr std::size_t page_bytes = 4096;  // where they are others, Tutti stays off
// Two cache lines: the unit that x86 prefetches in pairs, and the largest line of aarch64 servers.
inline constexpr std::size_t line_bytes = 128;

// `alignment` is a power of two.
constexpr std::size_t round_up(std::size_t value, std::size_t alignment) {
  return (value + alignment - 1) & ~(alignment - 1);
}
constexpr std::size_t round_down(std::size_t value, std::size_t alignment) {
  return value & ~(alignment - 1);
}
// A number that hardly another pair gives (the finalizer of splitmix64).
constexpr std::uint64_t mix(std::uint64_t a, std::uint64_t b) {
  std::uint64_t z = a + b * 0x9e3779b97f4a7c15u;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
  z = (z ^ z >> 27) * 0x94d049bb133111ebu;
  return z ^ z >> 31;
}

constexpr std::size_t divide_up(std::size_t value, std::size_t by) { return (value + by - 1) / by; }

}  // namespace tutti
