// SPDX-License-Identifier: BSD-3-Clause
// engine: Team and Call, what a front end creates and calls. The engine never calls MPI; all it
// needs of one is an Exchange when groups meet.
#pragma once

#include <array>
#include <memory>

#include "base/status.h"
#include "coll/coll.h"
#include "engine/call.h"
#include "engine/exchange.h"
#include "engine/node.h"
#include "engine/stores.h"
#include "fabric/node.h"

namespace tutti::engine {

// What was moved, summed over the teams of this process; plain data, so that it can be exchanged.
struct Account {
  std::array<std::uint64_t, coll::collective_count> calls{};
  std::array<std::uint64_t, coll::collective_count> bytes{};
  std::array<std::uint64_t, fabric::route_count> route_bytes{};

  Account& operator+=(const Account& other);
};
[[nodiscard]] Account account();

// How the last collective of this thread moved its bytes: "line", "bounce", "commons", "cma", or ""
// before any did.
[[nodiscard]] const char* last_way();
void forget_last_way();  // so that a call that went to the MPI instead shows

// How a collective ended. After any trouble the team is of no use any more: what the members still
// call on it ends with `told`.
enum class Trouble : std::uint8_t {
  none,
  mismatched,   // members called different things
  truncated,    // one sends more than another has room for
  lost,         // a member's process has ended
  unreachable,  // a buffer could not be read or written
  told,         // another member has met one of these, and has said so
};

// A group of ranks of one node that call collectives together: one member's side of it.
class Team {
 public:
  // Collective over the group; nullptr on all members alike when they cannot be a team, and `why`
  // then says so in one clause. `home` is the Node joined at start, if any; a group with members
  // from elsewhere on this host joins one of its own.
  [[nodiscard]] static std::unique_ptr<Team> create(const Exchange& group,
                                                    const std::shared_ptr<Node>& home,
                                                    const char*& why);
  ~Team();

  // Blocking; the arguments were checked. The members must agree on all but buffers and stores.
  // Whoever notices a trouble says so on standard error.
  Trouble run(coll::Collective collective, coll::Work work);

  [[nodiscard]] int rank() const { return fabric_.rank(); }
  [[nodiscard]] int size() const { return fabric_.size(); }
  [[nodiscard]] const Node& node() const { return *node_; }
  [[nodiscard]] const Account& account_so_far() const { return account_; }

 private:
  Team(std::shared_ptr<Node> node, std::uint64_t slice, std::vector<int> members, int rank,
       bool strict);

  [[nodiscard]] bool perform(coll::Collective collective, const coll::Work& work);
  [[nodiscard]] fabric::Emergencies emergencies();
  [[nodiscard]] int world_rank(int member) const;
  // For messages: "Allreduce of 8 bytes".
  [[nodiscard]] static const char* describe(std::uint64_t call, char (&text)[96]);

  std::shared_ptr<Node> node_;
  std::uint64_t slice_;
  std::vector<int> members_;  // ranks in the node
  std::vector<fabric::Desk*> desks_;
  fabric::NodeHost host_;
  fabric::NodeFabric fabric_;
  bool strict_;  // all calls are compared before each
  std::uint64_t call_ = 0;
  Trouble trouble_ = Trouble::none;
  Account account_;
};

}  // namespace tutti::engine
