// SPDX-License-Identifier: BSD-3-Clause
#include "commons/bins.h"

#include <bit>

namespace tutti::commons {

std::size_t Bins::bin_of(std::uint32_t pages) {
  if (pages < 4) return pages;
  const auto log2 = static_cast<unsigned>(std::bit_width(pages)) - 1;
  return ((log2 - 1) << 2) | ((pages >> (log2 - 2)) & 3);
}

std::size_t Bins::next_nonempty(std::size_t bin) const {
  for (std::size_t word = bin / 64; word < count / 64; ++word) {
    std::uint64_t bits = nonempty_[word];
    if (word == bin / 64) bits &= ~std::uint64_t{0} << (bin % 64);
    if (bits != 0) return word * 64 + static_cast<std::size_t>(std::countr_zero(bits));
  }
  return count;
}

std::size_t Bins::last_nonempty() const {
  for (std::size_t word = count / 64; word-- > 0;)
    if (nonempty_[word] != 0)
      return word * 64 + 63 - static_cast<std::size_t>(std::countl_zero(nonempty_[word]));
  return count;
}

void Bins::insert(Page* map, PageIndex extent) {
  const std::size_t bin = bin_of(map[extent].pages);
  const PageIndex head = heads_[bin];
  if (head == 0) {
    map[extent].next = map[extent].previous = extent;
    nonempty_[bin / 64] |= std::uint64_t{1} << (bin % 64);
  } else {
    const PageIndex tail = map[head].previous;
    map[extent].next = head;
    map[extent].previous = tail;
    map[head].previous = map[tail].next = extent;
  }
  heads_[bin] = extent;
}

void Bins::remove(Page* map, PageIndex extent) {
  const std::size_t bin = bin_of(map[extent].pages);
  const PageIndex next = map[extent].next;
  if (next == extent) {
    heads_[bin] = 0;
    nonempty_[bin / 64] &= ~(std::uint64_t{1} << (bin % 64));
    return;
  }
  const PageIndex previous = map[extent].previous;
  map[previous].next = next;
  map[next].previous = previous;
  if (heads_[bin] == extent) heads_[bin] = next;
}

PageIndex Bins::find(const Page* map, std::uint32_t pages) const {
  const std::size_t own = bin_of(pages);
  const std::size_t larger = next_nonempty(own + 1);
  if (heads_[own] != 0) {
    // Not all of the own bin is large enough. A long ring is searched to its end only when nothing
    // larger could serve instead.
    int patience = larger < count ? 32 : -1;
    PageIndex at = heads_[own];
    do {
      if (map[at].pages >= pages) return at;
      at = map[at].next;
    } while (at != heads_[own] && --patience != 0);
  }
  return larger < count ? heads_[larger] : 0;
}

PageIndex Bins::newest_of_largest() const {
  const std::size_t bin = last_nonempty();
  return bin < count ? heads_[bin] : 0;
}

PageIndex Bins::oldest_of_largest(const Page* map) const {
  const PageIndex newest = newest_of_largest();
  return newest != 0 ? map[newest].previous : 0;
}

}  // namespace tutti::commons
