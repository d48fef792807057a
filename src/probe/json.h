// SPDX-License-Identifier: BSD-3-Clause
// Writes one JSON document, value by value; commas are its own business.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tutti::probe {

class Json {
 public:
  Json& object() { return open('{'); }
  Json& array() { return open('['); }
  Json& end_object() { return close('}'); }
  Json& end_array() { return close(']'); }

  Json& key(std::string_view name);

  Json& value(std::string_view text);
  Json& value(const char* text) { return value(std::string_view(text)); }
  Json& value(bool truth) { return raw(truth ? "true" : "false"); }
  Json& value(std::int64_t number) { return raw(std::to_string(number)); }
  Json& value(std::uint64_t number) { return raw(std::to_string(number)); }
  Json& value(int number) { return raw(std::to_string(number)); }
  Json& value(unsigned number) { return raw(std::to_string(number)); }
  Json& value(double number);
  Json& null() { return raw("null"); }
  Json& raw(std::string_view text);  // a value that is JSON already

  template <class T>
  Json& add(std::string_view name, const T& what) {
    return key(name).value(what);
  }

  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  Json& open(char bracket);
  Json& close(char bracket);
  void quote(std::string_view text);
  void separate();

  std::string text_;
  bool first_ = true;  // nothing precedes the next value inside its brackets
};

}  // namespace tutti::probe
