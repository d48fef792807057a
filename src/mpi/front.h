// SPDX-License-Identifier: BSD-3-Clause
// The front end for one kind of handle: decides call by call whether a team takes it, and otherwise
// hands it to the MPI exactly as it came.
//
// What decides must be the same on all ranks of the communicator: MPI's symmetric arguments and
// facts agreed when the team was made. Arguments that only some ranks can see to be wrong go to the
// MPI, which names the error in its own way.
#pragma once

#include <atomic>
#include <climits>
#include <memory>
#include <mutex>

#include "engine/engine.h"
#include "mpi/datatypes.h"
#include "mpi/entries.h"
#include "mpi/ledger.h"
#include "mpi/native.h"

namespace tutti::mpi {

template <class H>
class Front {
 public:
  // The front for the MPI that was found; to be called once, before anything else.
  static const Entries& open(const Library& library);

 private:
  using Collective = coll::Collective;

  // What a communicator's attribute points to.
  struct Seat {
    std::unique_ptr<engine::Team> team;
    const char* why = "";  // there is no team
  };

  // The seat that a thread looked up last.
  struct Recent {
    H comm{};
    Seat* seat = nullptr;
    std::uint64_t deletions = 0;
  };

  // --- the run's life (front_life.cc)
  static int init(int* argc, char*** argv);
  static int init_thread(int* argc, char*** argv, int required, int* provided);
  static int finalize();
  static int alloc_mem(Aint bytes, Word info, void* base);
  static int free_mem(void* base);
  void start();
  void report();
  [[noreturn]] static void end_job();

  // --- communicators (front_life.cc)
  [[nodiscard]] engine::Exchange exchange(H comm) const;
  [[nodiscard]] bool prepare();
  [[nodiscard]] Seat* seat_of(H comm);
  Seat* take_seat(H comm);
  static int on_copy(H, int, void*, void*, void*, int* flag);
  static int on_delete(H, int, void* value, void*);

  // The team that takes a collective on `comm`; nullptr: the MPI does, which has been noted.
  [[nodiscard]] engine::Team* team_for(Collective collective, H comm);
  engine::Team* leave(Collective collective, const char* why) {
    ledger_.left(collective, why);
    return nullptr;
  }

  // --- the collectives (front_calls.cc); false: the MPI must do it
  [[nodiscard]] bool take_barrier(H comm);
  [[nodiscard]] bool take_bcast(void* buffer, Count count, H type, int root, H comm);
  [[nodiscard]] bool take_packed_bcast(engine::Team& team, void* buffer, Count count, H type,
                                       int root, H comm);
  // `root` is `everyone` for Allreduce.
  static constexpr int everyone = -1;
  [[nodiscard]] bool take_reduction(const void* send, void* recv, Count count, H type, H op,
                                    int root, H comm);

  static int barrier(Word comm);
  static int bcast(void* buffer, int count, Word type, int root, Word comm);
  static int bcast_c(void* buffer, Count count, Word type, int root, Word comm);
  static int reduce(const void* send, void* recv, int count, Word type, Word op, int root,
                    Word comm);
  static int reduce_c(const void* send, void* recv, Count count, Word type, Word op, int root,
                      Word comm);
  static int allreduce(const void* send, void* recv, int count, Word type, Word op, Word comm);
  static int allreduce_c(const void* send, void* recv, Count count, Word type, Word op, Word comm);

  // For an MPI without the `_c` forms: calls body(offset in bytes, count) for pieces that fit int.
  template <class Body>
  int in_pieces(Count count, H type, Body body);

  // Conversions between a word, a handle and a key of a HandleMap.
  static H handle(Word word) {
    if constexpr (sizeof(H) == sizeof(int))
      return static_cast<H>(word);
    else
      return reinterpret_cast<H>(word);
  }
  static std::uint64_t key(H handle) {
    if constexpr (sizeof(H) == sizeof(int))
      return static_cast<std::uint32_t>(handle);
    else
      return reinterpret_cast<std::uint64_t>(handle);
  }

  [[nodiscard]] const void* in_place() const { return in_place_; }

  static inline Front* self_ = nullptr;

  Native<H> native_{};
  Library library_;
  HandleMap<DatatypeRow> types_;
  HandleMap<OpRow> ops_;
  H world_{}, null_comm_{}, byte_{};
  const void* in_place_ = nullptr;

  std::once_flag prepared_once_;
  bool prepared_ = false;
  bool ended_ = false;
  int keyval_ = 0;
  std::atomic<std::uint64_t> deletions_{0};  // of seats: what was looked up before may be gone
  std::shared_ptr<engine::Node> home_;
  Ledger ledger_;
};

}  // namespace tutti::mpi
