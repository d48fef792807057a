// SPDX-License-Identifier: BSD-3-Clause
// Teams of several nodes: the nodes are groups of forked processes, which send each other messages
// by pipes.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "engine/engine.h"
#include "engine/links.h"
#include "support/pipe_messages.h"
#include "support/teams.h"

namespace tutti::test {

// hosts[i] is the node of rank i.
inline std::shared_ptr<engine::Team> team_across(
    Rank& self, Wires& wires, const std::vector<std::int32_t>& hosts, bool strict = false,
    bool any_thread = false, bool contested = false,
    std::shared_ptr<fabric::Messages> messages = nullptr, bool shares_cores = false,
    std::shared_ptr<fabric::Messages> background = nullptr) {
  wires.become(self.rank);
  if (messages == nullptr)
    messages = std::make_shared<PipeMessages>(wires, self.size, self.rank, true);
  if (background == nullptr)
    background = std::make_shared<PipeMessages>(wires, self.size, self.rank, false);
  fabric::NodeMap map(hosts, self.rank);
  std::vector<int> near(map.members(map.node()).begin(), map.members(map.node()).end());
  const int place = map.place_of(self.rank);
  engine::Exchange group = self.pipes.exchange(near, place);
  group.world_rank = self.rank;
  std::shared_ptr<engine::Node> node;
  RANK_CHECK(engine::Node::join(group, node).ok());
  std::vector<int> members;
  for (std::size_t i = 0; i < near.size(); ++i) members.push_back(static_cast<int>(i));
  auto links = std::make_unique<engine::Links>(engine::Links{
      .map = map,
      .messages = std::move(messages),
      .background_messages = std::move(background),
      .any_thread = any_thread,
      .strict = strict,
      .contested = contested,
      .shares_cores = shares_cores,
      .starts = !contested,
      .way = {.shares_cores = shares_cores,
              .doubled_bytes = 512,
              .halved_bytes = 4096,
              .leaders = 2,
              .part_bytes = 16,
              .block_part_bytes = 16},
  });
  const char* why = "";
  auto team = engine::Team::join(node, 77, members, place, false, why, std::move(links));
  RANK_CHECK(team != nullptr);
  RANK_CHECK(team->rank() == self.rank && team->size() == self.size && team->spans_nodes());
  return team;
}

}  // namespace tutti::test
