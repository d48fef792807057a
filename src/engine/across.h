// SPDX-License-Identifier: BSD-3-Clause
// What a team of several nodes has beside one of a single node: who is where, and messages between
// the leaders.
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>

#include "choice/contest.h"
#include "choice/plans.h"
#include "coll/leaders/leaders.h"
#include "coll/work.h"
#include "engine/links.h"
#include "fabric/message_wire.h"
#include "progress/in_order_queue.h"

namespace tutti::engine {

class Across {
 public:
  // `fabric` is of this node's members, `plans` are theirs. Both outlive this.
  Across(Links links, fabric::NodeFabric& fabric, const choice::Plans& plans)
      : map_(std::move(links.map)),
        wire_(std::move(links.messages), fabric),
        fabric_(fabric),
        plans_(plans),
        strict_(links.strict),
        contested_(links.contested),
        shares_cores_(links.shares_cores),
        background_{map_, std::move(links.background_messages), links.any_thread, links.way} {}

  [[nodiscard]] const fabric::NodeMap& map() const { return map_; }
  [[nodiscard]] bool performs(coll::Collective collective, const coll::Work& work) const;
  // Whether blocking calls may be the MPI's, and whether members compare theirs.
  [[nodiscard]] bool is_contested() const { return contested_; }
  [[nodiscard]] bool is_strict() const { return strict_; }
  // Of Tutti and the MPI, for calls of about this size.
  [[nodiscard]] choice::Contest& contest(coll::Collective collective, std::size_t bytes);
  // False when it met an error.
  [[nodiscard]] bool perform(coll::Collective collective, const coll::Work& work);
  // What so many messages take this leader: of `bytes`, each as one and each in parts of so many
  // bytes, and of a few bytes. All 0 on other members. False when it met an error.
  struct Trial {
    std::uint64_t messages = 0, whole_ns = 0, parts_ns = 0, few_ns = 0;
  };
  [[nodiscard]] bool try_messages(std::size_t bytes, std::size_t part_bytes, Trial& took);
  // As Team::shape_messages().
  void shape_messages(const fabric::Cut& cut, std::size_t start_bytes) {
    wire_.cut(cut);
    background_.messages->cut(cut);
    background_.way.measured_start_bytes = start_bytes;
  }
  // After an error nobody goes on: this rank neither. `tells`: the others have not heard of it.
  void end(bool tells) {
    wire_.abandon();
    if (tells) wire_.call_off();
  }
  // The same for all calls that are under way, nonblocking ones too, which meet that.
  void call_off() {
    wire_.call_off();
    background_.messages->call_off();
  }
  // Whether a member has met an error.
  [[nodiscard]] bool is_called_off() { return wire_.is_called_off(); }
  // As fabric::Messages::find_stray().
  [[nodiscard]] auto find_stray() { return wire_.find_stray(); }
  // What this rank sent to other nodes since this was asked last.
  [[nodiscard]] fabric::Sent sent() { return wire_.sent(); }
  // For the queue of nonblocking collectives.
  [[nodiscard]] const progress::OtherNodes& background() const { return background_; }

 private:
  [[nodiscard]] coll::leaders::Members<fabric::NodeFabric, fabric::MessageWire> members() {
    return {fabric_, wire_, map_, plans_, strict_, background_.way};
  }
  [[nodiscard]] bool succeeds(const fabric::Task& task);

  fabric::NodeMap map_;
  fabric::MessageWire wire_;
  fabric::NodeFabric& fabric_;
  const choice::Plans& plans_;
  bool strict_, contested_, shares_cores_;
  std::unordered_map<std::uint32_t, choice::Contest> contests_;
  progress::OtherNodes background_;
};

}  // namespace tutti::engine
