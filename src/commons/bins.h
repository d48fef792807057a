// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>

#include "commons/page.h"

namespace tutti::commons {

// Free extents of one state, in rings by size: four bins to each power of two.
class Bins {
 public:
  void insert(Page* map, PageIndex extent);
  void remove(Page* map, PageIndex extent);

  // An extent of at least `pages` that is nearly as small as possible; 0 when there is none.
  [[nodiscard]] PageIndex find(const Page* map, std::uint32_t pages) const;
  // Of the bin of the largest extents: the one freed last, and the one freed first. 0: none.
  [[nodiscard]] PageIndex newest_of_largest() const;
  [[nodiscard]] PageIndex oldest_of_largest(const Page* map) const;

  // The first of at most `patience` extents of at least `pages` for which `fits` is true; 0: none.
  template <class Fits>
  [[nodiscard]] PageIndex search(const Page* map, std::uint32_t pages, int patience,
                                 Fits fits) const {
    for (std::size_t bin = next_nonempty(bin_of(pages)); bin < count;
         bin = next_nonempty(bin + 1)) {
      PageIndex at = heads_[bin];
      do {
        if (patience-- == 0) return 0;
        if (map[at].pages >= pages && fits(at)) return at;
        at = map[at].next;
      } while (at != heads_[bin]);
    }
    return 0;
  }

  // Every extent, for is_valid().
  template <class Visit>
  void for_each(const Page* map, Visit visit) const {
    for (std::size_t bin = next_nonempty(0); bin < count; bin = next_nonempty(bin + 1)) {
      PageIndex at = heads_[bin];
      do {
        visit(at, bin == bin_of(map[at].pages));
        at = map[at].next;
      } while (at != heads_[bin]);
    }
  }

 private:
  static constexpr std::size_t count = 128;

  [[nodiscard]] static std::size_t bin_of(std::uint32_t pages);
  [[nodiscard]] std::size_t next_nonempty(std::size_t bin) const;  // `count` when there is none
  [[nodiscard]] std::size_t last_nonempty() const;

  PageIndex heads_[count] = {};
  std::uint64_t nonempty_[count / 64] = {};
};

}  // namespace tutti::commons
