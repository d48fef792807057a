// SPDX-License-Identifier: BSD-3-Clause
// memory: the contract "reach a peer's buffer".
//
// The owner of a buffer publishes a Card that says how its buffer can be reached; what a peer then
// does is its own decision. Words: docs/glossary.md. Each way (memory/transport.h) is probed
// against a known value before it is relied on, and says why it cannot be used.
//
// Preconditions of map, read and write: the card came from the peer that this PeerMemory was opened
// to, [offset, offset + bytes) lies inside the buffer the card was made for, and the owner has
// promised not to leave the operation before everyone is done with it.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/status.h"
#include "memory/transport.h"
#include "memory/windows.h"
#include "os/window.h"

namespace tutti::memory {

struct Card {
  std::uint64_t address = 0;  // in the owner's address space; mapped: in the range of its commons
  Transport transport = no_transport;
  std::uint32_t mebibytes = 0;  // from `address` to behind the buffer, rounded up
};
// Of who lends nothing: no worse than any other.
inline constexpr Card nothing_lent{.transport = best_transport};

// Which ways may be used at all: options().memory, read once. What is staged where another way
// would do is said here, too; where none does it always is. And how much of a peer's commons is
// mapped at most, from its start on.
struct Allowed {
  TransportSet ways = TransportSet::all();
  std::uint64_t window_bytes = ~std::uint64_t{0};
};
[[nodiscard]] Allowed allowed(const char* option);

// What a process tells its peers about its memory.
struct Introduction {
  std::int32_t pid = 0;
  std::int32_t fd = -1;            // of the commons; -1: none
  std::uint64_t base = 0;          // of the commons
  std::uint64_t bytes = 0;         // of the commons
  std::uint64_t probe = 0;         // address of a word outside the commons ...
  std::uint64_t mapped_probe = 0;  // ... and of one inside it
  std::uint64_t nonce = 0;         // what both words hold
};
// Reserves the commons if it is allowed. The probes live as long as the process.
[[nodiscard]] Introduction introduce(const Allowed& allowed);

// How this process reaches the memory of one peer.
class PeerMemory {
 public:
  // Maps and probes. Afterwards why_not() is "" for the ways that work.
  void open(const Introduction& peer, const Allowed& allowed);
  // True: the peer has a commons, but this process may not open its descriptor. With one that the
  // peer has sent, and that is closed here, the mapped way is tried again.
  [[nodiscard]] bool lacks_descriptor() const { return lacks_descriptor_; }
  void open_commons(const Introduction& peer, const Allowed& allowed, int fd);

  [[nodiscard]] const char* why_not(Transport transport) const;
  [[nodiscard]] TransportSet ways() const;  // those that work
  // The pages of the peer that this process has seen no longer count as its own.
  void forget() const { window_.forget(); }
  // Keeps nothing of the peer's memory alive any more, which nobody reaches for again.
  void let_go() { window_.close(); }
  // The same of a peer that has gone, in the midst of everything: its memory reads as zeros. What
  // has been read is to be doubted when is_lost() says so afterwards.
  void lose() {
    note_in_vain(lost);
    window_.blank();
  }
  [[nodiscard]] bool is_lost() const { return window_.is_blank(); }
  // What this process ever had in vain: it lost a peer, or did not copy. Nothing in programs that
  // end well, so code that has to ask often asks this first.
  enum InVain : unsigned { lost = 1, not_copied = 2 };
  [[nodiscard]] static unsigned in_vain() { return in_vain_.load(std::memory_order_relaxed); }
  static void note_in_vain(InVain what) { in_vain_.fetch_or(what, std::memory_order_relaxed); }

  // Where this process sees the buffer; nullptr when the card's way is not a mapped one.
  [[nodiscard]] std::byte* map(const Card& card) const {
    if (!can_map(card.transport)) return nullptr;
    const std::size_t offset = card.address - base_;
    window_.open_to(offset + (std::size_t{card.mebibytes} << 20));
    return window_.base() + offset;
  }
  Status read(const Card& card, std::size_t offset, void* to, std::size_t bytes) const;
  Status write(const Card& card, std::size_t offset, const void* from, std::size_t bytes) const;

 private:
  static inline constinit std::atomic<unsigned> in_vain_{0};

  const char* borrow_commons(const Introduction& peer, const Allowed& allowed);
  const char* map_commons(const Introduction& peer, const Allowed& allowed, int fd);
  const char* open_cma(const Introduction& peer) const;

  pid_t pid_ = 0;
  os::Window window_;       // the peer's commons, here
  std::uint64_t base_ = 0;  // the same, there
  bool lacks_descriptor_ = false;
  const char* no_commons_ = "not opened";
  const char* no_cma_ = "not opened";
};

// The card for a buffer of this process, given which ways all of its peers have, and how much of
// each other's commons all have mapped.
struct Transports {
  TransportSet ways;
  std::uint64_t window_bytes = ~std::uint64_t{0};
  Windows* windows = nullptr;  // in which mapped buffers are seen
  bool touches_first = false;  // it matters who touches a page first
};
// `full`: every byte of the buffer belongs to the collective.
[[nodiscard]] Card offer(const void* buffer, std::size_t bytes, const Transports& transports,
                         bool full = true);

}  // namespace tutti::memory
