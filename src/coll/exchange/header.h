// SPDX-License-Identifier: BSD-3-Clause
// exchange: what collectives that only move data have in common. Each sender says in its line how
// its blocks travel, and each receiver takes its own from there. Each sender decides by itself. So
// counts that only some members know (the v-forms) need no round of their own.
#pragma once

#include "coll/coll.h"

namespace tutti::coll::exchange {

enum class Protocol : std::uint8_t {
  inlined,   // in the line itself, but what the sender would send itself
  packed,    // in the sender's staging slot of this step
  direct,    // in the sender's buffer, which it keeps until all have taken theirs
  streamed,  // through the sender's staging slots, a piece a step: nobody can reach its buffer
};

enum class Descriptor : std::uint8_t {
  single,   // one block, for everybody
  strided,  // equally long blocks, one a member, equally far apart
  listed,   // the staging slot of this step begins with a table of entries, one a member
};

// The beginning of what a member posts. Behind it stands the data itself (inlined) or a Place.
struct Header {
  Protocol protocol = Protocol::inlined;
  Descriptor descriptor = Descriptor::single;
  bool in_place = false;    // the blocks are also where it receives: see swap.h
  std::uint64_t bytes = 0;  // of the longest block
};
inline constexpr std::size_t most_inline = segment::payload_bytes - sizeof(Header);

// What member `q` has posted; after posted(q, step).
template <Fabric F>
Header header_of(const F& f, int q, Step step) {
  Header header;
  std::memcpy(&header, f.payload(q, step), sizeof header);
  return header;
}

struct Place {
  Card card;  // of the first block; nothing when packed
  std::uint64_t stride = 0;
};

// A block of a table. Packed: card.address is an offset in the slot.
struct Entry {
  Card card;
  std::uint64_t bytes = 0;
};
static_assert(limits::most_listed_ranks * sizeof(Entry) <= segment::staging_bytes);

// body(begin, bytes) for pieces of at most limits::bounce_bytes, cut where the layout likes it.
template <class Body>
void for_pieces(const Block& block, std::size_t bytes, Body body) {
  const std::size_t grain = block.layout != nullptr ? block.layout->grain() : 1;
  const std::size_t piece =
      grain < limits::bounce_bytes ? limits::bounce_bytes / grain * grain : limits::bounce_bytes;
  for (std::size_t begin = 0; begin < bytes; begin += piece)
    body(begin, std::min(piece, bytes - begin));
}

// False: more is sent than there is room for, which is an error of the program.
template <Fabric F>
[[nodiscard]] bool admits(F& f, int peer, std::size_t sent, const Block& into) {
  if (sent <= into.bytes) return true;
  f.truncation(peer, sent, into.bytes);
  return false;
}

// The bounce buffer, `before` bytes into the scratch. Few calls need it, so it is found when it is
// used.
template <Fabric F>
struct Bounce {
  F& f;
  std::size_t before = 0;
  std::byte* operator()() const { return f.scratch(before + limits::bounce_bytes) + before; }
};

// Copies what a member sends itself, for which there is room. If both blocks have gaps the data
// pass through what `bounce` yields.
template <class FindBounce>
void keep_admitted(const Block& to, const Block& from, FindBounce bounce, Stores stores) {
  const std::size_t bytes = from.bytes;
  if (to.address == from.address && to.layout == from.layout) return;  // in place
  if (from.layout == nullptr) return unpack(to, 0, from.address, bytes, stores);
  if (to.layout == nullptr) return pack(to.address, from, 0, bytes, stores);
  for_pieces(from, bytes, [&](std::size_t begin, std::size_t piece) {
    pack(bounce(), from, begin, piece);
    unpack(to, begin, bounce(), piece);
  });
}
template <Fabric F, class FindBounce>
void keep(F& f, const Block& to, const Block& from, FindBounce bounce, Stores stores) {
  if (admits(f, f.rank(), from.bytes, to)) keep_admitted(to, from, bounce, stores);
}

}  // namespace tutti::coll::exchange
