// SPDX-License-Identifier: BSD-3-Clause
// Blocking collectives on simulated nodes that a network joins: with leaders, as the library does
// them there, or flat, where every rank sends messages to every other, as if each were a node of
// its own.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "coll/leaders/way.h"
#include "coll/work.h"
#include "lab/cluster.h"
#include "probe/json.h"

namespace tutti::simulate {

enum class Scheme : std::uint8_t { leaders, flat };

struct ClusterCase {
  std::size_t bytes = 0;  // one rank's vector; where blocks move, a block
  Scheme scheme = Scheme::leaders;
  coll::leaders::Way way;
};

struct ClusterRequest {
  coll::Collective collective = coll::Collective::barrier;
  lab::ClusterMachine machine;
  std::vector<std::int32_t> hosts;  // by rank
  std::int64_t late_ns = 0;         // the ranks of the last node come later
  std::vector<ClusterCase> cases;
  bool simulated = true;  // for explain_leaders(): what each algorithm takes
};

struct ClusterOutcome {
  bool right = false;    // all ranks ended; with the right results, where those are looked at
  bool compared = true;  // they are: each rank has buffers of its own
  std::int64_t ns = 0;   // from when the last rank came until all were through
  std::uint64_t messages = 0, bytes = 0;  // between nodes
  const char* algorithm = "";             // of the leaders
};

// The networks that are known, by name.
void list_networks(probe::Json& json);

// "" or what is wrong. `words`: the collective, and name=value.
[[nodiscard]] std::string parse(int count, char** words, ClusterRequest& request);

[[nodiscard]] ClusterOutcome try_case(const ClusterRequest& request, const ClusterCase& what);

// False: some case was not right.
[[nodiscard]] bool simulate_cluster(const ClusterRequest& request, probe::Json& json);

// For `tutti explain --nodes`, of the first case's bytes: which algorithm leaders take, as options
// have it, and which others could run the call; a case for each of these, and one without leaders.
[[nodiscard]] bool explain_leaders(const ClusterRequest& request, probe::Json& json);

}  // namespace tutti::simulate
