// SPDX-License-Identifier: BSD-3-Clause
#include "tutti_bench/json.h"

#include <cmath>
#include <cstdio>

namespace tutti::bench {

void Json::key(const char* name) {
  if (!body_.empty()) body_ += ", ";
  body_ += '"';
  body_ += name;
  body_ += "\": ";
}

Json& Json::add(const char* name, const std::string& value) {
  key(name);
  body_ += '"';
  for (const char c : value) {
    if (c == '"' || c == '\\') body_ += '\\';
    if (static_cast<unsigned char>(c) < 0x20)
      body_ += ' ';
    else
      body_ += c;
  }
  body_ += '"';
  return *this;
}

Json& Json::add(const char* name, double value) {
  key(name);
  char text[32] = "null";
  if (std::isfinite(value) && value >= 0) std::snprintf(text, sizeof text, "%.10g", value);
  body_ += text;
  return *this;
}

void Json::print() const {
  std::printf("%s\n", text().c_str());
  std::fflush(stdout);
}

}  // namespace tutti::bench
