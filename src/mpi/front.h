// SPDX-License-Identifier: BSD-3-Clause
// The front end for one kind of handle: decides call by call whether a team takes it, and otherwise
// hands it to the MPI exactly as it came.
//
// What decides must be the same on all ranks of the communicator: MPI's symmetric arguments and
// facts agreed when the team was made. Arguments that only some ranks can see to be wrong go to the
// MPI, which names the error in its own way. Words: docs/glossary.md.
#pragma once

#include <array>
#include <atomic>
#include <ctime>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <tuple>
#include <unordered_set>
#include <utility>
#include <vector>

#include "coll/exchange/header.h"
#include "engine/engine.h"
#include "mpi/call.h"
#include "mpi/datatypes.h"
#include "mpi/entries.h"
#include "mpi/layouts.h"
#include "mpi/ledger.h"
#include "mpi/narrow.h"
#include "mpi/native.h"
#include "mpi/side.h"

namespace tutti::mpi {

// For lambdas that name a part of the function around them: a call would cost a small collective
// more than what they do.
#define TUTTI_INLINE __attribute__((always_inline))

template <class H>
class Front {
 public:
  // The front for the MPI that was found; to be called once, before anything else.
  static const Entries& open(const Library& library);

 private:
  using Collective = coll::Collective;

  // What a communicator's attribute points to.
  struct Seat {
    std::shared_ptr<engine::Team> team;
    const char* why = "";            // there is no team
    std::atomic<bool> alone{false};  // of one rank, which needs none
    // Where all ranks of MPI_COMM_WORLD know each other's nodes, the members of what is made of it
    // need not talk to become a team: they name the communicator alike, by the one that it was made
    // from and its number among those that were. 0: not so.
    std::uint64_t name = 0;
    std::uint32_t children = 0;
    std::atomic<bool> settled{true};  // false: a named one that was not used yet
  };

  // What a thread looked up last: of a communicator, and of a predefined operation on a predefined
  // type.
  struct Recent {
    H comm{};
    H operation{};  // of the user, and not freed when it was
    Seat* seat = nullptr;
    std::uint64_t deletions = 0;
    struct {
      H type{}, op{};
      const reduce::Kernel* kernel = nullptr;
      std::size_t element_bytes = 0;
      int work_op = 0;  // as Work::op
    } plan;
  };

  // --- the run's life (front_life.h)
  static int init(int* argc, char*** argv);
  static int init_thread(int* argc, char*** argv, int required, int* provided);
  static int finalize();
  static int session_init(Word info, Word handler, void* session);
  static int session_finalize(void* session);
  static int alloc_mem(Aint bytes, Word info, void* base);
  static int free_mem(void* base);
  // Of what MPI_Alloc_mem is to give. False: `info` asks for more.
  [[nodiscard]] bool read_alignment(H info, std::size_t* alignment);
  static int win_test(Word window, int* flag);
  static int comm_revoke(Word comm);
  void start();
  void join_world();
  void end_world();
  void end_last_session(H session);
  void drain();
  void release();
  void report();
  void report_alone(H session);
  void write_report(int ranks, int nodes, std::vector<const char*> notes,
                    const engine::Account& mine, const engine::Account& all);
  // (front_trace.h)
  void write_trace(const engine::Exchange& group, const std::vector<std::uint64_t>& hosts);
  [[nodiscard]] bool begin_upkeep();
  static void look();
  void end_upkeep();
  static void made(Word parent, const void* comm);

  // (front_roll.h)
  [[nodiscard]] bool all_are_here();
  void talk(std::span<const int> ranks, const int* tell, int* hear, std::time_t patience_s,
            const char* how);
  [[nodiscard]] bool has_absentees(H comm, int size);
  [[nodiscard]] bool is_over(H* request);
  void report_absentees();

  // (front_sessions.h)
  [[nodiscard]] bool look_for_world();
  void enter_world();
  void leave_world();
  [[nodiscard]] bool has_sessions() const { return has_sessions_; }
  [[nodiscard]] bool find_world_group(H* group);
  // The world, if it outlives whatever is started now; a session's collectives may outlive it.
  [[nodiscard]] H packs_on() const {
    return has_world_ && !has_sessions_ ? native_.world : native_.null_comm;
  }
  // A callback that MPI_Finalize calls; what it calls is the MPI's.
  [[nodiscard]] bool in_finalize() const {
    const std::thread::id finalizer = finalizer_.load(std::memory_order_relaxed);
    return finalizer != std::thread::id{} && finalizer == std::this_thread::get_id();
  }

