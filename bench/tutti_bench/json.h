// SPDX-License-Identifier: BSD-3-Clause
// One JSON object on one line of standard output.
#pragma once

#include <string>

namespace tutti::bench {

class Json {
 public:
  explicit Json(const char* event) { add("event", event); }

  Json& add(const char* key, const std::string& value);
  // A number that is negative or not finite was not measured, and is written as null.
  Json& add(const char* key, double value);
  Json& add(const char* key, int value) { return add(key, static_cast<double>(value)); }

  void print() const;  // and flush: who reads shows progress
  [[nodiscard]] std::string text() const { return "{" + body_ + "}"; }

 private:
  void key(const char* name);
  std::string body_;
};

}  // namespace tutti::bench
