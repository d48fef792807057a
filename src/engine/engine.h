// SPDX-License-Identifier: BSD-3-Clause
// engine: Team, what a front end creates and calls. The engine never calls MPI. All it needs of an
// MPI is an Exchange when groups meet. Words: docs/glossary.md.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/collective.h"
#include "coll/work.h"
#include "engine/account.h"
#include "engine/error_code.h"
#include "engine/exchange.h"

namespace tutti::progress {
class Driver;
}

namespace tutti::engine {

struct Links;
class Node;
struct Pending;

// Of this process so far.
[[nodiscard]] Account account();

// How the last collective of this thread moved its bytes: "line", "bounce", "commons", "cma", or ""
// before any did.
[[nodiscard]] const char* last_way();
void forget_last_way();  // so that one sees when the next call went to the MPI

// This process's; lives to its end.
[[nodiscard]] progress::Driver& driver();

// Lets go of the memory of ranks that have gone. Any thread may call it, now and then.
void look_for_losses();
// Lets go of the memory of all peers. To be called when no team of this process is called any more,
// but some still exist, as the program has not freed their communicators.
void let_go_of_peers();

// What is known of messages between nodes: whether these are as fast in parts, and how many
// bytes are sent while one starts, 0 if that is not known.
struct MessageTrial {
  bool parts_as_fast = false;
  std::size_t start_bytes = 0;
};

// Why there is no team where only messages reach all members. There is one of it, to compare with.
inline constexpr char several_nodes[] = "its ranks are on several nodes";
// Why a team does not serve a collective.
inline constexpr char option_says_mpi[] = "its option says mpi";

// A group of ranks that call collectives together, as one member sees it. Those of one node have
// desks there; where there are several nodes, their leaders send each other messages.
class Team {
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
  virtual ~Team() = default;
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  // Runs a blocking collective, whose arguments were checked. The members must agree on all but
  // buffers and stores. A member that notices an error says so on standard error. After `left` the
  // MPI is to do the call. The team fills in the local choices and the order in `work`. Where it is
  // due, the rank then looks after the MPI's messages (fabric/upkeep.h).
  virtual ErrorCode run(Collective collective, coll::Work& work) = 0;
  ErrorCode run(Collective collective, const coll::Work& work) {
    coll::Work own = work;
    return run(collective, own);
  }

  // Whether run() can perform a checked call, and whether it takes nonblocking ones at all; the
  // same on all members. A team of one node can all.
  [[nodiscard]] bool starts_nonblocking() const { return starts_nonblocking_; }
  [[nodiscard]] bool performs(Collective collective, const coll::Work& work) const {
    return !spans_nodes_ || performs_across(collective, work);
  }
  [[nodiscard]] bool spans_nodes() const { return spans_nodes_; }

  // Whether any member has called this with `mine`, for a blocking call that all are in. The
  // members must agree on all but `mine`. False after an error, which run() will then meet.
  [[nodiscard]] virtual bool any(Collective collective, const coll::Work& work, bool mine) = 0;
  // Why the MPI is to do this call: it does it faster, or that is to be found out. nullptr: it is
  // not. Only for a blocking call that run() can perform, of a team of several nodes, that all are
  // in. Gives this thread's next choice::Turn where it counts. nullptr after an error, which run()
  // will then meet.
  [[nodiscard]] virtual const char* leaves(Collective collective, const coll::Work& work) = 0;

  // For a team of several nodes. The first is a call that all members make, for some lengths,
  // before any other. It tries messages of `bytes` between the nodes, each as one and in parts of
  // so many bytes, and all of them find the same. After an error, which run() will then meet, it
  // has found nothing. After it, or instead of it, all of them say how messages are to be cut, and
  // how many bytes are sent while one starts, before the next call; 0: that is not known.
  [[nodiscard]] virtual MessageTrial try_messages(std::size_t bytes, std::size_t part_bytes) = 0;
  virtual void shape_messages(const fabric::Cut& cut, std::size_t start_bytes) = 0;

  // run() for a nonblocking collective, in three steps:
  //  1. may_start() says `none`, or how the call has ended at once.
  //  2. After `none` comes start(), whose `pending` holds the collective and the work and goes to
  //     the driver. It is left out where the call cannot be started after all.
  //  3. Then comes end_start(), which looks after the MPI's messages as run() does.
  // When `pending` comes back from the driver, a thread of the rank calls finish(), in any order.
  // A `pending` that has failed keeps its team.
  [[nodiscard]] virtual ErrorCode may_start(Collective collective, const coll::Work& work) = 0;
  virtual void start(Pending& pending) = 0;
  virtual void end_start() = 0;
  static ErrorCode finish(Pending& pending);

  // To be called when the communicator is gone: nothing new will come, what is under way goes on.
  void disband() { disbanded_.store(true, std::memory_order_relaxed); }
  [[nodiscard]] bool disbanded() const { return disbanded_.load(std::memory_order_relaxed); }

  // The program has revoked the communicator (MPIX_Comm_revoke): members that wait are told, and
  // nothing more is begun. The MPI's own collectives say what is to be said.
  virtual void revoke() = 0;
  [[nodiscard]] virtual bool revoked() const = 0;  // by any member

  // Whether no option leaves the collective to the MPI; and whether none leaves any. The same on
  // all members.
  [[nodiscard]] bool serves(Collective collective) const {
    return (left_ & bit_of(collective)) == 0;
  }
  [[nodiscard]] bool serves_all() const { return left_ == 0; }
  // Some member had a device runtime when the team was made.
  [[nodiscard]] bool has_devices() const { return has_devices_; }

  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] int size() const { return size_; }
  [[nodiscard]] const std::shared_ptr<Node>& node() const { return node_; }
  [[nodiscard]] virtual const Account& account_so_far() const = 0;

 protected:
  Team(std::shared_ptr<Node> node, int rank, int size, bool has_devices, bool spans_nodes,
       bool starts_nonblocking, Collectives left)
      : node_(std::move(node)),
        rank_(rank),
        size_(size),
        has_devices_(has_devices),
        spans_nodes_(spans_nodes),
        starts_nonblocking_(starts_nonblocking),
        left_(left) {}

 private:
  // For a team that spans nodes.
  [[nodiscard]] virtual bool performs_across(Collective collective,
                                             const coll::Work& work) const = 0;

  const std::shared_ptr<Node> node_;
  const int rank_, size_;  // of the whole team
  const bool has_devices_, spans_nodes_, starts_nonblocking_;
  const Collectives left_;  // to the MPI
  std::atomic<bool> disbanded_{false};
};

}  // namespace tutti::engine
