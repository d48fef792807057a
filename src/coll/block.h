// SPDX-License-Identifier: BSD-3-Clause
// A part of a user's buffer that one member sends to another or receives from it, and how bytes get
// in and out of it. Members may describe the same bytes differently; what travels is packed.
#pragma once

#include <cstddef>
#include <cstring>

#include "reduce/reduce.h"

namespace tutti::coll {

struct Block {
  std::byte* address = nullptr;
  std::size_t bytes = 0;
};

// Bytes [begin, begin + bytes) of `block`, packed.
inline void pack(std::byte* to, const Block& block, std::size_t begin, std::size_t bytes,
                 reduce::Stores stores = reduce::Stores::plain) {
  if (bytes > 0) reduce::copy(to, block.address + begin, bytes, stores);
}

inline void unpack(const Block& block, std::size_t begin, const std::byte* from, std::size_t bytes,
                   reduce::Stores stores = reduce::Stores::plain) {
  if (bytes > 0) reduce::copy(block.address + begin, from, bytes, stores);
}

// Within one member.
inline void move(const Block& to, const Block& from, reduce::Stores stores) {
  const std::size_t bytes = from.bytes < to.bytes ? from.bytes : to.bytes;
  if (to.address != from.address) unpack(to, 0, from.address, bytes, stores);
}

}  // namespace tutti::coll
