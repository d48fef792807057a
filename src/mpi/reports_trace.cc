// SPDX-License-Identifier: BSD-3-Clause
// What all ranks have recorded goes to rank 0, which writes it.
#include <algorithm>
#include <limits>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "base/base.h"
#include "mpi/reports.h"
#include "os/clock.h"
#include "trace/trace.h"
#include "trace/writer.h"

namespace tutti::mpi {

namespace {

// What a rank says of its record.
struct Head {
  std::uint64_t met_ns, first_ns, spans, messages, dropped;
};

Head head_of(const trace::Record& record, std::uint64_t met_ns) {
  Head head{met_ns, ~std::uint64_t{0}, record.spans.size(), record.messages.size(), record.dropped};
  for (const trace::Entry& span : record.spans) head.first_ns = std::min(head.first_ns, span.begin);
  return head;
}

// Of each rank: its node, and by how much its times are to be shifted to the clock of rank 0's
// node, from the first thing of all on.
struct Sources {
  std::vector<trace::Writer::Source> ranks;
  int nodes = 0;
  std::uint64_t dropped = 0;
};

Sources sources_of(const std::vector<Head>& heads, const std::vector<std::uint64_t>& hosts) {
  Sources sources;
  std::map<std::uint64_t, std::pair<int, std::uint64_t>> nodes;  // by host: its number and clock
  std::int64_t first_ns = std::numeric_limits<std::int64_t>::max();
  for (std::size_t rank = 0; rank < heads.size(); ++rank) {
    const Head& head = heads[rank];
    const auto number = static_cast<int>(nodes.size());
    const auto& [node, node_met_ns] =
        nodes.try_emplace(hosts[rank], number, head.met_ns).first->second;
    const auto shift_ns = static_cast<std::int64_t>(heads[0].met_ns - node_met_ns);
    sources.ranks.push_back({static_cast<int>(rank), node, shift_ns});
    sources.dropped += head.dropped;
    if (head.spans != 0)
      first_ns = std::min(first_ns, static_cast<std::int64_t>(head.first_ns) + shift_ns);
  }
  for (trace::Writer::Source& source : sources.ranks) source.shift_ns -= first_ns;
  sources.nodes = static_cast<int>(nodes.size());
  return sources;
}

}  // namespace

template <class H>
void Reports<H>::write_trace(const engine::Exchange& group,
                             const std::vector<std::uint64_t>& hosts) {
  const auto met_ns = static_cast<std::uint64_t>(os::now_ns());
  const trace::Record record = trace::stop();
  const Head mine = head_of(record, met_ns);
  const auto ranks = static_cast<std::size_t>(group.size);
  std::vector<Head> heads(ranks);
  if (!group.allgather(&mine, heads.data(), sizeof mine)) return;
  const Sources sources = sources_of(heads, hosts);

  // A piece of each rank's at a time, so that rank 0 needs no memory for all. What the MPI is told
  // of it is in int.
  constexpr std::uint64_t most_bytes = std::uint64_t{64} << 20;
  const std::uint64_t most_entries =
      std::clamp<std::uint64_t>(most_bytes / sizeof(trace::Entry) / ranks, 1, 1024);
  std::vector<trace::Entry> piece(group.rank == 0 ? ranks * most_entries : 0);
  std::vector<int> counts(ranks), displacements(ranks);
  const auto gather = [&](const std::vector<trace::Entry>& entries, std::uint64_t Head::*count,
                          auto add) {
    std::uint64_t most = 0;
    for (const Head& head : heads) most = std::max(most, head.*count);
    for (std::uint64_t at = 0; at < most; at += most_entries) {
      for (std::size_t rank = 0; rank < ranks; ++rank) {
        const std::uint64_t all = heads[rank].*count;
        const std::uint64_t part = std::min(all - std::min(all, at), most_entries);
        counts[rank] = static_cast<int>(part * sizeof(trace::Entry));
        displacements[rank] = static_cast<int>(rank * most_entries * sizeof(trace::Entry));
      }
      const auto me = static_cast<std::size_t>(group.rank);
      const trace::Entry* from = entries.data() + std::min<std::uint64_t>(at, entries.size());
      if (native_.small.gatherv(from, counts[me], native_.byte, piece.data(), counts.data(),
                                displacements.data(), native_.byte, 0, native_.world) != 0)
        return;
      if (group.rank != 0) continue;
      for (std::size_t rank = 0; rank < ranks; ++rank)
        add(sources.ranks[rank], std::span<const trace::Entry>(piece).subspan(
                                     rank * most_entries, static_cast<std::size_t>(counts[rank]) /
                                                              sizeof(trace::Entry)));
    }
  };
  const char* path = group.rank == 0 ? options().trace : "";
  trace::Writer writer(path, sources.nodes, engine::name_of_kind);
  gather(record.spans, &Head::spans,
         [&](const auto& source, auto part) { writer.add_spans(source, part); });
  gather(record.messages, &Head::messages,
         [&](const auto& source, auto part) { writer.add_messages(source, part); });
  if (group.rank == 0 && !writer.finish(sources.dropped))
    log::warn("the trace could not be written to %s", path);
}

template void Reports<int>::write_trace(const engine::Exchange&, const std::vector<std::uint64_t>&);
template void Reports<void*>::write_trace(const engine::Exchange&,
                                          const std::vector<std::uint64_t>&);

}  // namespace tutti::mpi
