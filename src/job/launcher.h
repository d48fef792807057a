// SPDX-License-Identifier: BSD-3-Clause
// What the job's launcher passes on between its ranks: each may put a value, and read what others
// have put before the MPI began. A rank reads without the help of any other rank, and nothing of it
// goes through the MPI.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace tutti::job {

class Launcher {
 public:
  Launcher() = default;
  virtual ~Launcher() = default;
  Launcher(const Launcher&) = delete;
  Launcher& operator=(const Launcher&) = delete;

  // Of this process, and the variable that its launcher told it by.
  [[nodiscard]] virtual int rank() const = 0;
  [[nodiscard]] virtual const char* rank_variable() const = 0;

  // It waits for what it has not heard of, so that a no may be an answer that comes late.
  [[nodiscard]] virtual bool may_be_late() const { return false; }
  // Whether other threads may be in the MPI meanwhile.
  [[nodiscard]] virtual bool bears_threads() const = 0;

  [[nodiscard]] virtual bool put(const std::string& value) = 0;
  // What each of these ranks has put, "" for nothing. A launcher that would wait for it waits
  // `patience_s` in all. False: the launcher does not answer.
  [[nodiscard]] virtual bool get(std::span<const int> ranks, int patience_s,
                                 std::vector<std::string>& values) = 0;
  // The host of a rank, or its number, "" if it is not known; `hosts` has those of the ranks that
  // are.
  [[nodiscard]] virtual std::string host_of(int rank, std::span<const std::string> hosts) = 0;
};

// PMI-1 on the socket that Hydra (MPICH, Intel MPI) has left in PMI_FD. nullptr: there is none, or
// the MPI will speak another language there.
[[nodiscard]] std::unique_ptr<Launcher> find_pmi();

// The node of a rank from what Hydra calls PMI_process_mapping: "(vector,(0,2,4))" are 4 ranks on
// each of 2 nodes from node 0 on, and so on. -1 when it cannot be read.
[[nodiscard]] int node_of(const std::string& mapping, int rank);

// PMIx, in a process whose MPI has begun to use it: its PMIx_Init has filled in `process`, and
// `library` is what dlsym finds its functions in. nullptr: not all of them.
[[nodiscard]] std::unique_ptr<Launcher> make_pmix(void* library, const void* process);

}  // namespace tutti::job