  // --- communicators (front_life.h)
  [[nodiscard]] engine::Exchange exchange(H comm) const;
  [[nodiscard]] bool prepare();
  [[nodiscard]] bool is_ready() {
    return prepared_.load(std::memory_order_acquire) || make_ready();
  }
  [[nodiscard]] bool make_ready();
  [[nodiscard]] Seat* seat_of(H comm, bool may_take);
  [[nodiscard]] Seat* look_up_seat(H comm, bool may_take);
  [[nodiscard]] static Recent& recent() {
    thread_local Recent value;
    return value;
  }
  Seat* take_seat(H comm);
  Seat* name_seat(H comm, std::uint64_t name);
  void settle(H comm, Seat& seat);
  [[nodiscard]] std::vector<int> node_ranks(H comm, int size);
  [[nodiscard]] bool has_strangers(H comm, int size);
  [[nodiscard]] std::vector<int> world_ranks(H comm, int size);
  [[nodiscard]] std::shared_ptr<engine::Node> home();
  void settle_at(const std::shared_ptr<engine::Node>& node);
  static int on_copy(H, int, void*, void*, void*, int* flag);
  static int on_delete(H, int, void* value, void*);

  // Finds the team that takes the call, or that it needs none. False: the MPI does, which has been
  // noted.
  [[nodiscard]] bool find_team(Call<H>& call, Collective collective);
  bool leave(const Call<H>& call, const char* why) {
    ledger_.left(engine::kind_of(call.collective, call.blocking()), why);
    return false;
  }
  [[nodiscard]] static bool is_member(const Call<H>& call, int rank) {
    return rank >= 0 && rank < call.size;
  }

  // --- the collectives. take_x() prepares a call; false: the MPI must do it. enter() then runs it
  // and returns what MPI_X returns, or `left`.
  static constexpr int left = -1;
  static constexpr const char* revoked = "the program has revoked the communicator";
  static constexpr const char* on_a_device = "buffer in device memory";
  template <class Prepare>
  [[nodiscard]] int enter(H comm, Prepare prepare);
  template <class Prepare>
  [[nodiscard]] int enter(H comm, Prepare prepare, void* request);
  [[nodiscard]] int fail(const Call<H>& call, engine::Trouble trouble);
  // (front_alone.h)
  [[nodiscard]] static bool move_nothing(Call<H>& call) { return call.at_once = true; }
  [[nodiscard]] int answer(Call<H>& call);
  [[nodiscard]] int answer(std::unique_ptr<Started<H>> started, void* request);
  // What a trouble is to the communicator's error handler; the default one ends the job.
  [[nodiscard]] int code_of(engine::Trouble trouble) const {
    const ErrorClasses classes = error_classes(library_.family);
    return trouble == engine::Trouble::truncated ? classes.truncate : classes.other;
  }
  [[nodiscard]] int code_of(const Started<H>& failed) const {
    const engine::Trouble trouble = failed.trouble.load(std::memory_order_relaxed);
    if (trouble == engine::Trouble::told && failed.call.team->revoked())
      return error_classes(library_.family).revoked;
    return code_of(trouble);
  }
  // (front_calls.h)
  static constexpr int everyone = -1;  // as `root`, for Allreduce
  [[nodiscard]] bool plan(Call<H>& call, H type, H op);
  [[nodiscard]] bool make_plan(Call<H>& call, H type, H op);
  [[nodiscard]] bool make_user_plan(Call<H>& call, H type, H op);
  [[nodiscard]] bool find_user_operation(Call<H>& call, H op);
  [[nodiscard]] bool spread_of(Call<H>& call, const Described<H>& element, Spread<H>& spread);
  [[nodiscard]] static bool lies_at(const Call<H>& call, const void* buffer);
  [[nodiscard]] bool place_operands(Call<H>& call, std::size_t send_count, std::size_t recv_count);
  [[nodiscard]] bool pack_operands(Call<H>& call, std::size_t send_count, std::size_t recv_count);
  [[nodiscard]] bool take_barrier(Call<H>& call);
  [[nodiscard]] bool take_bcast(Call<H>& call, void* buffer, Count count, H type, int root);
  [[nodiscard]] bool take_odd_bcast(Call<H>& call, void* buffer, Count count,
                                    const Described<H>& element, int root);
  [[nodiscard]] bool may_receive(const Call<H>& call, const void* send, const void* recv);
  [[nodiscard]] bool take_reduction(Call<H>& call, const void* send, void* recv, Count count,
                                    H type, H op, int root);
  // `counts`: of Reduce_scatter; nullptr: `count` for each.
  template <class N>
  [[nodiscard]] bool take_reduce_scatter(Call<H>& call, const void* send, void* recv,
                                         const N* counts, N count, H type, H op);
  [[nodiscard]] bool take_scan(Call<H>& call, Collective collective, const void* send, void* recv,
                               Count count, H type, H op);
  [[nodiscard]] bool serves(Call<H>& call, bool on_device);
  [[nodiscard]] bool stage_operands(Call<H>& call, std::size_t send_bytes, std::size_t recv_bytes);
  // (front_moves.h) `add_in` and `add_out` fill a side where its arguments are significant.
  bool add_evenly(Side<H>& side, const void* base, Count count, H type, int members);
  bool add_others(Side<H>& side, const void* base, Count count, H type, int members);
  template <class N, class D>
  bool add_listed(Side<H>& side, const void* base, const N* counts, const D* displacements, H type,
                  int members);
  template <class N, class D>
  bool add_typed(Side<H>& side, const void* base, const N* counts, const D* displacements,
                 const H* types, int members);
  [[nodiscard]] bool move(Call<H>& call, int root, std::size_t bytes);
  [[nodiscard]] static bool stays(const Call<H>& call);
  [[nodiscard]] bool find_listing_team(Call<H>& call, Collective collective);
  template <class Add>
  [[nodiscard]] bool take_gather(Call<H>& call, Collective collective, const void* send,
                                 Count send_count, H send_type, const void* recv, int root,
                                 Add add_in);
  template <class Add>
  [[nodiscard]] bool take_scatter(Call<H>& call, Collective collective, Add add_out,
                                  const void* send, void* recv, Count recv_count, H recv_type,
                                  int root);
  template <class Add>
  [[nodiscard]] bool take_allgather(Call<H>& call, Collective collective, const void* send,
                                    Count send_count, H send_type, const void* recv, Add add_in);
  template <class AddOut, class AddIn>
  [[nodiscard]] bool take_alltoall(Call<H>& call, Collective collective, AddOut add_out,
                                   AddIn add_in, const void* send, const void* recv);

