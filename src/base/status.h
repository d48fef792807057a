// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

namespace tutti {

// The outcome of anything that can fail. No exception crosses a layer.
enum class Code : std::uint8_t {
  ok,
  unsupported,  // a normal answer: the next way, and at last the user's MPI, takes the call
  system,       // the kernel refused; `error` holds its errno
  mismatch,     // ranks did not call the same thing
  peer_lost,    // a process this rank needs has ended
};

// `what` is a literal (or otherwise outlives the Status): one clause that says what failed.
struct [[nodiscard]] Status {
  Code code = Code::ok;
  int error = 0;
  const char* what = "";

  [[nodiscard]] bool ok() const { return code == Code::ok; }
  static Status unsupported(const char* why) { return {Code::unsupported, 0, why}; }
  static Status system(int error, const char* what) { return {Code::system, error, what}; }
};

}  // namespace tutti
