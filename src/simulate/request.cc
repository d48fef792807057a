// SPDX-License-Identifier: BSD-3-Clause
#include "simulate/request.h"

#include <algorithm>
#include <string_view>

#include "simulate/words.h"

namespace tutti::simulate {
namespace {

using coll::Collective;
using progress::Placement;

constexpr struct {
  std::string_view name;
  Collective collective;
} collectives[] = {{"iscan", Collective::scan},       {"ibcast", Collective::bcast},
                   {"ireduce", Collective::reduce},   {"igather", Collective::gather},
                   {"iscatter", Collective::scatter}, {"iallreduce", Collective::allreduce}};

template <class Value>
struct Named {
  const char* name;
  Value value;
};
constexpr Named<Placement> placements[] = {
    {"bind", Placement::bind}, {"numa", Placement::numa}, {"odd-even", Placement::odd_even}};
constexpr Named<Algorithms> algorithms[] = {{"paper", Algorithms::paper},
                                            {"direct", Algorithms::direct}};

// Round figures for one core of such a chip, not measurements: what is said of placements and
// levels depends on how large latency is beside a transfer, and on nothing else of them.
constexpr struct {
  std::string_view name;
  lab::Machine machine;
  progress::Chip chip;
} machines[] = {
    {"knl", {.cores = 64, .bytes_per_ns = 4, .latency_ns = 2000}, {.cores = 64, .domains = 1}},
    {"skylake", {.cores = 48, .bytes_per_ns = 10, .latency_ns = 500}, {.cores = 48, .domains = 2}},
};

// A rank's buffer really has at most so many bytes; each then stands for several. Direct algorithms
// cut it into pieces that depend on its size.
constexpr std::size_t real_bytes = std::size_t{64} << 10;
constexpr std::size_t real_direct_bytes = std::size_t{2} << 20;
constexpr int most_cores = 1024;

template <class Value, std::size_t count>
bool choose_list(std::string_view text, const Named<Value> (&rows)[count],
                 std::vector<Value>& chosen) {
  chosen.clear();
  return every_word(text, ",", [&](std::string_view word) {
    return choose(rows, word, [&](const auto& row) { chosen.push_back(row.value); });
  });
}

template <class Value, std::size_t count>
const char* name_in(const Named<Value> (&rows)[count], Value value) {
  for (const Named<Value>& row : rows)
    if (row.value == value) return row.name;
  return "?";
}

bool set(Request& to, std::string_view name, std::string_view value) {
  if (name == "machine")
    return choose(machines, value, [&](const auto& row) {
      to.machine = row.machine;
      to.chip = row.chip;
    });
  if (name == "cores") return read(value, to.chip.cores);
  if (name == "domains") return read(value, to.chip.domains);
  if (name == "bytes") return read(value, to.what.bytes);
  if (name == "piece") return read(value, to.what.piece_bytes);
  if (name == "communication") return read_list(value, to.communication);
  if (name == "levels") return read_list(value, to.levels);
  if (name == "algorithm") return choose_list(value, algorithms, to.algorithms);
  if (name == "placement") return choose_list(value, placements, to.placements);
  if (name == "overlap") return read(value, to.overlap);
  if (name == "interrupts") return read(value, to.machine.interrupts);
  if (name == "trace") return read(value, to.trace);
  return false;
}

std::string check(const Request& request) {
  const progress::Chip& chip = request.chip;
  if (chip.cores < 2 || chip.cores > most_cores) return "cores";
  if (chip.domains < 1 || chip.cores % chip.domains != 0) return "domains";
  if (request.what.bytes < sizeof(std::uint64_t)) return "bytes";
  for (const int free : request.communication)
    if (free >= chip.cores) return "communication";
  return "";
}

}  // namespace

const char* name_of(Placement placement) { return name_in(placements, placement); }
const char* name_of(Algorithms chosen) { return name_in(algorithms, chosen); }

std::string parse(int count, char** words, Request& request) {
  if (count < 1) return "no collective";
  if (!choose(collectives, words[0],
              [&](const auto& row) { request.what.collective = row.collective; }))
    return std::string("collective ") + words[0];
  (void)set(request, "machine", "knl");
  const std::string_view unknown = read_words(
      count - 1, words + 1,
      [&](std::string_view name, std::string_view value) { return set(request, name, value); });
  if (!unknown.empty()) return std::string(unknown);
  request.machine.cores = request.chip.cores;
  const bool direct = std::ranges::count(request.algorithms, Algorithms::direct) != 0;
  const std::size_t most = direct ? real_direct_bytes : real_bytes;
  while (request.what.bytes / request.machine.scale > most) request.machine.scale *= 2;
  return check(request);
}

}  // namespace tutti::simulate
