// SPDX-License-Identifier: BSD-3-Clause
// {"cores", "rows": [a row for each number of ranks], "growing": [the same for growing buffers]}
#include "lab/model.h"

#include <cmath>
#include <string>
#include <utility>

#include "probe/probe.h"

namespace tutti::probe {
namespace {

using Time = double (*)(int ranks, int cores, int levels, lab::model::Buffers buffers);

// By S; without those that need cores that are not there.
void write_times(Json& json, Time time_of, int ranks, int cores, lab::model::Buffers buffers) {
  json.object();
  for (int levels = 0; levels <= lab::model::height(ranks); ++levels) {
    const double time = time_of(ranks, cores, levels, buffers);
    if (std::isfinite(time)) json.add(std::to_string(levels), time);
  }
  json.end_object();
}

void write_row(Json& json, int ranks, int cores, lab::model::Buffers buffers) {
  json.object()
      .add("ranks", ranks)
      .add("best_levels", lab::model::best_levels(ranks, cores, buffers))
      .key("times");
  write_times(json, lab::model::overlapped_time, ranks, cores, buffers);
  json.key("communication_times");
  write_times(json, lab::model::nonblocking_time, ranks, cores, buffers);
  json.add("blocking_time", lab::model::blocking_time(ranks, buffers))
      .add("computation_time", lab::model::computation_time(ranks, cores, buffers))
      .key("messages")
      .array();
  for (int level = 1; level <= lab::model::height(ranks); ++level)
    json.value(lab::model::level_messages(ranks, level));
  json.end_array().end_object();
}

}  // namespace

void model(Json& json, int cores) {
  json.object().add("cores", cores);
  for (const auto& [name, buffers] : {std::pair{"rows", lab::model::Buffers::constant},
                                      std::pair{"growing", lab::model::Buffers::growing}}) {
    json.key(name).array();
    for (int ranks = 1; ranks <= cores; ++ranks) write_row(json, ranks, cores, buffers);
    json.end_array();
  }
  json.end_object();
}

}  // namespace tutti::probe
