// SPDX-License-Identifier: BSD-3-Clause
#include <strings.h>

#include <algorithm>

#include "simulate/cluster.h"
#include "simulate/words.h"

namespace tutti::simulate {
namespace {

using coll::Collective;

constexpr Collective served[] = {Collective::barrier,   Collective::bcast,
                                 Collective::reduce,    Collective::allreduce,
                                 Collective::gather,    Collective::scatter,
                                 Collective::allgather, Collective::alltoall,
                                 Collective::scan,      Collective::reduce_scatter_block};

// Round figures, not measurements, but for what the paper says of its network: Mamidala et al. 2007
// found 2.098 us for each message of a scatter and 0.000935 us for a byte.
constexpr struct {
  std::string_view name;
  lab::ClusterMachine machine;
} networks[] = {
    {"infiniband-2007",
     {.bytes_per_ns = 1.5,
      .flag_ns = 150,
      .network = {.bytes_per_ns = 1 / 0.935,
                  .latency_ns = 3000,
                  .hop_ns = 200,
                  .startup_ns = 2098,
                  .call_ns = 500,
                  .eager_bytes = 8192}}},
    {"infiniband",
     {.bytes_per_ns = 10,
      .flag_ns = 75,
      .network = {.bytes_per_ns = 25,
                  .latency_ns = 1000,
                  .hop_ns = 300,
                  .startup_ns = 10,
                  .call_ns = 200,
                  .eager_bytes = 16384}}},
    {"ethernet",
     {.bytes_per_ns = 10,
      .flag_ns = 75,
      .network = {.bytes_per_ns = 1.25,
                  .latency_ns = 20'000,
                  .hop_ns = 1000,
                  .startup_ns = 1500,
                  .call_ns = 3000,
                  .eager_bytes = 65536}}},
};

constexpr std::int32_t most_nodes = 4096, most_ranks = 1 << 17;

// How ranks lie over nodes. uneven: every other node has half as many.
enum class Layout : std::uint8_t { block, cyclic, uneven };
constexpr struct {
  std::string_view name;
  Layout layout;
} layouts[] = {{"block", Layout::block}, {"cyclic", Layout::cyclic}, {"uneven", Layout::uneven}};

std::vector<std::int32_t> hosts_of(Layout layout, std::int32_t nodes, std::int32_t each) {
  std::vector<std::int32_t> hosts;
  if (layout == Layout::cyclic) {
    for (std::int32_t rank = 0; rank < nodes * each; ++rank) hosts.push_back(rank % nodes);
    return hosts;
  }
  for (std::int32_t node = 0; node < nodes; ++node) {
    const bool half = layout == Layout::uneven && node % 2 == 1;
    for (std::int32_t i = 0; i < (half ? (each + 1) / 2 : each); ++i) hosts.push_back(node);
  }
  return hosts;
}

// What is said by words, before it becomes cases.
struct Words {
  std::int32_t nodes = 16, each = 8;
  Layout layout = Layout::block;
  std::vector<std::size_t> bytes = {8};
  std::vector<Scheme> schemes = {Scheme::leaders};
  std::vector<int> leaders = {coll::leaders::Way().leaders};
  std::vector<std::size_t> slices = {coll::leaders::Way().slice_bytes};
  std::size_t packed = coll::leaders::Way().packed_bytes;
  std::vector<std::size_t> forwarded;  // none: as usual
};

constexpr struct {
  std::string_view name;
  Scheme scheme;
} schemes[] = {{"leaders", Scheme::leaders}, {"flat", Scheme::flat}};

bool set(Words& said, ClusterRequest& request, std::string_view name, std::string_view value) {
  if (name == "network")
    return choose(networks, value, [&](const auto& row) { request.machine = row.machine; });
  if (name == "layout")
    return choose(layouts, value, [&](const auto& row) { said.layout = row.layout; });
  if (name == "scheme") {
    said.schemes.clear();
    return every_word(value, ",", [&](std::string_view word) {
      return choose(schemes, word, [&](const auto& row) { said.schemes.push_back(row.scheme); });
    });
  }
  if (name == "simulated") return read(value, request.simulated);
  if (name == "nodes") return read(value, said.nodes);
  if (name == "ranks") return read(value, said.each);
  if (name == "bytes") return read_list(value, said.bytes);
  if (name == "leaders") return read_list(value, said.leaders);
  if (name == "slice") return read_list(value, said.slices);
  if (name == "packed") return read(value, said.packed);
  if (name == "forwarded") return read_list(value, said.forwarded);
  if (name == "late") return read(value, request.late_ns);
  if (name == "switch") return read(value, request.machine.network.switch_nodes);
  if (name == "taper") return read(value, request.machine.network.taper);
  return false;
}

// Flat has neither several leaders nor slices to choose.
std::vector<coll::leaders::Way> ways(const Words& said, Scheme scheme) {
  std::vector<coll::leaders::Way> all;
  for (const int leaders : said.leaders)
    for (const std::size_t slice : said.slices) {
      if (scheme == Scheme::flat && (leaders != said.leaders[0] || slice != said.slices[0]))
        continue;
      coll::leaders::Way way{.slice_bytes = slice, .leaders = leaders, .packed_bytes = said.packed};
      if (said.forwarded.empty()) all.push_back(way);
      for (const std::size_t forwarded : said.forwarded) {
        way.forwarded_bytes = forwarded;
        way.passed_bytes = forwarded;
        way.nodes_a_round = 0;  // whoever says so wants it on few nodes, too
        all.push_back(way);
      }
    }
  return all;
}

std::string check(const Words& said, const ClusterRequest& request) {
  if (said.nodes < 2 || said.nodes > most_nodes) return "nodes";
  if (said.each < 1 || said.each > most_ranks / said.nodes) return "ranks";
  if (request.machine.network.taper < 1) return "taper";
  for (const int leaders : said.leaders)
    if (leaders < 1) return "leaders";
  if (request.collective == Collective::scan && said.layout == Layout::cyclic) return "layout";
  return "";
}

}  // namespace

void list_networks(probe::Json& json) {
  json.object();
  for (const auto& [name, machine] : networks)
    json.key(std::string(name).c_str())
        .object()
        .add("startup_ns", machine.network.startup_ns)
        .add("byte_ns", 1 / machine.network.bytes_per_ns)
        .end_object();
  json.end_object();
}

std::string parse(int count, char** words, ClusterRequest& request) {
  if (count < 1) return "no collective";
  const auto named = [&](Collective each) {
    return ::strcasecmp(coll::name_of(each), words[0]) == 0;
  };
  const Collective* const found = std::ranges::find_if(served, named);
  if (found == std::end(served)) return std::string("collective ") + words[0];
  request.collective = *found;
  request.machine = networks[1].machine;
  Words said;
  const std::string_view unknown =
      read_words(count - 1, words + 1, [&](std::string_view name, std::string_view value) {
        return set(said, request, name, value);
      });
  if (!unknown.empty()) return std::string(unknown);
  if (const std::string problem = check(said, request); !problem.empty()) return problem;
  request.hosts = hosts_of(said.layout, said.nodes, said.each);
  for (const std::size_t bytes : said.bytes)
    for (const Scheme scheme : said.schemes)
      for (const coll::leaders::Way& way : ways(said, scheme))
        request.cases.push_back({bytes, scheme, way});
  return "";
}

}  // namespace tutti::simulate