  // --- requests (front_requests.h)
  static void reap();
  void end(Started<H>& started);
  // What a call is to complete. Of one that may complete several, errors are told in the statuses:
  // one for each request, or for each of those that it lists.
  struct Wanted {
    const void* requests = nullptr;
    int count = 0;
    bool several = false;
    void* statuses = nullptr;
    const int* done = nullptr;  // how many it lists
    const int* indices = nullptr;

    // None if the arguments are wrong, which is the MPI's to say.
    [[nodiscard]] std::span<const H> handles() const {
      if (requests == nullptr || count < 0) return {};
      return {static_cast<const H*>(requests), static_cast<std::size_t>(count)};
    }
  };
  // The requests before the call, which the MPI forgets when they are over; if they will be asked
  // for.
  static std::vector<H> before(const Wanted& wanted);
  template <class Complete>
  static int tell_failures(const Wanted& wanted, const std::vector<H>& before, Complete complete);
  static int tell(const Wanted& wanted, const std::vector<H>& before, const Completed<H>& completed,
                  int code);
  [[nodiscard]] static bool all_ours(const Wanted& wanted);
  template <class Test, class Native>
  static int wait_until(const Wanted& wanted, Test test, Native native);
  template <class Test, class Native>
  static int drive_until(const Wanted& wanted, Test test, Native native);
  template <class Native>
  static int look_with(Native native);  // completes nothing
  template <class Native>
  static int test_with(const Wanted& wanted, Native native);
  static int op_free(void* op);
  static int type_free(void* type);
  static int free_or_keep(typename Requests<H>::Sort sort, int (*native)(H*), void* freed, H null);
  static int on_query(void* started, void* status);
  static int on_free(void* started);
  static int on_cancel(void* started, int complete);
  static int wait(void* request, void* status);
  static int test(void* request, int* flag, void* status);
  static int waitall(int count, void* requests, void* statuses);
  static void set_unfinished(H request, void* status);
  static int testall(int count, void* requests, int* flag, void* statuses);
  static int waitany(int count, void* requests, int* index, void* status);
  static int testany(int count, void* requests, int* index, int* flag, void* status);
  static int waitsome(int count, void* requests, int* done, int* indices, void* statuses);
  static int testsome(int count, void* requests, int* done, int* indices, void* statuses);
  static int request_get_status(Word request, int* flag, void* status);
  static constexpr int undefined = -32766;  // MPI_UNDEFINED, in all families
  static int get_statuses(int count, const void* requests, void* statuses, int* done, int* indices,
                          int most);
  static int request_get_status_all(int count, const void* requests, int* flag, void* statuses);
  static int request_get_status_any(int count, const void* requests, int* index, int* flag,
                                    void* status);
  static int request_get_status_some(int count, const void* requests, int* done, int* indices,
                                     void* statuses);

