// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdio>
#include <string>

namespace tutti::os {

// A file that appears under its name when everything is in it. Others may write one of the same
// name at the same time: the last one that is finished stays. What the name stands for already is
// written as it is, if it is no file of its own but a device or a link, or if its folder takes no
// other file.
class Draft {
 public:
  explicit Draft(std::string path);
  ~Draft();
  Draft(const Draft&) = delete;
  Draft& operator=(const Draft&) = delete;

  // nullptr: it cannot be made, or is finished.
  [[nodiscard]] std::FILE* file() const { return file_; }
  // False: something could not be written, and there is no file.
  [[nodiscard]] bool finish();

 private:
  std::string path_, draft_;
  std::FILE* file_ = nullptr;
};

}  // namespace tutti::os
