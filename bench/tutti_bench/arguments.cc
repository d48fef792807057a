// SPDX-License-Identifier: BSD-3-Clause
#include "tutti_bench/arguments.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <string>

#include "tutti_bench/collectives.h"

namespace tutti::bench {
namespace {

// "a, b or c", for a sentence.
template <class Rows>
std::string names(const Rows& rows) {
  std::string text;
  for (const auto& row : rows) {
    if (!text.empty()) text += ", ";
    text += row.name;
  }
  return text;
}

template <class Rows, class Row>
bool pick(const Rows& rows, const std::string& value, const Row*& result) {
  for (const auto& row : rows)
    if (value == row.name) {
      result = &row;
      return true;
    }
  return false;
}

bool number(const std::string& text, std::int64_t least, std::int64_t& result) {
  char* end = nullptr;
  const long long value = std::strtoll(text.c_str(), &end, 10);
  if (text.empty() || *end != '\0' || value < least) return false;
  result = value;
  return true;
}

bool parse_numbers(const std::string& text, std::vector<std::uint64_t>& numbers) {
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t comma = std::min(text.find(',', at), text.size());
    std::int64_t value = 0;
    if (!number(text.substr(at, comma - at), 1, value)) return false;
    numbers.push_back(static_cast<std::uint64_t>(value));
    at = comma + 1;
  }
  return true;
}

bool parse_collectives(const std::string& text, std::vector<const Collective*>& chosen) {
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t comma = std::min(text.find(',', at), text.size());
    const Collective* row = nullptr;
    if (!pick(collectives(), text.substr(at, comma - at), row)) return false;
    chosen.push_back(row);
    at = comma + 1;
  }
  return true;
}

bool take(const std::string& option, const std::string& value, Arguments& a, std::string& why) {
  std::int64_t root = 0;
  std::string may_be;
  if (option == "--collective") {
    if (parse_collectives(value, a.collectives)) return true;
    may_be = "one of " + names(collectives());
  } else if (option == "--sizes") {
    if (parse_numbers(value, a.sizes)) return true;
    may_be = "a list of positive numbers of bytes, such as 8,1024";
  } else if (option == "--measure") {
    a.what = value == "overlap" ? What::overlap : What::blocking;
    if (value == "overlap" || value == "blocking") return true;
    may_be = "blocking or overlap";
  } else if (option == "--libraries") {
    a.with_base = value != "tutti";
    if (value == "tutti" || value == "both") return true;
    may_be = "both or tutti";
  } else if (option == "--work") {
    if (parse_numbers(value, a.work)) return true;
    may_be = "a list of positive numbers of steps, one for each size";
  } else if (option == "--dtype") {
    if (pick(types, value, a.type)) return true;
    may_be = "one of " + names(types);
  } else if (option == "--op") {
    if (pick(ops, value, a.op)) return true;
    may_be = "one of " + names(ops);
  } else if (option == "--memory") {
    a.memory = value == "static" ? Memory::statics
               : value == "mmap" ? Memory::mapped
                                 : Memory::heap;
    if (value == "static" || value == "mmap" || value == "heap") return true;
    may_be = "heap, static or mmap";
  } else if (option == "--cache") {
    a.cache = value == "hot" ? Cache::hot : Cache::cold;
    if (value == "hot" || value == "cold") return true;
    may_be = "cold or hot";
  } else if (option == "--root") {
    if (number(value, 0, root) && root <= std::numeric_limits<int>::max()) {
      a.root = static_cast<int>(root);
      return true;
    }
    may_be = "a rank";
  } else if (option == "--min-time-ms") {
    if (number(value, 1, a.min_time_ms)) return true;
    may_be = "a positive number of milliseconds";
  } else if (option == "--max-time-ms") {
    if (number(value, 1, a.max_time_ms)) return true;
    may_be = "a positive number of milliseconds";
  } else if (option == "--iterations") {
    if (number(value, 1, a.iterations)) return true;
    may_be = "a positive number";
  } else {
    why = option + " is not an option; usage: " + usage;
    return false;
  }
  why = option + " must be " + may_be + ", not '" + value + "'";
  return false;
}

bool check_sizes(const Arguments& a, std::string& why) {
  const bool needed = std::any_of(a.collectives.begin(), a.collectives.end(),
                                  [](const Collective* c) { return c->has_data; });
  if (needed && a.sizes.empty()) {
    why = std::string("--sizes is missing; usage: ") + usage;
    return false;
  }
  const std::size_t element = reduce::size_of(a.type->row().type);
  for (const std::uint64_t bytes : a.sizes) {
    if (!needed) break;
    if (bytes % element != 0) {
      why = std::to_string(bytes) + " bytes are no whole number of " + a.type->name +
            " elements of " + std::to_string(element) + " bytes";
      return false;
    }
    if (bytes / element > static_cast<std::uint64_t>(std::numeric_limits<int>::max())) {
      why = std::to_string(bytes) + " bytes are more " + a.type->name +
            " elements than an int counts";
      return false;
    }
  }
  return true;
}

bool check_reductions(const Arguments& a, std::string& why) {
  for (const Collective* collective : a.collectives)
    if (collective->reduces && reduce::find(a.op->row().op, a.type->row().type) == nullptr) {
      why = std::string("MPI has no ") + a.op->name + " of " + a.type->name;
      return false;
    }
  return true;
}

// Work belongs to points, which only the sizes of a single collective number.
bool check_overlap(const Arguments& a, std::string& why) {
  if (!a.with_base && a.what != What::overlap) {
    why = "--libraries tutti needs --measure overlap";
    return false;
  }
  if (a.work.empty()) return true;
  const std::size_t points = a.collectives[0]->has_data ? a.sizes.size() : 1;
  if (a.what == What::overlap && a.collectives.size() == 1 && a.work.size() == points) return true;
  why = "--work needs --measure overlap, one collective and a number for each of its sizes";
  return false;
}

}  // namespace

bool parse(int count, char** words, Arguments& a, std::string& why) {
  for (int i = 1; i < count; i += 2) {
    if (i + 1 == count) {
      why = std::string(words[i]) + " needs a value; usage: " + usage;
      return false;
    }
    if (!take(words[i], words[i + 1], a, why)) return false;
  }
  if (a.collectives.empty()) {
    why = std::string("--collective is missing; usage: ") + usage;
    return false;
  }
  return check_sizes(a, why) && check_reductions(a, why) && check_overlap(a, why);
}

}  // namespace tutti::bench
