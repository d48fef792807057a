// SPDX-License-Identifier: BSD-3-Clause
// The front end for one kind of handle: decides call by call whether a team takes it, and otherwise
// hands it to the MPI exactly as it came. It holds the rooms, each of which says what it holds and
// promises, and has what all collectives go through.
//
// What decides must be the same on all ranks of the communicator: MPI's symmetric arguments and
// facts agreed when the team was made. Arguments that only some ranks can see to be wrong go to the
// MPI, which names the error in its own way. Words: docs/glossary.md.
#pragma once

#include <utility>

#include "choice/contest.h"
#include "choice/limits.h"
#include "engine/engine.h"
#include "mpi/allocations.h"
#include "mpi/answers.h"
#include "mpi/arguments.h"
#include "mpi/blocking.h"
#include "mpi/communicators.h"
#include "mpi/datatypes.h"
#include "mpi/entries.h"
#include "mpi/left_calls.h"
#include "mpi/life.h"
#include "mpi/operations.h"
#include "mpi/requests.h"

namespace tutti::mpi {

// For lambdas that name a part of the function around them: a call would cost a small collective
// more than what they do.
#define TUTTI_INLINE __attribute__((always_inline))

template <class H>
class Front {
 public:
  // The front for the MPI that was found; to be called once, before anything else.
  static const Entries& open(const Library& library);
  // It lives as long as the process: it may be called after static destructors.
  [[nodiscard]] static Front& self() { return *self_; }

  static constexpr const char* on_a_device = "buffer in device memory";

  // For an entry. `prepare(front, call)` fills in the call; false: the MPI must do it. Then runs it
  // and returns what MPI_X returns, or `left`.
  template <class Prepare>
  [[nodiscard, gnu::always_inline]] static int enter(Collective collective, Word comm,
                                                     Prepare prepare) {
    Front& front = self();
    Call<H> call(front.native, handle_from<H>(comm), collective);
    if (!prepare(front, call)) return left;
    if (call.at_once) [[unlikely]]
      return front.answers.answer(call);
    if (call.team->spans_nodes()) [[unlikely]]
      return front.run_across(call);
    return front.run(call);
  }
  // The same for a nonblocking one.
  template <class Prepare>
  [[nodiscard]] static int enter(Collective collective, Word comm, Prepare prepare, void* request) {
    Front& front = self();
    const H own = handle_from<H>(comm);
    if (front.starts_none(collective, own)) return left;
    std::unique_ptr<Started<H>> started = front.requests.make(collective, own);
    Call<H>& call = started->call;
    if (!prepare(front, call)) return left;
    if (call.at_once) [[unlikely]]
      return front.requests.answer(std::move(started), request);
    if (call.team->spans_nodes() && !call.team->performs(call.collective, call.work)) [[unlikely]] {
      (void)front.leave(call, engine::several_nodes);
      return left;
    }
    return front.requests.begin(std::move(started), request);
  }

  // Finds the team that takes the call, or that it needs none. `bytes()`: of the vector that it
  // computes, as Operations::bytes_of. False: the MPI does, which has been noted.
  [[nodiscard, gnu::always_inline]] bool find_team(Call<H>& call) {
    return find_team(call, [] { return std::size_t{0}; });
  }
  template <class Bytes>
  [[nodiscard, gnu::always_inline]] bool find_team(Call<H>& call, Bytes bytes) {
    if (!looks_at(call.site.comm)) return false;
    CommState* state = communicators.state_of(call.site.comm, call.blocking());
    if (state == nullptr) return leave(call, not_met);
    engine::Team* team = state->ready.load(std::memory_order_acquire);
    if (team == nullptr) [[unlikely]] {
      if (!state->settled.load(std::memory_order_acquire))
        communicators.settle(call.site.comm, *state, call.collective, call.blocking(), bytes());
      if (state->alone) return call.at_once = true;
      team = state->team.get();
      if (team == nullptr) return leave(call, state->why);
      if (!team->serves(call.collective)) return leave(call, engine::option_says_mpi);
    }
    if (!call.blocking() && team->revoked()) return leave(call, revoked_by_program);
    call.team = team;
    call.rank = call.team->rank();
    call.size = call.team->size();
    return true;
  }
  // For a collective in which every member says something of every other.
  template <class... Bytes>
  [[nodiscard, gnu::always_inline]] bool find_listing_team(Call<H>& call, Bytes... bytes) {
    if (!find_team(call, bytes...)) return false;
    if (call.size <= limits::most_listed_ranks) return true;
    return leave(call, "too many ranks for this collective");
  }
  bool leave(const Call<H>& call, const char* why) { return answers.leave(call, why); }
  [[nodiscard]] static bool is_member(const Call<H>& call, int rank) {
    return rank >= 0 && rank < call.size;
  }
  // Also on a revoked communicator an MPI says so.
  [[nodiscard]] bool move_nothing(Call<H>& call) {
    if (call.team != nullptr && call.team->revoked()) return leave(call, revoked_by_program);
    return call.at_once = true;
  }

