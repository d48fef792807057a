// SPDX-License-Identifier: BSD-3-Clause
// The collectives of a communicator of one rank: what is sent is received.
#pragma once

#include "coll/block.h"
#include "coll/work.h"

namespace tutti::coll {
namespace detail {

// Packed and unpacked in pieces, if both have gaps.
inline void copy_block(const Block& to, const Block& from) {
  if (to.layout == nullptr) return pack(to.address, from, 0, from.bytes);
  if (from.layout == nullptr) return unpack(to, 0, from.address, from.bytes);
  std::byte piece[4096];
  for (std::size_t done = 0; done < from.bytes; done += sizeof piece) {
    const std::size_t bytes = std::min(sizeof piece, from.bytes - done);
    pack(piece, from, done, bytes);
    unpack(to, done, piece, bytes);
  }
}

}  // namespace detail

// False: more is sent than there is room for; nothing was done.
[[nodiscard]] inline bool run_alone(Collective collective, const Work& work) {
  if (computes(collective)) {  // but the first result of an Exscan is undefined
    if (collective != Collective::exscan && work.send != work.recv)
      reduce::copy(work.recv, work.send, work.bytes());
    return true;
  }
  if (work.out.empty() || work.in.empty()) return true;  // in place
  const Block &from = work.out[0], &to = work.in[0];
  if (from.bytes > to.bytes) return false;
  const bool in_place = from.address == to.address && from.layout == to.layout;
  if (!in_place) detail::copy_block(to, from);
  return true;
}

}  // namespace tutti::coll
