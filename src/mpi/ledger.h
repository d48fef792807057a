// SPDX-License-Identifier: BSD-3-Clause
// What became of the calls of this process: which were left to the MPI and why (what was taken is
// in engine::Account). At the end of the run, rank 0 writes both where TUTTI_REPORT says.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "engine/account.h"

namespace tutti::mpi {

class Ledger {
 public:
  // `why` is a literal, or lives as long as the process.
  void left(std::size_t kind, const char* why);  // see engine::kind_of
  // Without a team: it had nobody to talk to, or nothing to say.
  void answered(std::size_t kind) { answered_[kind].fetch_add(1, std::memory_order_relaxed); }

  struct Run {
    const char* mpi;  // the first line of MPI_Get_library_version
    const char* family;
    int ranks;
    int nodes;
    const char* const* notes;
    int note_count;
  };
  // `all` is the sum of all ranks' accounts, `mine` this rank's. False when the file cannot be
  // written.
  [[nodiscard]] bool write(const char* path, const Run& run, const engine::Account& mine,
                           const engine::Account& all) const;

 private:
  struct Reason {
    std::atomic<const char*> why{nullptr};
    std::array<std::atomic<std::uint64_t>, engine::kinds> calls{};
  };
  std::array<std::atomic<std::uint64_t>, engine::kinds> answered_{};
  std::array<Reason, 32> reasons_;  // more than there are in the code
};

}  // namespace tutti::mpi
