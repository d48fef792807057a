// SPDX-License-Identifier: BSD-3-Clause
// Memory that a collective needs for itself. What only a large one needs goes back after it.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <memory>

namespace tutti::fabric {

class Scratch {
 public:
  // It moves with its contents when more is asked for. It ends the process where there is none.
  [[nodiscard]] std::byte* of(std::size_t bytes) {
    if (bytes > bytes_) [[unlikely]]
      grow(bytes);
    return memory_.get();
  }
  // Between two collectives.
  void tidy() {
    if (bytes_ > kept_bytes) [[unlikely]]
      free();
  }
  // Somebody may go on to use it.
  void abandon() {
    (void)memory_.release();
    bytes_ = 0;
  }

 private:
  static constexpr std::size_t kept_bytes = std::size_t{256} << 10;
  void grow(std::size_t bytes);
  void free();

  struct Free {
    void operator()(std::byte* p) const { std::free(p); }
  };
  std::unique_ptr<std::byte, Free> memory_;
  std::size_t bytes_ = 0;
};

}  // namespace tutti::fabric
