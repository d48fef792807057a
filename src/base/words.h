// SPDX-License-Identifier: BSD-3-Clause
// Lists of words in one text. Nothing is allocated: the commons reads one before malloc() works.
#pragma once

#include <string_view>

namespace tutti {

// Calls take(word) for each word of a list, until it returns false. False then.
template <class Take>
constexpr bool every_word(std::string_view list, std::string_view separator, Take take) {
  for (;;) {
    const std::size_t end = list.find(separator);
    if (!take(list.substr(0, end))) return false;
    if (end == std::string_view::npos) return true;
    list.remove_prefix(end + separator.size());
  }
}

constexpr bool has_word(std::string_view list, std::string_view word,
                        std::string_view separator = ",") {
  return !every_word(list, separator, [word](std::string_view each) { return each != word; });
}

}  // namespace tutti
