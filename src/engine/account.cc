// SPDX-License-Identifier: BSD-3-Clause
#include "engine/account.h"

#include <cctype>
#include <cstdio>

namespace tutti::engine {

Account& Account::operator+=(const Account& other) {
  for (std::size_t i = 0; i < calls.size(); ++i) calls[i] += other.calls[i];
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] += other.bytes[i];
  for (std::size_t i = 0; i < route_bytes.size(); ++i) route_bytes[i] += other.route_bytes[i];
  for (std::size_t i = 0; i < sent.size(); ++i) add(i, other.sent[i], other.without_leaders[i]);
  return *this;
}

std::array<char, 32> name_of_kind(std::size_t kind) {
  std::array<char, 32> name{};
  const bool blocking = kind < collective_count;
  const auto collective = static_cast<Collective>(blocking ? kind : kind - collective_count);
  std::snprintf(name.data(), name.size(), "%s%s", blocking ? "" : "I", name_of(collective));
  if (!blocking) name[1] = static_cast<char>(std::tolower(static_cast<unsigned char>(name[1])));
  return name;
}

}  // namespace tutti::engine
