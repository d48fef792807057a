// SPDX-License-Identifier: BSD-3-Clause
// In place, what two members send each other lies where they receive it: their blocks change
// places. Small blocks have left their place when they are posted, like any others. Large ones stay
// where they are, and the two must agree who moves them. Both find the same answer in their two
// headers.
#pragma once

#include "coll/exchange/incoming.h"
#include "coll/exchange/outgoing.h"

namespace tutti::coll::exchange {

enum class Swap : std::uint8_t {
  sent,      // each takes what the other has posted
  halves,    // each moves a half of both blocks
  mine,      // I move all of both
  theirs,    // the other one does
  streamed,  // both send theirs through their slots, a piece at a time
};

// Blocks that stay in their place until they are replaced. Open ones can be reached by others,
// closed ones cannot.
inline bool is_open(const Header& header) {
  return header.in_place && header.protocol == Protocol::direct;
}
inline bool is_closed(const Header& header) {
  return header.in_place && header.protocol == Protocol::streamed;
}

inline Swap swap_of(const Header& mine, const Header& theirs) {
  if (is_open(theirs)) return is_open(mine) ? Swap::halves : Swap::mine;
  if (is_open(mine)) return Swap::theirs;
  return is_closed(mine) || is_closed(theirs) ? Swap::streamed : Swap::sent;
}

// The longest block that may be streamed where some are in place. All members find the same, as all
// have read all headers; header_of(q) yields that of member q.
template <class HeaderOf>
std::size_t longest_stream(int members, HeaderOf header_of) {
  int longest_closed = -1;
  std::uint64_t closed_bytes = 0, partner_bytes = 0, other_bytes = 0;
  for (int q = 0; q < members; ++q) {
    const Header header = header_of(q);
    if (header.protocol == Protocol::streamed && !header.in_place)
      other_bytes = std::max(other_bytes, header.bytes);
    if (!is_closed(header) || header.bytes <= closed_bytes) continue;
    longest_closed = q;
    closed_bytes = header.bytes;
  }
  for (int q = 0; q < members; ++q) {
    const Header header = header_of(q);
    if (q != longest_closed && !is_open(header))
      partner_bytes = std::max(partner_bytes, header.bytes);
  }
  return std::max(other_bytes, std::min(closed_bytes, partner_bytes));
}

}  // namespace tutti::coll::exchange
