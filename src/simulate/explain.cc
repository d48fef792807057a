// SPDX-License-Identifier: BSD-3-Clause
#include "simulate/explain.h"

#include <strings.h>

#include <charconv>
#include <cstring>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

#include "base/options.h"
#include "choice/kept.h"
#include "choice/measure.h"
#include "choice/plans.h"
#include "os/affinity.h"
#include "simulate/experiment.h"

namespace tutti::simulate {
namespace {

struct Known {
  choice::Costs costs;
  const char* source;
  std::string file;
};

// By two threads, where there are two cores for them. They need not be as far from each other as
// ranks are, so what they find is not kept.
std::optional<choice::Costs> measure_here() {
  constexpr std::int64_t patience_ns = 500'000'000;
  const os::CpuMask usable = os::usable_cpus();
  int first_cpu = -1, last_cpu = -1;
  for (int cpu = 0; cpu < os::CpuMask::most; ++cpu) {
    if (!usable.has(cpu)) continue;
    if (first_cpu < 0) first_cpu = cpu;
    last_cpu = cpu;
  }
  if (first_cpu == last_cpu) return std::nullopt;
  const auto first = std::make_unique<segment::Desk>(), second = std::make_unique<segment::Desk>();
  std::thread other([&] {
    (void)os::run_on(os::CpuMask::of(last_cpu));
    (void)choice::measure(choice::Role::answers, *second, *first, patience_ns);
  });
  (void)os::run_on(os::CpuMask::of(first_cpu));
  const auto costs = choice::measure(choice::Role::asks, *first, *second, patience_ns);
  other.join();
  (void)os::run_on(usable);
  return costs;
}

// As ranks find them when they meet.
Known find_costs() {
  const std::string_view wish = options().costs;
  if (wish == "usual") return {choice::usual, "usual", ""};
  const std::string& file = choice::kept_file();
  if (wish != "measure")
    if (const auto kept = choice::load_costs(file)) return {*kept, "kept", file};
  if (const auto measured = measure_here()) return {*measured, "measured", ""};
  return {choice::usual, "usual", ""};
}

std::optional<Collective> find_collective(const char* word) {
  for (int i = 0; i < collective_count; ++i)
    if (::strcasecmp(name_of(static_cast<Collective>(i)), word) == 0)
      return static_cast<Collective>(i);
  return std::nullopt;
}

template <class T>
bool read(const char* word, T& number) {
  const char* end = word + std::strlen(word);
  const auto [stopped, error] = std::from_chars(word, end, number);
  return error == std::errc() && stopped == end;
}

void write(probe::Json& json, const Known& known) {
  json.key("costs")
      .object()
      .add("source", known.source)
      .add("file", known.file)
      .add("flag_ns", known.costs.flag_ns)
      .add("line_ns", known.costs.line_ns)
      .add("left_ns", known.costs.left_ns)
      .add("handed_back_ns", known.costs.handed_back_ns)
      .add("short_ns", known.costs.short_ns)
      .add("reserved_ns", known.costs.reserved_ns)
      .add("copy_ns", known.costs.copy_ns)
      .add("switch_ns", known.costs.switch_ns)
      .end_object();
}

void write(probe::Json& json, const choice::Algorithm& algorithm, const choice::Facts& facts,
           const choice::Costs& costs) {
  const std::size_t most = choice::most_bytes(algorithm.needs, facts.ranks);
  json.object().add("name", algorithm.name).add("description", algorithm.description);
  json.key("most_bytes");
  if (most == std::numeric_limits<std::size_t>::max())
    json.null();
  else
    json.value(static_cast<std::uint64_t>(most));
  json.add("fits", algorithm.fits(facts)).add("ns", algorithm.cost(facts, costs)).end_object();
}

}  // namespace

bool parse(int count, char** words, Question& question) {
  int late = 0;
  if (count != 5) return false;
  const auto collective = find_collective(words[0]);
  if (!collective || !read(words[1], question.bytes) || !read(words[2], question.ranks) ||
      !read(words[3], late) || !read(words[4], question.cores))
    return false;
  question.collective = *collective;
  question.late = late != 0;
  return question.ranks >= 2 && question.ranks <= static_cast<int>(segment::most_members);
}

void explain(const Question& question, probe::Json& json) {
  const Known known = find_costs();
  const int cores = question.cores > 0 ? question.cores : question.ranks;
  choice::Costs costs =
      choice::on_shared_cores(known.costs, static_cast<double>(question.ranks) / cores);
  costs.direct_bytes = choice::least_direct_bytes(costs);
  const auto table = table_of(question.collective, question.late);
  const choice::Facts facts{question.ranks, question.bytes};
  const std::string_view wanted = choice::wanted(question.collective);
  const int place = choice::place_of(table, wanted);
  const choice::Ladder ladder = choice::make_ladder(table, question.ranks, costs, place);
  json.object()
      .add("collective", name_of(question.collective))
      .add("ranks", question.ranks)
      .add("bytes", static_cast<std::uint64_t>(question.bytes))
      .add("cores", cores)
      .add("direct_bytes", static_cast<std::uint64_t>(costs.direct_bytes))
      .add("forced", wanted)
      .add("chosen",
           table.empty() ? "" : table[static_cast<std::size_t>(ladder.at(question.bytes))].name);
  write(json, known);
  json.key("algorithms").array();
  for (const choice::Algorithm& algorithm : table) write(json, algorithm, facts, costs);
  json.end_array().key("sizes").array();
  for (const choice::Ladder::Rung& rung : ladder.rungs()) {
    if (table.empty()) break;
    json.object().add("name", table[static_cast<std::size_t>(rung.algorithm)].name);
    json.key("most_bytes");
    if (rung.most_bytes == std::numeric_limits<std::size_t>::max())
      json.null();
    else
      json.value(static_cast<std::uint64_t>(rung.most_bytes));
    json.end_object();
  }
  json.end_array().end_object();
}

}  // namespace tutti::simulate
