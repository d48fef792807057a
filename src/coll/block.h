// SPDX-License-Identifier: BSD-3-Clause
// A part of a user's buffer that one member sends to another or receives from it, and how bytes get
// in and out of it. Members may describe the same bytes differently; what travels is packed.
#pragma once

#include <cstddef>
#include <cstring>

#include "choice/limits.h"
#include "layout/layout.h"
#include "reduce/reduce.h"

namespace tutti::coll {

struct Block {
  std::byte* address = nullptr;
  std::size_t bytes = 0;                   // packed
  const layout::Layout* layout = nullptr;  // nullptr: without gaps, at `address`
};

inline reduce::Stores stores_of(std::size_t bytes, reduce::Stores wanted) {
  return bytes < limits::large_bytes ? reduce::Stores::plain : wanted;
}

// Bytes [begin, begin + bytes) of `block`, packed.
inline void pack(std::byte* to, const Block& block, std::size_t begin, std::size_t bytes,
                 reduce::Stores stores = reduce::Stores::plain) {
  if (bytes == 0) return;
  if (block.layout != nullptr)
    block.layout->pack(to, block.address, begin, bytes);
  else
    reduce::copy(to, block.address + begin, bytes, stores_of(bytes, stores));
}

inline void unpack(const Block& block, std::size_t begin, const std::byte* from, std::size_t bytes,
                   reduce::Stores stores = reduce::Stores::plain) {
  if (bytes == 0) return;
  if (block.layout != nullptr)
    block.layout->unpack(block.address, from, begin, bytes);
  else
    reduce::copy(block.address + begin, from, bytes, stores_of(bytes, stores));
}

}  // namespace tutti::coll
