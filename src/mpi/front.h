// SPDX-License-Identifier: BSD-3-Clause
// The front end for one kind of handle: decides call by call whether a team takes it, and otherwise
// hands it to the MPI exactly as it came.
//
// What decides must be the same on all ranks of the communicator: MPI's symmetric arguments and
// facts agreed when the team was made. Arguments that only some ranks can see to be wrong go to the
// MPI, which names the error in its own way.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>

#include "coll/exchange/header.h"
#include "engine/engine.h"
#include "mpi/datatypes.h"
#include "mpi/entries.h"
#include "mpi/layouts.h"
#include "mpi/ledger.h"
#include "mpi/narrow.h"
#include "mpi/native.h"
#include "mpi/side.h"

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
  static int win_test(Word window, int* flag);
  void start();
  void report();
  static void progress();

  // --- communicators (front_life.cc)
  [[nodiscard]] engine::Exchange exchange(H comm) const;
  [[nodiscard]] bool prepare();
  [[nodiscard]] Seat* seat_of(H comm);
  Seat* take_seat(H comm);
  [[nodiscard]] bool has_strangers(H comm, int size) const;
  static int on_copy(H, int, void*, void*, void*, int* flag);
  static int on_delete(H, int, void* value, void*);

  // The team that takes a collective on `comm`; nullptr: the MPI does, which has been noted.
  [[nodiscard]] engine::Team* team_for(Collective collective, H comm);
  engine::Team* leave(Collective collective, const char* why) {
    ledger_.left(collective, why);
    return nullptr;
  }

  // --- the collectives. What take_x returns is what MPI_X returns, or `left`: the MPI must do it.
  static constexpr int left = -1;
  // A trouble goes to the communicator's error handler; the default one ends the job.
  [[nodiscard]] int run(engine::Team& team, H comm, Collective collective, const coll::Work& work);
  // (front_calls.h)
  static constexpr int everyone = -1;  // as `root`, for Allreduce
  [[nodiscard]] bool plan(Collective collective, H type, H op, coll::Work& work);
  [[nodiscard]] int take_barrier(H comm);
  [[nodiscard]] int take_bcast(void* buffer, Count count, H type, int root, H comm);
  [[nodiscard]] int take_reduction(const void* send, void* recv, Count count, H type, H op,
                                   int root, H comm);
  // `counts`: of Reduce_scatter; nullptr: `count` for each.
  template <class N>
  [[nodiscard]] int take_reduce_scatter(const void* send, void* recv, const N* counts, N count,
                                        H type, H op, H comm);
  [[nodiscard]] int take_scan(Collective collective, const void* send, void* recv, Count count,
                              H type, H op, H comm);
  // (front_moves.h) `add_in` and `add_out` fill a side where its arguments are significant.
  bool add_evenly(Side<H>& side, const void* base, Count count, H type, int members);
  template <class N, class D>
  bool add_listed(Side<H>& side, const void* base, const N* counts, const D* displacements, H type,
                  int members);
  template <class N, class D>
  bool add_typed(Side<H>& side, const void* base, const N* counts, const D* displacements,
                 const H* types, int members);
  [[nodiscard]] int move(engine::Team& team, H comm, Collective collective, Side<H>& out,
                         Side<H>& in, int root, std::size_t bytes);
  [[nodiscard]] engine::Team* listing_team_for(Collective collective, H comm);
  template <class Add>
  [[nodiscard]] int take_gather(Collective collective, const void* send, Count send_count,
                                H send_type, const void* recv, int root, H comm, Add add_in);
  template <class Add>
  [[nodiscard]] int take_scatter(Collective collective, Add add_out, const void* send, void* recv,
                                 Count recv_count, H recv_type, int root, H comm);
  template <class Add>
  [[nodiscard]] int take_allgather(Collective collective, const void* send, Count send_count,
                                   H send_type, const void* recv, H comm, Add add_in);
  template <class AddOut, class AddIn>
  [[nodiscard]] int take_alltoall(Collective collective, AddOut add_out, AddIn add_in,
                                  const void* send, const void* recv, H comm);

  // The entries, in the order and with the types of Forms.
  static int barrier(Word comm);
  template <class N, class D>
  static int bcast(void*, N, Word type, int root, Word comm);
  template <class N, class D>
  static int reduce(const void*, void*, N, Word type, Word op, int root, Word comm);
  template <class N, class D>
  static int allreduce(const void*, void*, N, Word type, Word op, Word comm);
  template <class N, class D>
  static int gather(const void*, N, Word, void*, N, Word, int root, Word comm);
  template <class N, class D>
  static int gatherv(const void*, N, Word, void*, const N*, const D*, Word, int root, Word comm);
  template <class N, class D>
  static int scatter(const void*, N, Word, void*, N, Word, int root, Word comm);
  template <class N, class D>
  static int scatterv(const void*, const N*, const D*, Word, void*, N, Word, int root, Word comm);
  template <class N, class D>
  static int allgather(const void*, N, Word, void*, N, Word, Word comm);
  template <class N, class D>
  static int allgatherv(const void*, N, Word, void*, const N*, const D*, Word, Word comm);
  template <class N, class D>
  static int alltoall(const void*, N, Word, void*, N, Word, Word comm);
  template <class N, class D>
  static int alltoallv(const void*, const N*, const D*, Word, void*, const N*, const D*, Word,
                       Word comm);
  template <class N, class D>
  static int alltoallw(const void*, const N*, const D*, const Word*, void*, const N*, const D*,
                       const Word*, Word comm);
  template <class N, class D>
  static int reduce_scatter(const void*, void*, const N*, Word type, Word op, Word comm);
  template <class N, class D>
  static int reduce_scatter_block(const void*, void*, N, Word type, Word op, Word comm);
  template <class N, class D>
  static int scan(const void*, void*, N, Word type, Word op, Word comm);
  template <class N, class D>
  static int exscan(const void*, void*, N, Word type, Word op, Word comm);
  template <class N, class D>
  static constexpr Forms<Word, N, D> forms() {
    return {bcast<N, D>,          reduce<N, D>,
            allreduce<N, D>,      gather<N, D>,
            gatherv<N, D>,        scatter<N, D>,
            scatterv<N, D>,       allgather<N, D>,
            allgatherv<N, D>,     alltoall<N, D>,
            alltoallv<N, D>,      alltoallw<N, D>,
            reduce_scatter<N, D>, reduce_scatter_block<N, D>,
            scan<N, D>,           exscan<N, D>};
  }

  // --- datatypes, and calls that are left to the MPI (front_native.h)
  [[nodiscard]] bool describe(H type, Described<H>& element);
  // Whether this rank's arguments are the root's, of which the others' are not significant.
  [[nodiscard]] bool has_root_arguments(int root, H comm) const;
  template <class Small, class... Narrowed>
  int call_narrow(Small Forms<H, int, int>::*small, H comm, const Narrowed&... arguments) const;
  // The MPI's function in the caller's form, or in its small form where there is no other.
  template <class N, class D, class Function, class Small, class... Arguments>
  int call_native(Function Forms<H, N, D>::*function, Small Forms<H, int, int>::*small, H comm,
                  Arguments... arguments) const;

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
  Layouts<H> layouts_;
  H world_{}, null_comm_{}, byte_{};
  const void* in_place_ = nullptr;

  std::once_flag prepared_once_;
  bool prepared_ = false;
  bool ended_ = false;
  int keyval_ = 0;
  int world_rank_ = 0;
  std::atomic<std::uint64_t> deletions_{0};  // of seats: what was looked up before may be gone
  std::shared_ptr<engine::Node> home_;
  Ledger ledger_;
};

}  // namespace tutti::mpi
