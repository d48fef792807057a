// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "base/collective.h"
#include "coll/leaders/way.h"
#include "fabric/messages.h"
#include "fabric/node_map.h"

namespace tutti::engine {

// How a team of several nodes meets.
struct Links {
  fabric::NodeMap map;
  // Of blocking collectives, and of nonblocking ones; members are ranks in `map`.
  std::shared_ptr<fabric::Messages> messages, background_messages;
  bool any_thread = false;    // may send and receive the latter, or only the rank's own
  bool strict = false;        // as Node::strict(), but of all nodes
  bool contested = false;     // blocking collectives are the MPI's where that is faster
  bool shares_cores = false;  // ranks of the job do, on any node
  bool starts = true;         // nonblocking ones are Tutti's
  coll::leaders::Way way = {};
};

// The algorithms between nodes, by name.
[[nodiscard]] std::vector<std::string_view> algorithms_between_nodes(Collective collective);
// What options say of collectives over nodes; the rest as usual.
[[nodiscard]] coll::leaders::Way way_of_options();

}  // namespace tutti::engine
