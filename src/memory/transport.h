// SPDX-License-Identifier: BSD-3-Clause
// The ways in which peers reach a buffer, best first. Words: docs/glossary.md.
//  - mapped: it lies in the owner's commons, which the peer has mapped: plain loads and stores.
//  - copied: the kernel copies (process_vm_readv, process_vm_writev).
//  - staged: neither; the owner must pass the bytes through the node segment, piece by piece.
// Algorithms ask what a way lets them do, and do not name it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>

namespace tutti::memory {

enum class Transport : std::uint32_t { mapped, copied, staged };
inline constexpr Transport every_transport[] = {Transport::mapped, Transport::copied,
                                                Transport::staged};
inline constexpr Transport best_transport = Transport::mapped;
inline constexpr Transport no_transport = Transport::staged;  // peers do not reach the buffer
[[nodiscard]] const char* name_of(Transport transport);       // as in TUTTI_MEMORY

// Peers load from the buffer and store to it where it lies.
[[nodiscard]] constexpr bool can_map(Transport transport) { return transport == Transport::mapped; }
// Peers read and write it, in one copy.
[[nodiscard]] constexpr bool can_copy(Transport transport) {
  return transport != Transport::staged;
}
// They do so by the kernel alone: a system call for each piece.
[[nodiscard]] constexpr bool needs_kernel(Transport transport) {
  return can_copy(transport) && !can_map(transport);
}
// Of two buffers.
[[nodiscard]] constexpr Transport worse_of(Transport a, Transport b) { return std::max(a, b); }

// Some of the ways.
class TransportSet {
 public:
  constexpr TransportSet() = default;
  constexpr TransportSet(std::initializer_list<Transport> members) {
    for (const Transport member : members) add(member);
  }
  [[nodiscard]] static constexpr TransportSet all() {
    TransportSet set;
    for (const Transport transport : every_transport) set.add(transport);
    return set;
  }

  [[nodiscard]] constexpr bool has(Transport transport) const {
    return (bits_ & bit(transport)) != 0;
  }
  constexpr void add(Transport transport) { bits_ |= bit(transport); }
  // Without those that are not in `others`.
  constexpr void keep(TransportSet others) { bits_ &= others.bits_; }

 private:
  [[nodiscard]] static constexpr std::uint32_t bit(Transport transport) {
    return std::uint32_t{1} << static_cast<std::uint32_t>(transport);
  }

  std::uint32_t bits_ = 0;
};

}  // namespace tutti::memory
