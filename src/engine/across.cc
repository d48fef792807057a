// SPDX-License-Identifier: BSD-3-Clause
#include "engine/across.h"

#include <bit>
#include <cstring>

#include "coll/leaders/rows.h"
#include "os/clock.h"

namespace tutti::engine {
namespace {

constexpr auto algorithm_of = coll::leaders::algorithm_of<fabric::NodeFabric, fabric::MessageWire>;

// Each leader sends one message to the next node and receives one from the node before, by turns
// as one and in parts. That is how a ring passes large vectors on, and what the answers of
// receivers come behind. The first of each makes connections.
fabric::Task pass_round(coll::leaders::Members<fabric::NodeFabric, fabric::MessageWire>& all,
                        std::size_t part_bytes, Across::Times& took) {
  constexpr int rounds = 4;
  constexpr std::size_t bytes = limits::tried_message_bytes;
  const int me = all.map.node(), nodes = all.map.nodes();
  const int next = all.map.leader((me + 1) % nodes);
  const int previous = all.map.leader((me + nodes - 1) % nodes);
  std::byte* const sent = all.wire.scratch(2 * bytes);
  std::memset(sent, 0, 2 * bytes);
  for (int turn = 0; turn < 2 * (1 + rounds); ++turn) {
    const bool parts = turn % 2 == 1;
    all.wire.cut(parts ? part_bytes : limits::longest_message_bytes);
    const std::int64_t began = os::now_ns();
    (void)all.wire.send(next, sent, bytes);
    co_await all.wire.done(all.wire.receive(previous, sent + bytes, bytes));
    if (turn >= 2) took[parts] += static_cast<std::uint64_t>(os::now_ns() - began);
  }
  all.wire.cut(limits::longest_message_bytes);
}

}  // namespace

bool Across::performs(coll::Collective collective, bool blocking) const {
  return algorithm_of(collective) != nullptr && (blocking || starts_);
}

bool Across::performs(coll::Collective collective, const coll::Work& work) const {
  return coll::leaders::serves(map_, collective, work);
}

choice::Contest& Across::contest(coll::Collective collective, std::size_t bytes) {
  const auto size_class = static_cast<std::uint32_t>(std::bit_width(bytes));
  const std::uint32_t key = static_cast<std::uint32_t>(collective) << 8 | size_class;
  return contests_.try_emplace(key, collective).first->second;
}

bool Across::perform(coll::Collective collective, const coll::Work& work) {
  coll::leaders::Members<fabric::NodeFabric, fabric::MessageWire> all{
      fabric_, wire_, map_, plans_, strict_, background_.way};
  return succeeds(algorithm_of(collective)(all, work));
}

bool Across::compare_messages(std::size_t part_bytes, Times& took) {
  coll::leaders::Members<fabric::NodeFabric, fabric::MessageWire> all{
      fabric_, wire_, map_, plans_, strict_, background_.way};
  return !all.leads() || succeeds(pass_round(all, part_bytes, took));
}

bool Across::succeeds(const fabric::Task& task) {
  fabric::NodeProvider& provider = fabric_.provider();
  const bool succeeded = task.done() && !provider.failed() && !provider.has_read_in_vain();
  if (succeeded) wire_.end_call();
  return succeeded;
}

}  // namespace tutti::engine
