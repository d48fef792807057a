// SPDX-License-Identifier: BSD-3-Clause
#include "engine/across.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "coll/leaders/rows.h"
#include "os/clock.h"

namespace tutti::engine {
namespace {

// Each leader sends messages to the next node and receives as many from the node before, two of
// them under way at any time: so pipelines pass large vectors on, and the answer of a receiver
// comes behind what is on its way. That is done by turns with each message as one and in parts, and
// then with a few bytes in the place of each. (A network that has rested may take more at once, so
// these are not among the turns of the others.) The first turn of each makes connections, and the
// longest one may have met something else: neither counts.
fabric::Task pass_round(coll::leaders::Members<fabric::NodeFabric, fabric::MessageWire>& all,
                        std::size_t bytes, std::size_t part_bytes, Across::Trial& took) {
  enum Kind : std::uint8_t { whole, parts, few };
  constexpr int turns = 4;  // of each kind
  constexpr std::size_t turn_bytes = 512 * limits::kib, few_bytes = 8;
  const std::uint64_t messages = std::max<std::size_t>(2, turn_bytes / bytes);  // in a turn
  constexpr Kind kinds[3 * turns] = {whole, parts, whole, parts, whole, parts,
                                     whole, parts, few,   few,   few,   few};
  const int me = all.map.node(), nodes = all.map.nodes();
  const int next = all.map.leader((me + 1) % nodes);
  const int previous = all.map.leader((me + nodes - 1) % nodes);
  std::byte* const sent = all.wire.scratch(3 * bytes);
  std::memset(sent, 0, 3 * bytes);
  std::vector<std::uint64_t> times[3];
  for (const Kind kind : kinds) {
    all.wire.cut(kind == parts ? fabric::Cut{part_bytes, part_bytes} : fabric::Cut{});
    const std::size_t length = kind == few ? few_bytes : bytes;
    const std::int64_t began = os::now_ns();
    for (fabric::Ticket before = 0, message = 0; message <= messages; ++message) {
      fabric::Ticket last = 0;
      if (message < messages) {
        (void)all.wire.send(next, sent, length);
        last = all.wire.receive(previous, sent + (1 + message % 2) * bytes, length);
      }
      co_await all.wire.done(std::exchange(before, last));
    }
    times[kind].push_back(static_cast<std::uint64_t>(os::now_ns() - began));
  }
  const auto sum = [&](Kind kind) {
    const std::span counted = std::span(times[kind]).subspan(1);
    return std::accumulate(counted.begin(), counted.end(), std::uint64_t{0}) -
           std::ranges::max(counted);
  };
  took = {(turns - 2) * messages, sum(whole), sum(parts), sum(few)};
  all.wire.cut(fabric::Cut{});
}

}  // namespace

std::vector<std::string_view> algorithms_between_nodes(coll::Collective collective) {
  std::vector<std::string_view> names;
  for (const auto& row :
       coll::leaders::rows_of<fabric::NodeFabric, fabric::MessageWire>(collective))
    names.emplace_back(row.name);
  return names;
}

coll::leaders::Way way_of_options() {
  return coll::leaders::way_of_options<fabric::NodeFabric, fabric::MessageWire>();
}

bool Across::performs(coll::Collective collective, const coll::Work& work) const {
  // Late reductions gather all operands, which mostly takes longer than the MPI does.
  return !(contested_ && work.operands != nullptr) && coll::leaders::serves(map_, collective, work);
}

choice::Contest& Across::contest(coll::Collective collective, std::size_t bytes) {
  const auto size_class = static_cast<std::uint32_t>(std::bit_width(bytes));
  const std::uint32_t key = static_cast<std::uint32_t>(collective) << 8 | size_class;
  return contests_.try_emplace(key, collective, shares_cores_).first->second;
}

bool Across::perform(coll::Collective collective, const coll::Work& work) {
  auto all = members();
  wire_.enter(collective, work.root, work.op, fabric_.call());
  return succeeds(coll::leaders::run(all, collective, work));
}

bool Across::try_messages(std::size_t bytes, std::size_t part_bytes, Trial& took) {
  auto all = members();
  wire_.enter(Collective::barrier, 0, 0, fabric_.call());  // or another one that all say
  return !all.leads() || succeeds(pass_round(all, bytes, part_bytes, took));
}

bool Across::succeeds(const fabric::Task& task) {
  fabric::NodeProvider& provider = fabric_.provider();
  const bool succeeded = task.done() && !provider.failed() && !provider.has_read_in_vain();
  if (succeeded) wire_.end_call();
  return succeeded;
}

}  // namespace tutti::engine
