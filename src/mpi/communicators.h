// SPDX-License-Identifier: BSD-3-Clause
// A state for each communicator: its team, or why it has none. Communicators that are made of an
// origin (mpi/origin.h), where all know each other's nodes, cost an attribute of the MPI, and
// become teams when they are first used, or, on several nodes, used a few times. Others become
// teams when they are made, or at their first blocking collective: all members are there then, and
// talk.
//
// To look up the state that a thread looked up last takes a few instructions.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "base/collective.h"
#include "mpi/absentees.h"
#include "mpi/origin.h"

namespace tutti::engine {
class Team;
}

namespace tutti::mpi {

inline constexpr const char* revoked_by_program = "the program has revoked the communicator";
inline constexpr const char* not_met = "its members have not met on this communicator";

// What a communicator's attribute points to.
struct CommState {
  std::shared_ptr<engine::Team> team;
  // The same, if no option leaves any collective to the MPI: nothing else is to be asked then.
  std::atomic<engine::Team*> ready{nullptr};
  const char* why = "";             // there is no team
  std::atomic<bool> alone{false};   // of one rank, which needs none
  std::atomic<bool> settled{true};  // false: a named one that was not used yet

  void set_team(std::shared_ptr<engine::Team> made);
};

template <class H>
class Communicators {
 public:
  // `wait`: as MPI_Wait; brings forward what is under way.
  Communicators(const Native<H>& native, World<H>& world, Absentees<H>& absentees,
                int (*wait)(void* request, void* status))
      : native_(native),
        world_(world),
        absentees_(absentees),
        wait_(wait),
        of_world_(std::make_shared<Origin<H>>(native, world)) {}

  // When the MPI is there. False: it gives no attributes.
  [[nodiscard]] bool open();
  // Before the MPI ends; it may be opened again.
  void close();

  // Collective over MPI_COMM_WORLD: the ranks of each node meet. Where there are several the MPI
  // sorts them, and all else is said on the node.
  void join_world();
  // Collective, of the world where some ranks have no Tutti.
  void give_up_world() { (void)make_state(native_.world, Made::alone); }
  // Collective, of the world, in MPI_Finalize: others may wait for a session's nonblocking
  // collective that this rank has under way, before they come.
  void gather_world() { gather_if_driven(of_world_->links().comm(), *of_world_); }
  void leave_world();
  // Gives the MPI back what the origins of sessions have of it, but for those that are still used.
  // `all`: no communicator of a session is used any more.
  void leave_sessions(bool all);

  // nullptr: it has none. `may_take`: all members are in the call, so that it may be made.
  [[nodiscard]] CommState* state_of(H comm, bool may_take) {
    // An MPI takes longer to look up an attribute than Tutti for a small collective.
    Recent& last = recent();
    const std::uint64_t deletions = deletions_.load(std::memory_order_relaxed);
    if (last.state != nullptr && last.comm == comm && last.deletions == deletions) [[likely]]
      return last.state;
    CommState* state = look_up_state(comm, may_take);
    if (state == nullptr) return nullptr;
    last.comm = comm;
    last.state = state;
    last.deletions = deletions;
    return state;
  }
  // Before a state without a team is used, in a collective. `blocking`: all members are in it, so
  // that those on several nodes may meet. `vector_bytes`: of what it computes, if all members know
  // that; else 0.
  void settle(H comm, CommState& state, Collective collective, bool blocking,
              std::size_t vector_bytes = 0);

  // All members are about to make another communicator.
  void making(H comm);
  // A communicator has been made, by all members of `parent` together; null_comm: not so.
  void made(H parent, H comm, bool of_session);
  void revoke(H comm);
  // `by`: the MPI's function, in which those of the program's attributes may call collectives.
  int free(int (*by)(H*), H* comm);

  // The largest Node so far: its members' next communicators need not join another.
  [[nodiscard]] std::shared_ptr<engine::Node> home();
  // The lowest rank of MPI_COMM_WORLD on its host.
  [[nodiscard]] bool leads_host() const { return of_world_->leads_node(); }

 private:
  struct State : CommState {
    // Where the members of a communicator's origin know each other's nodes, its own need not talk
    // to become a team: they name the communicator alike, by the one that it was made from and its
    // number among those that were. Where that number is not known alike (MPI_Comm_create_group,
    // MPI_Intercomm_merge, MPI_Comm_idup), and it is on several nodes, they agree on a name.
    // nullptr and 0: it has none.
    std::shared_ptr<Origin<H>> origin;
    std::uint64_t name = 0;
    std::uint32_t children = 0;
    std::atomic<NodeSpread> spread{NodeSpread::unknown};
    // Under Communicators' lock: blocking collectives that members on several nodes left to the MPI
    // before they met; whether it computed in a nonblocking one, before that, too; whether it was
    // revoked before it was settled.
    int put_off = 0;
    bool computed = false, revoked = false;
  };
  // How a communicator without a name was made: of MPI_COMM_WORLD, or nobody knows; of a session's
  // group; in any other way.
  enum class Made : std::uint8_t { of_world, of_session, alone };
  // What a thread looked up last.
  struct Recent {
    H comm{};
    CommState* state = nullptr;
    std::uint64_t deletions = 0;
  };
  [[nodiscard]] static Recent& recent() {
    thread_local Recent value;
    return value;
  }
  [[nodiscard]] CommState* look_up_state(H comm, bool may_take);
  State* make_state(H comm, Made made);
  State* name_state(H comm, const std::shared_ptr<Origin<H>>& origin, std::uint64_t name);
  [[nodiscard]] bool gather_members(H comm);
  void gather_if_driven(H comm, Origin<H>& origin);
  void begin_state(H comm, State& state, Made made);
  void begin_origin(H comm, State& state);
  void name_linked(H comm, State& state, const std::shared_ptr<Origin<H>>& origin, bool may);
  void start_threads(H comm, State& state);
  [[nodiscard]] bool puts_off(State& state, Collective collective, bool blocking,
                              std::size_t vector_bytes) const;
  void join_team(H comm, State& state, std::vector<int> members);
  void link(H comm, State& state, const std::vector<int>& on_node);
  [[nodiscard]] NodeSpread spread_of(H comm, State& state);
  [[nodiscard]] bool has_strangers(H comm, int size);
  void settle_at(const std::shared_ptr<engine::Node>& node);
  static int on_copy(H, int, void*, void*, void*, int* flag);
  static int on_delete(H, int, void* value, void*);

  // The communicator that this thread is freeing; none of them while it frees none. A value, as an
  // error handler of the program may never return.
  [[nodiscard]] static H& being_freed() {
    thread_local H value{};
    return value;
  }
  static inline std::atomic<std::uint64_t> deletions_{0};  // of states: one looked up may be gone

  const Native<H>& native_;
  World<H>& world_;
  Absentees<H>& absentees_;
  int (*wait_)(void* request, void* status);
  std::shared_ptr<Origin<H>> of_world_;
  int keyval_ = 0;
  std::mutex settling_;  // the following
  std::shared_ptr<engine::Node> home_;
  std::vector<std::shared_ptr<Origin<H>>> of_sessions_;
};

}  // namespace tutti::mpi
