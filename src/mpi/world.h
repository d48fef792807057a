// SPDX-License-Identifier: BSD-3-Clause
// Whether there is an MPI_COMM_WORLD now, and which sessions are open: Tutti is there while there
// is either. Any thread may ask. With or without the world beside them, communicators of sessions
// get teams as any.
#pragma once

#include <atomic>
#include <mutex>
#include <thread>
#include <vector>

#include "mpi/native.h"

namespace tutti::mpi {

// Which ranks of another group those of a communicator are; negative: none; empty: the MPI does not
// say.
template <class H>
[[nodiscard]] std::vector<int> ranks_in(const Native<H>& native, H group, H comm, int size);

template <class H>
class World {
 public:
  explicit World(const Native<H>& native) : native_(native) {}

  // Whether MPI_COMM_WORLD may be used now, be it that MPI_Init and MPI_Finalize were not seen.
  [[nodiscard]] bool look_for_world();
  void begin_world() { world_begins_ = true; }  // MPI_Init does, perhaps in another thread
  void enter_world();
  void leave_world();
  [[nodiscard]] bool has_world() const { return has_world_; }
  [[nodiscard]] bool is_over() const { return world_over_; }
  [[nodiscard]] int rank() const { return world_rank_; }
  // By ranks of another MPI_COMM_WORLD, be it that they have disconnected since.
  [[nodiscard]] bool was_spawned() const { return spawned_; }
  // The MPI's MPI_Finalize.
  int finalize();
  // A callback that MPI_Finalize calls; what it calls is the MPI's.
  [[nodiscard]] bool in_finalize() const {
    const std::thread::id finalizer = finalizer_.load(std::memory_order_relaxed);
    return finalizer != std::thread::id{} && finalizer == std::this_thread::get_id();
  }

  // The MPI's MPI_Session_init; one after the other.
  int begin_session(H info, H handler, void* session);
  // Whether it was the last one.
  [[nodiscard]] bool end_session(H session);
  [[nodiscard]] bool has_sessions() const { return has_sessions_; }

  // Held while sessions come and go, and while Tutti is made ready for the first thing of all or
  // ends with the last.
  [[nodiscard]] std::mutex& living() { return living_; }

  // Of this process, among those that were started together with it; -1: nobody knows.
  [[nodiscard]] int own_rank();
  // The processes that were started together with this one.
  [[nodiscard]] bool find_world_group(H* group);
  // Of the members, negative for those of another MPI_COMM_WORLD; empty when that cannot be known.
  [[nodiscard]] std::vector<int> world_ranks(H comm, int size);
  // The world, if it outlives whatever is started now; a session's collectives may outlive it.
  [[nodiscard]] H packs_on() const {
    return has_world_ && !has_sessions_ ? native_.world : native_.null_comm;
  }

 private:
  const Native<H>& native_;
  std::mutex living_;
  std::vector<H> sessions_;  // that are open; under living_
  std::atomic<bool> has_sessions_{false};
  std::atomic<bool> has_world_{false};
  std::atomic<bool> world_over_{false};
  std::atomic<bool> world_begins_{false};
  std::atomic<bool> session_initializes_{false};  // so MPI_Initialized tells nothing of the world
  std::atomic<std::thread::id> finalizer_{};      // who is in the MPI's own MPI_Finalize
  int world_rank_ = 0;
  bool spawned_ = false;
};

}  // namespace tutti::mpi
