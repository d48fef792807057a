// SPDX-License-Identifier: BSD-3-Clause
// tutti-simulate: nonblocking collectives on chips that are not here, and blocking ones on
// clusters, as JSON on standard output. The `tutti` command reads it.
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "probe/json.h"
#include "simulate/cluster.h"
#include "simulate/explain.h"
#include "simulate/request.h"

namespace tutti::simulate {
namespace {

using fabric::Executor;
using lab::Trace;
using probe::Json;

const char* word_of(Trace::Kind kind) {
  constexpr const char* names[] = {"computing", "progress", "waiting", "idle"};
  return names[static_cast<std::size_t>(kind)];
}

// The format that `tutti trace` draws.
void write(Json& json, const Trace& trace, const std::string& title, int cores) {
  json.object().add("version", 1).add("unit", "ns").add("title", title);
  json.key("cores").array();
  for (int core = 0; core < cores; ++core)
    json.object().add("core", core).add("name", "core " + std::to_string(core)).end_object();
  json.end_array().key("spans").array();
  for (const Trace::Span& span : trace.spans)
    json.object()
        .add("core", span.core)
        .add("rank", span.rank)
        .add("executor", span.executor == Executor::rank ? "rank" : "progress")
        .add("kind", word_of(span.kind))
        .add("begin", span.begin_ns)
        .add("end", span.end_ns)
        .add("what", title)
        .end_object();
  json.end_array().key("messages").array();
  for (const Trace::Message& message : trace.messages) {
    json.object()
        .add("what", title)
        .add("bytes", static_cast<std::uint64_t>(message.bytes))
        .add("begin", message.begin_ns)
        .add("end", message.end_ns);
    json.key("from").object();
    json.add("core", message.from_core).add("rank", message.from_rank).end_object();
    json.key("to").object();
    json.add("core", message.to_core).add("rank", message.to_rank).end_object().end_object();
  }
  json.end_array().add("dropped", 0).end_object();
}

void write(Json& json, int communication, progress::Placement placement, int ranks,
           const Case& what, const Outcome& outcome) {
  json.object()
      .add("ranks", ranks)
      .add("communication_cores", communication)
      .add("placement", name_of(placement))
      .add("algorithm", name_of(what.algorithms))
      .add("levels", what.levels)
      .add("blocking_ns", outcome.blocking_ns)
      .add("pure_ns", outcome.pure_ns)
      .add("computation_ns", outcome.computation_ns)
      .add("overlapped_ns", outcome.overlapped_ns)
      .end_object();
}

bool trace(const Request& request, Chip& chip, const Case& what, std::int64_t computation_ns,
           Json& json) {
  if (chip.run(what, {.compute_ns = request.overlap ? computation_ns : 0}) < 0) return false;
  const std::string title =
      std::string("I") + coll::name_of(what.collective) + " " + std::to_string(what.bytes) + " B";
  write(json, chip.trace(), title, request.chip.cores);
  return true;
}

// Direct algorithms have no levels.
std::vector<Case> variants(const Request& request) {
  std::vector<Case> all;
  for (const Algorithms algorithms : request.algorithms)
    for (const int levels : request.levels) {
      Case& next = all.emplace_back(request.what);
      next.algorithms = algorithms;
      if (algorithms == Algorithms::direct) break;
      next.levels = levels;
    }
  return all;
}

bool answer(const Request& request, Json& json) {
  const std::int64_t all_ns = blocking_on_all_ns(request.machine, request.chip, request.what);
  json.object()
      .add("cores", request.chip.cores)
      .add("domains", request.chip.domains)
      .add("bytes_per_ns", request.machine.bytes_per_ns)
      .add("latency_ns", request.machine.latency_ns);
  Json traces;
  traces.array();
  json.key("cases").array();
  for (const int communication : request.communication) {
    const progress::CoreLayout layout = progress::lay_out(request.chip, communication);
    const int ranks = static_cast<int>(layout.application.size());
    const std::int64_t computation_ns = all_ns * request.chip.cores / ranks;
    for (const progress::Placement placement : request.placements) {
      Chip chip(request.machine, layout, placement);
      for (const Case& each : variants(request)) {
        const Outcome outcome = try_case(chip, each, computation_ns);
        if (!outcome.right) return false;
        write(json, communication, placement, ranks, each, outcome);
        if (request.trace && !trace(request, chip, each, computation_ns, traces)) return false;
      }
    }
  }
  json.end_array().key("traces").raw(traces.end_array().text()).end_object();
  return true;
}

int print(const Json& json) {
  return std::puts(json.text().c_str()) < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}

int explain(int count, char** words) {
  Question question;
  if (!parse(count, words, question)) {
    std::fputs("usage: tutti-simulate explain COLLECTIVE BYTES RANKS USER_OP CORES\n", stderr);
    return 2;
  }
  Json json;
  explain(question, json);
  return print(json);
}

template <class Asked>
int simulate(int count, char** words, bool (*answer)(const Asked&, Json&)) {
  Asked request;
  const std::string problem = parse(count, words, request);
  if (!problem.empty()) {
    std::fprintf(stderr, "tutti-simulate: cannot take %s\n", problem.c_str());
    return 2;
  }
  Json json;
  if (!answer(request, json)) {
    std::fputs("tutti-simulate: a simulated collective did not end, or its result is wrong\n",
               stderr);
    return EXIT_FAILURE;
  }
  return print(json);
}

int networks() {
  Json json;
  list_networks(json);
  return print(json);
}

int main(int count, char** words) {
  const std::string_view first = count > 1 ? words[1] : "";
  if (first == "explain") return explain(count - 2, words + 2);
  if (first == "cluster") return simulate<ClusterRequest>(count - 2, words + 2, simulate_cluster);
  if (first == "leaders") return simulate<ClusterRequest>(count - 2, words + 2, explain_leaders);
  if (first == "networks") return networks();
  return simulate<Request>(count - 1, words + 1, answer);
}

}  // namespace
}  // namespace tutti::simulate

int main(int count, char** words) { return tutti::simulate::main(count, words); }
