// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>

#include "job/job.h"
#include "os/os.h"

namespace tutti::job {
namespace {

constexpr std::size_t most_told = 6;     // of whom everything known is said
constexpr std::size_t most_ranges = 24;  // and then "..."

// "1 and 3", "0-3, 7 and 9"
std::string list(std::span<const Absentee> absentees) {
  std::vector<std::string> ranges;
  for (std::size_t i = 0; i < absentees.size();) {
    std::size_t last = i;
    while (last + 1 < absentees.size() && absentees[last + 1].rank == absentees[last].rank + 1)
      ++last;
    std::string range = std::to_string(absentees[i].rank);
    if (last > i) range += (last > i + 1 ? "-" : " and ") + std::to_string(absentees[last].rank);
    ranges.push_back(range);
    i = last + 1;
  }
  if (ranges.size() == 2 && absentees.size() == 2) return ranges[0] + " and " + ranges[1];
  std::string text;
  for (std::size_t i = 0; i < std::min(ranges.size(), most_ranges); ++i)
    text += (i > 0 ? ", " : "") + ranges[i];
  return ranges.size() > most_ranges ? text + ", ..." : text;
}

std::string details(const Absentee& absentee) {
  std::string text;
  if (absentee.pid != 0) text = "pid " + std::to_string(absentee.pid);
  if (!absentee.host.empty()) text += (text.empty() ? "on " : " on ") + absentee.host;
  if (!absentee.why.empty()) text += (text.empty() ? "" : ": ") + absentee.why;
  return text;
}

std::string why_without(pid_t pid) {
  std::string value;
  if (os::variable_of(pid, "TUTTI_OFF", value) && value != "0") return "TUTTI_OFF=" + value;
  return os::has_mapped(pid, "libtutti") ? "" : "libtutti.so is not loaded";
}

}  // namespace

std::string describe(std::span<const Absentee> absentees, int ranks) {
  std::string text = absentees.size() == 1 ? "rank " : "ranks ";
  text += list(absentees) + " of " + std::to_string(ranks) +
          (absentees.size() == 1 ? " runs" : " run") + " without Tutti";
  std::string known;
  std::size_t told = 0;
  for (const Absentee& each : absentees) {
    const std::string more = details(each);
    if (more.empty() || told == most_told) continue;
    if (told++ > 0) known += "; ";
    if (absentees.size() > 1) known += std::to_string(each.rank) + " is ";
    known += more;
  }
  if (told == most_told && absentees.size() > most_told) known += "; ...";
  return known.empty() ? text : text + " (" + known + ")";
}

void look_around(std::span<Absentee> absentees, const char* rank_variable) {
  const pid_t launcher = os::launcher(rank_variable);
  if (launcher <= 1) return;
  std::string value;
  const std::string host = Signature::mine().host;
  for (const pid_t child : os::children_of(launcher)) {
    if (!os::variable_of(child, rank_variable, value)) continue;
    const auto found =
        std::find_if(absentees.begin(), absentees.end(), [&](const Absentee& absentee) {
          return absentee.pid == 0 && std::to_string(absentee.rank) == value;
        });
    if (found == absentees.end()) continue;
    found->pid = child;
    found->host = host;
    found->why = why_without(child);
  }
}

}  // namespace tutti::job
