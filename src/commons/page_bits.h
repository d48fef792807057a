// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdint>

namespace tutti::commons {

// A bit for each page of the range. Plain data, in memory that begins as zeros. Several threads may
// change bits at once. The bits order nothing: a thread that must see a change learns of it in
// another way.
class PageBits {
 public:
  static constexpr std::uint64_t word_pages = 64;

  void start(std::atomic<std::uint64_t>* words) { words_ = words; }

  // Of [first, end), which may be empty.
  [[nodiscard]] bool all(std::uint64_t first, std::uint64_t end) const {
    return next(first, end, false) == end;
  }
  [[nodiscard]] bool any(std::uint64_t first, std::uint64_t end) const {
    return next(first, end, true) != end;
  }
  void set(std::uint64_t first, std::uint64_t end) {
    for (std::uint64_t at = first; at < end; at = word_end(at))
      words_[at / word_pages].fetch_or(bits(at, end), std::memory_order_relaxed);
  }
  void clear(std::uint64_t first, std::uint64_t end) {
    for (std::uint64_t at = first; at < end; at = word_end(at)) {
      std::atomic<std::uint64_t>& word = words_[at / word_pages];
      // What nobody has written to is not made resident.
      if (word.load(std::memory_order_relaxed) != 0)
        word.fetch_and(~bits(at, end), std::memory_order_relaxed);
    }
  }
  // The first page of [at, end) whose bit is `value`; `end` where there is none.
  [[nodiscard]] std::uint64_t next(std::uint64_t at, std::uint64_t end, bool value) const {
    for (; at < end; at = word_end(at)) {
      const std::uint64_t word = words_[at / word_pages].load(std::memory_order_relaxed);
      const std::uint64_t found = (value ? word : ~word) & bits(at, end);
      if (found != 0) return at / word_pages * word_pages + std::countr_zero(found);
    }
    return end;
  }
  // visit(first, end) for the longest runs of [first, end) whose bits are `value`, until it is
  // false. It may change the bits of what it sees.
  template <class Visit>
  bool for_each_run(std::uint64_t first, std::uint64_t end, bool value, Visit visit) const {
    for (std::uint64_t at = next(first, end, value); at < end;) {
      const std::uint64_t behind = next(at, end, !value);
      if (!visit(at, behind)) return false;
      at = next(behind, end, value);
    }
    return true;
  }

 private:
  [[nodiscard]] static std::uint64_t word_end(std::uint64_t at) {
    return (at / word_pages + 1) * word_pages;
  }
  // Of [at, end), those that are in the word of `at`.
  [[nodiscard]] static std::uint64_t bits(std::uint64_t at, std::uint64_t end) {
    const std::uint64_t low = at % word_pages;
    const std::uint64_t count = std::min(end, word_end(at)) - at;
    return (~std::uint64_t{0} >> (word_pages - count)) << low;
  }

  std::atomic<std::uint64_t>* words_ = nullptr;
};

}  // namespace tutti::commons