  // The entries, in the order and with the types of Forms.
  static int barrier(Word comm);
  static int ibarrier(Word comm, void* request);
  template <class N, class D, class... Request>
  static int bcast(void*, N, Word type, int root, Word comm, Request...);
  template <class N, class D, class... Request>
  static int reduce(const void*, void*, N, Word type, Word op, int root, Word comm, Request...);
  template <class N, class D, class... Request>
  static int allreduce(const void*, void*, N, Word type, Word op, Word comm, Request...);
  template <class N, class D, class... Request>
  static int gather(const void*, N, Word, void*, N, Word, int root, Word comm, Request...);
  template <class N, class D, class... Request>
  static int gatherv(const void*, N, Word, void*, const N*, const D*, Word, int root, Word comm,
                     Request...);
  template <class N, class D, class... Request>
  static int scatter(const void*, N, Word, void*, N, Word, int root, Word comm, Request...);
  template <class N, class D, class... Request>
  static int scatterv(const void*, const N*, const D*, Word, void*, N, Word, int root, Word comm,
                      Request...);
  template <class N, class D, class... Request>
  static int allgather(const void*, N, Word, void*, N, Word, Word comm, Request...);
  template <class N, class D, class... Request>
  static int allgatherv(const void*, N, Word, void*, const N*, const D*, Word, Word comm,
                        Request...);
  template <class N, class D, class... Request>
  static int alltoall(const void*, N, Word, void*, N, Word, Word comm, Request...);
  template <class N, class D, class... Request>
  static int alltoallv(const void*, const N*, const D*, Word, void*, const N*, const D*, Word,
                       Word comm, Request...);
  template <class N, class D, class... Request>
  static int alltoallw(const void*, const N*, const D*, const Word*, void*, const N*, const D*,
                       const Word*, Word comm, Request...);
  template <class N, class D, class... Request>
  static int reduce_scatter(const void*, void*, const N*, Word type, Word op, Word comm,
                            Request...);
  template <class N, class D, class... Request>
  static int reduce_scatter_block(const void*, void*, N, Word type, Word op, Word comm, Request...);
  template <class N, class D, class... Request>
  static int scan(const void*, void*, N, Word type, Word op, Word comm, Request...);
  template <class N, class D, class... Request>
  static int exscan(const void*, void*, N, Word type, Word op, Word comm, Request...);
  template <class N, class D, class... Request>
  static constexpr Forms<Word, N, D, Request...> forms() {
    return {bcast<N, D, Request...>,          reduce<N, D, Request...>,
            allreduce<N, D, Request...>,      gather<N, D, Request...>,
            gatherv<N, D, Request...>,        scatter<N, D, Request...>,
            scatterv<N, D, Request...>,       allgather<N, D, Request...>,
            allgatherv<N, D, Request...>,     alltoall<N, D, Request...>,
            alltoallv<N, D, Request...>,      alltoallw<N, D, Request...>,
            reduce_scatter<N, D, Request...>, reduce_scatter_block<N, D, Request...>,
            scan<N, D, Request...>,           exscan<N, D, Request...>};
  }

  static constexpr Completing<Word> completing() {
    return {wait,
            test,
            waitall,
            testall,
            waitany,
            testany,
            waitsome,
            testsome,
            request_get_status,
            request_get_status_all,
            request_get_status_any,
            request_get_status_some};
  }

  // --- wrong arguments that the MPI tells (front_arguments.h)
  [[nodiscard]] H quiet_comm();
  [[nodiscard]] bool refuses_alias(Collective collective, bool one_element);
  [[nodiscard]] int alias_on(H alone, Collective collective, int count);
  [[nodiscard]] bool is_committed(H type);
  [[nodiscard]] const reduce::Kernel* kernel_as_computed(H comm, H type, H op, reduce::Op which,
                                                         std::size_t element_bytes);
  [[nodiscard]] const reduce::Kernel* compare_kernels(H alone, H type, H op, reduce::Op which,
                                                      std::size_t element_bytes);

