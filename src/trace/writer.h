// SPDX-License-Identifier: BSD-3-Clause
// The file of docs/trace.md, written piece by piece: what all ranks have recorded may be more than
// one of them has memory for.
#pragma once

#include <array>
#include <cstdint>
#include <cstdio>
#include <set>
#include <span>
#include <string>

#include "os/draft.h"
#include "trace/ring.h"

namespace tutti::trace {

class Writer {
 public:
  using NameOf = std::array<char, 32> (*)(std::size_t collective);

  // The file appears under its name when everything is in it. "": there is none. `nodes`: of the
  // job.
  Writer(const char* path, int nodes, NameOf name_of);
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  // Who recorded, and what is to be added to its times.
  struct Source {
    int rank = 0;
    int node = 0;
    std::int64_t shift_ns = 0;
  };
  // All spans come before all messages.
  void add_spans(const Source& source, std::span<const Entry> spans);
  void add_messages(const Source& source, std::span<const Entry> messages);
  // False when something could not be written.
  [[nodiscard]] bool finish(std::uint64_t dropped);

 private:
  int number_of(const Source& source, std::uint16_t core);
  void write_what(const Entry& entry);

  int nodes_;
  NameOf name_of_;
  os::Draft draft_;
  std::FILE* file_;  // of the draft
  std::set<int> cores_;
  bool in_messages_ = false;
  const char* comma_ = "";
};

}  // namespace tutti::trace
