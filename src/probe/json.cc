// SPDX-License-Identifier: BSD-3-Clause
#include "probe/json.h"

#include <cstdio>

namespace tutti::probe {

void Json::separate() {
  if (!first_) text_ += ", ";
  first_ = false;
}

Json& Json::raw(std::string_view text) {
  separate();
  text_ += text;
  return *this;
}

Json& Json::open(char bracket) {
  separate();
  text_ += bracket;
  first_ = true;
  return *this;
}

Json& Json::close(char bracket) {
  text_ += bracket;
  first_ = false;
  return *this;
}

Json& Json::key(std::string_view name) {
  separate();
  quote(name);
  text_ += ": ";
  first_ = true;
  return *this;
}

Json& Json::value(std::string_view text) {
  separate();
  quote(text);
  return *this;
}

Json& Json::value(double number) {
  char digits[32];
  std::snprintf(digits, sizeof digits, "%.6g", number);
  return raw(digits);
}

void Json::quote(std::string_view text) {
  text_ += '"';
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      text_ += '\\';
      text_ += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      char code[8];
      std::snprintf(code, sizeof code, "\\u%04x", static_cast<unsigned>(c));
      text_ += code;
    } else {
      text_ += c;
    }
  }
  text_ += '"';
}

}  // namespace tutti::probe