  // Where a device runtime is loaded: whether Tutti serves a call in which buffers of this rank are
  // a device's, or not. Where all members know of a runtime they agree, and leave a blocking call
  // of which any buffer is a device's to the MPI. Otherwise nobody may leave: the others cannot
  // know.
  [[nodiscard]] bool serves(Call<H>& call, bool on_device);

  Native<H> native{};
  World<H> world{native};
  Absentees<H> absentees{native, world};
  Communicators<H> communicators{native, world, absentees, Requests<H>::wait};
  Arguments<H> arguments{native, world};
  Datatypes<H> datatypes{native, arguments};
  Answers<H> answers{native};
  Operations<H> operations{native, arguments, datatypes, answers};
  Requests<H> requests{native, datatypes, world, answers};
  Blocking<H> blocking{native, requests};
  Life<H> life{native,    world,         absentees, arguments,
               datatypes, communicators, requests,  answers.ledger()};
  Allocations<H> allocations{native, life, requests};
  LeftCalls<H> left_calls{native};

 private:
  // False: calls on it are the MPI's, and are not even noted.
  [[nodiscard]] bool looks_at(H comm) {
    return life.is_ready() && !world.in_finalize() && comm != native.null_comm;
  }
  // Whether the communicator has a team that leaves all nonblocking calls to the MPI, or those of
  // this collective, which has been noted. To make anything for one would take longer than to find
  // that out. (No nonblocking call gives a communicator such a team.)
  [[nodiscard]] bool starts_none(Collective collective, H comm) {
    const CommState* state = looks_at(comm) ? communicators.state_of(comm, false) : nullptr;
    if (state == nullptr || state->team == nullptr || state->team->revoked()) return false;
    if (state->team->serves(collective)) {
      if (state->team->starts_nonblocking()) return false;
      answers.leave(collective, false, engine::several_nodes);
    } else {
      answers.leave(collective, false, engine::option_says_mpi);
    }
    return true;
  }
  // A call that has been prepared.
  [[nodiscard, gnu::always_inline]] int run(Call<H>& call) {
    const engine::ErrorCode error_code = call.team->run(call.collective, call.work);
    if (error_code != engine::ErrorCode::none) [[unlikely]]
      return answers.fail(call, error_code);
    call.conclude(call.work);
    return 0;
  }
  // The same on a communicator of several nodes, where the MPI may be to do it.
  [[nodiscard, gnu::noinline]] int run_across(Call<H>& call) {
    const char* const why = call.team->performs(call.collective, call.work)
                                ? call.team->leaves(call.collective, call.work)
                                : engine::several_nodes;
    if (why != nullptr) {
      (void)leave(call, why);
      return left;
    }
    const choice::Turn turn;
    return turn.ends(run(call));
  }

  static inline Front* self_ = nullptr;
};

// Put in the collectives: those that compute, with Barrier and Bcast, and those that only move
// data.
template <class H>
void add_calls(Entries& entries);
template <class H>
void add_moves(Entries& entries);

}  // namespace tutti::mpi
