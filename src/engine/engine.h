// SPDX-License-Identifier: BSD-3-Clause
// engine: Team, what a front end creates and calls. The engine never calls MPI. All it needs of an
// MPI is an Exchange when groups meet. Words: docs/glossary.md.
#pragma once

#include <array>
#include <atomic>
#include <memory>

#include "base/status.h"
#include "choice/learned.h"
#include "choice/plans.h"
#include "coll/coll.h"
#include "engine/account.h"
#include "engine/across.h"
#include "engine/call_signature.h"
#include "engine/error_reporter.h"
#include "engine/exchange.h"
#include "engine/leaving.h"
#include "engine/node.h"
#include "fabric/node.h"
#include "progress/progress.h"

namespace tutti::engine {

// Of this process so far.
[[nodiscard]] Account account();

// How the last collective of this thread moved its bytes: "line", "bounce", "commons", "cma", or ""
// before any did.
[[nodiscard]] const char* last_way();
void forget_last_way();  // so that one sees when the next call went to the MPI

// What a member has chosen for a call of its own, and will learn from.
struct Choices {
  choice::Learner::Choice stores;  // plain or streaming
  choice::Learner::Choice cico;    // the kernel's copy or the node segment
};

// A nonblocking collective, from Team::start() to Team::finish().
struct Pending : progress::Operation {
  Choices choices;
  std::uint64_t number = 0;                      // of its start, see engine/leaving.h
  ErrorCode error_code = ErrorCode::peer_error;  // of one that has not succeeded
};

// This process's; lives to its end.
[[nodiscard]] progress::Driver& driver();

// Lets go of the memory of ranks that have gone. Any thread may call it, now and then.
void look_for_losses();
// Lets go of the memory of all peers. To be called when no team of this process is called any more,
// but some still exist, as the program has not freed their communicators.
void let_go_of_peers();

// A group of ranks that call collectives together, as one member sees it. Those of one node have
// desks there; where there are several nodes, their leaders send each other messages.
class Team : public std::enable_shared_from_this<Team> {
 public:
  // Collective over the group. Returns nullptr on all members alike when they cannot be a team;
  // `why` then says in one clause why. `home` is the Node joined at start, if any. A group with
  // other members of this host joins a Node of its own.
  [[nodiscard]] static std::shared_ptr<Team> create(const Exchange& group,
                                                    const std::shared_ptr<Node>& home,
                                                    const char*& why);
  // The same without messages between the members, whose numbers are ranks in `node`. All of them
  // know `name`, and no other group of the node ever has that name. `has_devices`: as in Exchange.
  // `links`: where there are members on other nodes; `members` and `rank` are of this node's alone.
  [[nodiscard]] static std::shared_ptr<Team> join(const std::shared_ptr<Node>& node,
                                                  std::uint64_t name, std::vector<int> members,
                                                  int rank, bool has_devices, const char*& why,
                                                  std::unique_ptr<Links> links = nullptr);
  ~Team();

  // Runs a blocking collective, whose arguments were checked. The members must agree on all but
  // buffers and stores. A member that notices an error says so on standard error. After `left` the
  // MPI is to do the call. The team fills in the local choices and the order in `work`.
  ErrorCode run(coll::Collective collective, coll::Work& work);
  ErrorCode run(coll::Collective collective, const coll::Work& work) {
    coll::Work own = work;
    return run(collective, own);
  }

  // Whether run() can perform a checked call; the same on all members. A team of one node can all.
  // The first says of a call whose arguments are not known yet that the second may be asked.
  [[nodiscard]] bool performs(coll::Collective collective, bool blocking) const {
    return across_ == nullptr || across_->performs(collective, blocking);
  }
  [[nodiscard]] bool performs(coll::Collective collective, const coll::Work& work) const {
    return across_ == nullptr || across_->performs(collective, work);
  }
  [[nodiscard]] bool spans_nodes() const { return across_ != nullptr; }

  // Whether any member has called this with `mine`, for a blocking call that all are in. The
  // members must agree on all but `mine`. False after an error, which run() will then meet.
  [[nodiscard]] bool any(coll::Collective collective, const coll::Work& work, bool mine);
  // Whether the MPI is to do this call, as it does it faster, or as that is to be found out. Only
  // for a blocking call that run() can perform, of a team of several nodes, that all are in. Gives
  // this thread's next choice::Turn where it counts. False after an error, which run() will then
  // meet.
  [[nodiscard]] bool leaves(coll::Collective collective, const coll::Work& work);

