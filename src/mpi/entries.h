// SPDX-License-Identifier: BSD-3-Clause
// What the exported MPI_X functions jump to. Handles travel as words: a register or stack slot
// holds any family's handle, and the family that was found takes as much of it as it uses.
#pragma once

#include <atomic>
#include <cstdint>

#include "engine/engine.h"
#include "fabric/upkeep.h"
#include "mpi/native.h"
#include "progress/progress.h"

namespace tutti::mpi {

using Word = std::uintptr_t;

struct Entries : Forms<Word, int, int>, Completing<Word>, Waiting<Word> {
  int (*init)(int*, char***);
  int (*init_thread)(int*, char***, int, int*);
  int (*finalize)();
  int (*session_init)(Word info, Word handler, void* session);
  int (*session_finalize)(void* session);
  int (*alloc_mem)(Aint, Word info, void*);
  int (*free_mem)(void*);
  int (*barrier)(Word comm);
  int (*ibarrier)(Word comm, void* request);
  int (*win_test)(Word window, int* flag);
  int (*comm_revoke)(Word comm);
  int (*comm_free)(void* comm);
  int (*comm_disconnect)(void* comm);
  int (*op_free)(void* op);
  int (*type_free)(void* type);
  Forms<Word, Count, Aint> large;
  Forms<Word, int, int, void*> started;
  Forms<Word, Count, Aint, void*> large_started;

  // A communicator is about to be made by all members of `parent` together.
  void (*making)(Word parent);
  // A communicator has been made, by all members of `parent` together; null_word: not so.
  void (*made)(Word parent, const void* comm);
  // Of no communicator, in any family. The second: it was made of a session.
  static constexpr Word null_word = 0, session_word = 1;
};

// Requests of Tutti's that are under way, or that the MPI has not freed: an error may be still to
// be told. Only while there are any are the entries for requests needed.
inline constinit std::atomic<std::uint32_t> g_requests_under_way{0};
[[nodiscard]] inline std::uint32_t requests_under_way() {
  return g_requests_under_way.load(std::memory_order_relaxed);
}

// Those of them that need messages between nodes, and are not over.
inline constinit std::atomic<std::uint32_t> g_messages_under_way{0};
// Those that sends, receives and probes bring forward, too: where no thread does, all of them.
[[nodiscard]] inline std::uint32_t driven_by_waits() {
  const std::uint32_t across = g_messages_under_way.load(std::memory_order_relaxed);
  if (across != 0 || requests_under_way() == 0) [[likely]]
    return across;
  return engine::driver().has_thread() ? 0 : engine::driver().outstanding();
}
// Whether any of these, or a collective after which nobody has looked for messages of the MPI's.
[[nodiscard]] inline bool probed_by_tutti() {
  return driven_by_waits() != 0 || fabric::Upkeep::is_behind();
}

// Those of the MPI in this process, found at the first call. Ends the process with one sentence
// when there is none.
inline constinit std::atomic<const Entries*> g_entries{nullptr};
[[nodiscard, gnu::cold]] const Entries& find_entries();
[[nodiscard]] inline const Entries& entries() {
  const Entries* found = g_entries.load(std::memory_order_acquire);
  return found != nullptr ? *found : find_entries();
}

}  // namespace tutti::mpi
