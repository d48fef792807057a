// SPDX-License-Identifier: BSD-3-Clause
// A page of memory that all ranks share, and what the measuring needs of it: a barrier that is
// neither the MPI's nor Tutti's, a common instant to start at, and the slowest rank's time.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/bits.h"
#include "tutti_bench/mpi.h"

namespace tutti::bench {

[[nodiscard]] std::int64_t now_ns();  // of a clock that all processes of the machine share

class Page {
 public:
  // Collective. False: `why` says why the ranks cannot share memory (they are on several nodes).
  [[nodiscard]] bool open(const Mpi& mpi, std::string& why);

  // Every rank has called it before any leaves.
  void barrier();

  // A barrier whose ranks then leave together: the instant, the same on all ranks, that they left
  // at. Where each rank has a core it lies a little in the future and all spin for it.
  [[nodiscard]] std::int64_t start_together();

  // Of what all ranks gave. Collective.
  [[nodiscard]] std::int64_t max(std::int64_t mine);
  // What rank 0 gave. Collective.
  [[nodiscard]] std::int64_t from_root(std::int64_t mine);

  // The least that a barrier of ranks can do: say one has come, in a line of one's own, and see
  // that all the others have.
  void exchange_flags();

  [[nodiscard]] bool oversubscribed() const { return oversubscribed_; }
  [[nodiscard]] int cores() const { return cores_; }

 private:
  static constexpr std::int64_t lead_ns = 2000;  // release to start: several line transfers

  struct alignas(line_bytes) RankLine {
    std::atomic<std::uint64_t> arrived;
    std::int64_t value[2];  // by parity of the barrier, so that a slow reader still finds its own
    std::uint64_t cores[16];
  };
  struct alignas(line_bytes) Flag {
    std::atomic<std::uint64_t> sequence;
  };
  struct alignas(line_bytes) Release {
    std::atomic<std::uint64_t> sequence;
    std::int64_t start_ns;
  };

  template <class Ready>
  void wait(Ready ready) const;
  void count_cores();

  Release* release_ = nullptr;
  RankLine* lines_ = nullptr;
  Flag* flags_ = nullptr;
  std::uint64_t sequence_ = 0;
  std::uint64_t flag_sequence_ = 0;
  int rank_ = 0;
  int ranks_ = 1;
  int cores_ = 1;
  bool oversubscribed_ = true;  // until the cores are counted: yielding is always safe
};

}  // namespace tutti::bench