  // run() for a nonblocking collective, in three steps:
  //  1. may_start() says `none`, or how the call has ended at once.
  //  2. After `none` comes start(), whose `pending` holds the collective and the work and goes to
  //     the driver. It is left out where the call cannot be started after all.
  //  3. Then comes end_start().
  // When `pending` comes back from the driver, a thread of the rank calls finish(), in any order.
  // A `pending` that has failed keeps its team.
  [[nodiscard]] ErrorCode may_start(coll::Collective collective, const coll::Work& work);
  void start(Pending& pending);
  void end_start() { background_->leaving.end(); }
  static ErrorCode finish(Pending& pending);

  // To be called when the communicator is gone: nothing new will come, what is under way goes on.
  void disband() { disbanded_.store(true, std::memory_order_relaxed); }
  [[nodiscard]] bool disbanded() const { return disbanded_.load(std::memory_order_relaxed); }

  // The program has revoked the communicator (MPIX_Comm_revoke): members that wait are told, and
  // nothing more is begun. The MPI's own collectives say what is to be said.
  void revoke();
  [[nodiscard]] bool revoked() const;  // by any member

  // Some member had a device runtime when the team was made.
  [[nodiscard]] bool has_devices() const { return has_devices_; }

  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] int size() const { return size_; }
  [[nodiscard]] const std::shared_ptr<Node>& node() const { return node_; }
  [[nodiscard]] const Account& account_so_far() const { return account_; }
  // How many blocking calls, and how many nonblocking ones, there have been. It is the same on all
  // members.
  [[nodiscard]] std::uint32_t calls() const {
    return static_cast<std::uint32_t>(leaving_.number());
  }
  [[nodiscard]] std::uint32_t starts() const {
    return static_cast<std::uint32_t>(background_->leaving.number());
  }

 private:
  Team(std::shared_ptr<Node> node, std::uint64_t slice, std::vector<int> members, int rank,
       bool has_devices, std::unique_ptr<Links> links = nullptr);

  // Inlined into both of its callers, so that traces cost nothing where there are none.
  [[gnu::always_inline]] ErrorCode run_now(coll::Collective collective, coll::Work& work);
  ErrorCode run_traced(coll::Collective collective, coll::Work& work);
  // Fills in the local choices in `work`.
  [[nodiscard]] Choices choose(bool blocking, coll::Collective collective, coll::Work& work,
                               std::size_t moved);
  [[nodiscard]] bool only_kernel_reaches(const coll::Work& work) const;
  [[nodiscard]] bool perform(coll::Collective collective, const coll::Work& work);
  void count(coll::Collective collective, std::size_t moved);
  [[nodiscard]] bool ask(coll::Collective collective, const coll::Work& work,
                         const coll::Work& question);
  [[nodiscard]] fabric::Desk& desk() const { return *desks_[static_cast<std::size_t>(place())]; }
  // Among the members of this node.
  [[nodiscard]] int place() const { return fabric_.rank(); }
  [[nodiscard]] ErrorCode refuse(coll::Collective collective, const coll::Work& work);
  [[nodiscard]] ErrorCode fail(coll::Collective collective, const coll::Work& work);
  [[nodiscard]] ErrorCode answer(bool left, coll::Collective collective, const coll::Work& work);

  // What nonblocking collectives need; made for the first of them.
  struct Background {
    explicit Background(Team& team);
    std::span<fabric::Desk* const> desks;
    ErrorReporter reporter;
    progress::InOrderQueue queue;
    Leaving leaving;
  };
  void fall(Pending& first);
  void publish(std::uint64_t call);

  std::shared_ptr<Node> node_;
  std::uint64_t slice_;
  std::vector<int> members_;          // of this node: ranks in the node
  int rank_, size_;                   // of the whole team
  std::vector<fabric::Desk*> desks_;  // one a member, and then one a member for the background
  ErrorReporter reporter_;
  std::shared_ptr<const choice::Plans> plans_;
  fabric::NodeHost host_;
  fabric::NodeFabric fabric_;
  std::unique_ptr<Across> across_;  // where there are several nodes
  Leaving leaving_;
  // The last call of ask(), and how the run() that follows ends where it cannot begin.
  struct {
    std::uint64_t call = 0;
    ErrorCode outcome = ErrorCode::none;
  } asked_;
  bool strict_;  // all calls are compared before each
  bool has_devices_;
  coll::Order order_;
  Account account_;
  std::unique_ptr<Background> background_;
  std::atomic<bool> disbanded_{false};
};

}  // namespace tutti::engine
