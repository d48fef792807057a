// SPDX-License-Identifier: BSD-3-Clause
// A team, as one member has it: the desks of all of them, what it waits and reports by, and who is
// on other nodes.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "choice/plans.h"
#include "engine/across.h"
#include "engine/engine.h"
#include "engine/error_reporter.h"
#include "engine/leaving.h"
#include "engine/node.h"
#include "engine/pending.h"
#include "fabric/node.h"
#include "progress/in_order_queue.h"

namespace tutti::engine {

inline constexpr int desks_each = 2;  // of blocking collectives, and of nonblocking ones

class TeamMember final : public Team, public std::enable_shared_from_this<TeamMember> {
 public:
  // As Team::join(), with a slice of the node segment that has `desks_each` desks for each member.
  TeamMember(const std::shared_ptr<Node>& node, std::uint64_t slice, std::vector<int> members,
             int rank, bool has_devices, std::unique_ptr<Links> links = nullptr);
  ~TeamMember() override;

  ErrorCode run(Collective collective, coll::Work& work) override;
  [[nodiscard]] bool any(Collective collective, const coll::Work& work, bool mine) override;
  [[nodiscard]] const char* leaves(Collective collective, const coll::Work& work) override;
  [[nodiscard]] MessageTrial try_messages(std::size_t bytes, std::size_t part_bytes) override;
  void shape_messages(const fabric::Cut& cut, std::size_t start_bytes) override {
    across_->shape_messages(cut, start_bytes);
  }
  [[nodiscard]] ErrorCode may_start(Collective collective, const coll::Work& work) override;
  void start(Pending& pending) override;
  void end_start() override;
  void revoke() override;
  [[nodiscard]] bool revoked() const override;
  [[nodiscard]] const Account& account_so_far() const override { return account_; }

 private:
  // How many blocking calls, and how many nonblocking ones, there have been. It is the same on all
  // members.
  [[nodiscard]] std::uint32_t calls() const {
    return static_cast<std::uint32_t>(leaving_.number());
  }
  [[nodiscard]] std::uint32_t starts() const {
    return static_cast<std::uint32_t>(background_->leaving.number());
  }
  [[nodiscard]] bool performs_across(Collective collective, const coll::Work& work) const override {
    return across_->performs(collective, work);
  }

  // Inlined into both of its callers, so that traces cost nothing where there are none.
  [[gnu::always_inline]] ErrorCode run_now(Collective collective, coll::Work& work);
  ErrorCode run_traced(Collective collective, coll::Work& work);
  // Fills in the local choices in `work`.
  [[nodiscard]] Choices choose(bool blocking, Collective collective, coll::Work& work,
                               std::size_t moved);
  [[nodiscard]] bool only_kernel_reaches(const coll::Work& work) const;
  [[nodiscard]] bool perform(Collective collective, const coll::Work& work);
  // False: the call is not to be made, and refuse() ends it.
  [[nodiscard]] bool begin(Collective collective, const coll::Work& work);
  void count(Collective collective, const coll::Work& work, std::size_t moved);
  template <class Prepare>
  [[nodiscard]] bool ask(Collective collective, const coll::Work& work, const coll::Work& question,
                         Prepare prepare);
  [[nodiscard]] bool ask(Collective collective, const coll::Work& work, const coll::Work& question);
  [[nodiscard]] fabric::Desk& desk() const { return *desks_[static_cast<std::size_t>(place())]; }
  // Among the members of this node.
  [[nodiscard]] int place() const { return fabric_.rank(); }
  [[nodiscard]] ErrorCode refuse(Collective collective, const coll::Work& work);
  [[nodiscard]] ErrorCode fail(Collective collective, const coll::Work& work);
  // What the caller hears. On several nodes what it has sent may still be in its buffers.
  [[nodiscard]] ErrorCode told(ErrorCode error_code) const {
    if (error_code != ErrorCode::unasked) return error_code;
    return across_ == nullptr ? ErrorCode::none : ErrorCode::peer_error;
  }
  [[nodiscard]] ErrorCode answer(bool left, Collective collective, const coll::Work& work);

  // What nonblocking collectives need; made for the first of them.
  struct Background {
    explicit Background(TeamMember& team);
    std::span<fabric::Desk* const> desks;
    ErrorReporter reporter;
    progress::InOrderQueue queue;
    Leaving leaving;
  };
  static void keep_operand(Pending& pending);
  void fall(Pending& first);
  void publish(std::uint64_t call);

  friend Team;  // finish()

  std::uint64_t slice_;
  std::vector<int> members_;          // of this node: ranks in the node
  std::vector<fabric::Desk*> desks_;  // one a member, and then one a member for the background
  ErrorReporter reporter_;
  std::shared_ptr<const choice::Plans> plans_;
  fabric::NodeProvider provider_;
  fabric::NodeFabric fabric_;
  std::unique_ptr<Across> across_;  // where there are several nodes
  Leaving leaving_;
  // The last call of ask(), and how the run() that follows ends where it cannot begin.
  struct {
    std::uint64_t call = 0;
    ErrorCode outcome = ErrorCode::none;
  } asked_;
  bool strict_;  // all calls are compared before each
  coll::Order order_;
  Account account_;
  std::unique_ptr<Background> background_;
};

}  // namespace tutti::engine