  // --- datatypes, and calls that are left to the MPI (front_native.h)
  [[nodiscard]] bool describe(H type, Described<H>& element) {
    element.type = type;
    auto* slot = layouts_.predefined().slot_of(type);
    element.bytes = slot != nullptr ? slot->dense_bytes.load(std::memory_order_relaxed) : 0;
    element.extent = static_cast<Aint>(element.bytes);
    if (element.bytes != 0) [[likely]]
      return true;
    return slot != nullptr ? describe_predefined(*slot, element) : describe_derived(element);
  }
  [[nodiscard]] bool describe_predefined(typename PredefinedTypes<H>::Slot& slot,
                                         Described<H>& element);
  [[nodiscard]] bool describe_derived(Described<H>& element);
  [[nodiscard]] bool ask_for_size(Described<H>& element);
  // Whether this rank's arguments are the root's, of which the others' are not significant.
  [[nodiscard]] bool has_root_arguments(int root, H comm) const;
  // The MPI's function in the caller's form, or in its small form where there is no other.
  template <class N, class D, class... Request, class Function, class Small, class... Arguments>
  int call_native(Function Forms<H, N, D, Request...>::*function,
                  Small Forms<H, int, int, Request...>::*small, H comm, Arguments... arguments);
  // `small` with counts of int if all fit. `keeps`: what it is called with until the run's end.
  template <bool keeps, class Small, class Otherwise, class... Arguments>
  int call_narrowed(Small small, H comm, Otherwise otherwise, Arguments... arguments);
  template <auto small, auto large, bool starts, class... Arguments>
  static int call_tool(Arguments... arguments);
  template <auto small, auto large, bool starts, class... Arguments>
  void lead_to_tool(bool is_native, int (*&entry)(Arguments...), const char* name);
  void lead_to_tools(Entries& entries);

  static H handle(Word word) { return handle_from<H>(word); }
  static std::uint64_t key(H handle) { return key_of(handle); }

  [[nodiscard]] const void* in_place() const { return native_.in_place; }

  static inline Front* self_ = nullptr;

  Native<H> native_{};
  std::tuple<Forms<Word, int, int>, Forms<Word, int, int, void*>> tools_{};  // see lead_to_tools()
  Library library_;
  HandleMap<const OpRow> ops_;
  std::array<std::uint64_t, 3> no_operations_{};  // MPI_OP_NULL, and those of one-sided calls
  Layouts<H> layouts_{native_};
  H unfinished_{};       // a request, see begin_upkeep()
  bool yields_ = false;  // Native::set_yields, outside of looks
  std::mutex quieting_;
  H quiet_{};  // under quieting_; see quiet_comm()
  std::mutex comparing_;
  std::map<std::pair<H, H>, const reduce::Kernel*> compared_;  // see kernel_as_computed()

  // Tutti is there while MPI_COMM_WORLD is, or any session.
  std::mutex living_;
  std::mutex opening_;       // of a session, and the end of the last one; before living_
  std::vector<H> sessions_;  // that are open; under living_
  std::atomic<bool> has_sessions_{false};
  std::atomic<bool> prepared_{false};  // written under living_
  std::atomic<bool> has_world_{false};
  std::atomic<bool> world_over_{false};
  std::atomic<bool> world_begins_{false};         // by MPI_Init, perhaps in another thread
  std::atomic<bool> session_initializes_{false};  // so MPI_Initialized tells nothing of the world
  std::atomic<std::thread::id> finalizer_{};      // who is in the MPI's own MPI_Finalize
  int keyval_ = 0;
  int world_rank_ = 0;
  bool started_ = false;            // with all of MPI_COMM_WORLD, which have thus all seen MPI_Init
  bool leads_host_ = false;         // the lowest rank of MPI_COMM_WORLD on its host
  std::atomic<bool> apart_{false};  // some ranks have no Tutti, so nobody uses it
  std::string absentees_;           // who; on the rank that says so
  std::atomic<std::uint64_t> deletions_{0};  // of seats: what was looked up before may be gone
  // The largest Node so far: its members' next communicators need not join another.
  std::mutex settling_;
  std::shared_ptr<engine::Node> home_;
  // Of MPI_COMM_WORLD, if all of its ranks have looked for theirs, and the same as a group.
  std::shared_ptr<engine::Node> node_;
  H node_group_{};
  const char* no_node_ = "";  // why there is none
  std::mutex giving_;
  std::unordered_set<const void*> given_;  // by MPI_Alloc_mem, and Tutti's
  Ledger ledger_;
  Requests<H> requests_;
  progress::Driver& driver_ = engine::driver();
  // Arrays of counts that the MPI reads until a nonblocking collective is over.
  std::mutex retaining_;
  Retained retained_;
};

}  // namespace tutti::mpi
