// SPDX-License-Identifier: BSD-3-Clause
// What a team of several nodes has beside one of a single node: who is where, and messages between
// the leaders.
#pragma once

#include <memory>

#include "choice/plans.h"
#include "coll/work.h"
#include "fabric/message_wire.h"
#include "fabric/node_map.h"
#include "os/occasion.h"

namespace tutti::engine {

// How such a team meets.
struct Links {
  fabric::NodeMap map;
  std::unique_ptr<fabric::Messages> messages;  // members are ranks in `map`
  bool strict = false;                         // as Node::strict(), but of all nodes
};

class Across {
 public:
  // `fabric` is of this node's members, `plans` are theirs. Both outlive this.
  Across(Links links, fabric::NodeFabric& fabric, const choice::Plans& plans)
      : map_(std::move(links.map)),
        wire_(std::move(links.messages), fabric),
        fabric_(fabric),
        plans_(plans),
        strict_(links.strict) {}

  [[nodiscard]] const fabric::NodeMap& map() const { return map_; }
  [[nodiscard]] static bool performs(coll::Collective collective);
  [[nodiscard]] bool performs(coll::Collective collective, const coll::Work& work) const;
  // False when it met an error.
  [[nodiscard]] bool perform(coll::Collective collective, const coll::Work& work);
  // After an error nobody goes on: this rank neither. `tells`: the others have not heard of it.
  void end(bool tells) {
    wire_.abandon();
    if (tells) wire_.call_off();
  }
  // The same for a call that is under way in another thread, which meets that.
  void call_off() { wire_.call_off(); }
  // Whether a member has met an error; one looks now and then.
  [[nodiscard]] bool is_called_off() { return looking_.has_come() && wire_.is_called_off(); }
  // What this rank sent to other nodes since this was asked last.
  [[nodiscard]] fabric::MessageWire::Sent sent() { return wire_.sent(); }

 private:
  fabric::NodeMap map_;
  fabric::MessageWire wire_;
  fabric::NodeFabric& fabric_;
  const choice::Plans& plans_;
  bool strict_;
  os::Occasion looking_{20};
};

}  // namespace tutti::engine
