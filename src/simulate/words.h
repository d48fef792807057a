// SPDX-License-Identifier: BSD-3-Clause
// Reads the name=value words that the `tutti` command sends.
#pragma once

#include <charconv>
#include <string_view>
#include <vector>

#include "base/words.h"

namespace tutti::simulate {

// At least 0, and nothing behind it.
template <class Number>
bool read(std::string_view text, Number& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() && number >= Number{0};
}

inline bool read(std::string_view text, bool& truth) {
  truth = text == "1";
  return truth || text == "0";
}

// Numbers that commas separate.
template <class Number>
bool read_list(std::string_view text, std::vector<Number>& numbers) {
  numbers.clear();
  return every_word(text, ",", [&](std::string_view word) {
    Number number{};
    if (!read(word, number)) return false;
    numbers.push_back(number);
    return true;
  });
}

template <class Rows, class Use>
bool choose(const Rows& rows, std::string_view name, Use use) {
  for (const auto& row : rows)
    if (row.name == name) {
      use(row);
      return true;
    }
  return false;
}

// Takes name=value words to set(name, value). "" or the one that it does not know.
template <class Set>
std::string_view read_words(int count, char** words, Set set) {
  for (int i = 0; i < count; ++i) {
    const std::string_view word = words[i];
    const std::size_t equals = word.find('=');
    if (equals == std::string_view::npos || !set(word.substr(0, equals), word.substr(equals + 1)))
      return word;
  }
  return "";
}

}  // namespace tutti::simulate
