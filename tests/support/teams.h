// SPDX-License-Identifier: BSD-3-Clause
// Teams of forked processes that play random scripts of collectives.
#pragma once

#include <memory>

#include "commons/commons.h"
#include "engine/engine.h"
#include "engine/node.h"
#include "engine/pending.h"
#include "fabric/node.h"
#include "progress/progress.h"
#include "support/fork_ranks.h"
#include "support/scene.h"

namespace tutti::test {

// The heap, as it is under Tutti's preload: large blocks from the commons where it is allowed.
inline constexpr Arena heap = {[](std::size_t bytes) {
                                 void* block = commons::allocate(bytes, 64, false);
                                 return block != nullptr ? block : std::malloc(bytes);
                               },
                               [](void* memory) {
                                 if (commons::owns(memory))
                                   commons::release(memory);
                                 else
                                   std::free(memory);
                               }};

// The program's own data.
inline void* from_static(std::size_t bytes) {
  static std::byte memory[std::size_t{256} << 20];
  return bytes <= sizeof memory ? memory : nullptr;
}
inline constexpr Arena static_data = {from_static, [](void*) {}};

inline std::shared_ptr<engine::Node> join(Rank& self, const char* option = "commons,cma,bounce") {
  ::setenv("TUTTI_MEMORY", option, 1);
  std::shared_ptr<engine::Node> node;
  const Status status = engine::Node::join(self.world, node);
  if (!status.ok()) std::fprintf(stderr, "join: %s\n", status.what);
  RANK_CHECK(status.ok());
  RANK_CHECK(node->size() == self.size && node->rank() == self.rank);
  return node;
}

inline std::shared_ptr<engine::Team> team_of(const engine::Exchange& group,
                                             const std::shared_ptr<engine::Node>& home) {
  const char* why = "";
  auto team = engine::Team::create(group, home, why);
  if (team == nullptr) std::fprintf(stderr, "create: %s\n", why);
  RANK_CHECK(team != nullptr);
  RANK_CHECK(team->rank() == group.rank && team->size() == group.size);
  return team;
}

inline void meet(Rank& self) {
  int here = 1, all[64];
  RANK_CHECK(self.world.allgather(&here, all, sizeof here));
}

// `what` and its number say which scene it was.
inline void check_verdict(Scene& scene, int rank, const char* what, std::uint64_t number) {
  const std::string verdict = scene.verdict_of(rank);
  if (!verdict.empty())
    std::fprintf(stderr, "%s %llu: %s\n", what, static_cast<unsigned long long>(number),
                 verdict.c_str());
  RANK_CHECK(verdict.empty());
}

inline void play(engine::Team& team, std::uint64_t seed, const Arena& arena,
                 std::size_t most_ops = 20, coll::Order order = coll::Order::tree) {
  std::mt19937_64 random(mix(seed));
  const auto algorithms = all_algorithms<fabric::NodeFabric>();
  const auto& most = algorithms[random() % algorithms.size()];
  Script script = draw_script<fabric::NodeFabric>(random, most, team.size(), {.ops = most_ops});
  for (Op& op : script.ops) op.order = order;
  Scene scene(std::move(script), arena);
  scene.play_alone(team.rank(), [&](const Op& op, const coll::Work& work) {
    team.run(op.algorithm.collective, work);
  });
  // No peer may touch these buffers any more, which a barrier gives it the time to.
  team.run(Collective::barrier, {});
  check_verdict(scene, team.rank(), "seed", seed);
}

}  // namespace tutti::test
