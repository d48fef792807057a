// SPDX-License-Identifier: BSD-3-Clause
// As in point.cc, with four kinds of samples for each library, and the computation alone. The
// definition of overlap is that of IMB-NBC: the part of the shorter of communication and
// computation that costs no time. What is computed is one work for both libraries, and fixed in
// sum over the ranks, so that runs with different numbers of ranks do the same (Denis et al. 2019,
// section 7): sized by the blocking collective, or given by --work. Ranks that share a core compute
// one after the other, so that the last of them issues its call when the others have computed: then
// communication has the time of one rank's computation, which is why each has a core's worth.
#include "tutti_bench/overlap.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "tutti_bench/compute.h"
#include "tutti_bench/stage.h"

namespace tutti::bench {
namespace {

constexpr std::int64_t ms = Stage::ms;

enum Library { base, tutti, library_count };
enum Kind { blocking, pure, overlapped, post, kind_count };

double median(std::vector<double> samples) {
  const auto middle = samples.begin() + static_cast<std::ptrdiff_t>(samples.size() / 2);
  std::nth_element(samples.begin(), middle, samples.end());
  return *middle;
}

class Overlapping {
 public:
  Overlapping(const Mpi& mpi, Page& page, const Arguments& arguments, const Collective& collective,
              std::uint64_t bytes)
      : mpi_(mpi),
        page_(page),
        collective_(collective),
        libraries_(arguments.with_base ? std::vector<Library>{base, tutti}
                                       : std::vector<Library>{tutti}),
        stage_(mpi, page, arguments, collective, bytes) {}
  bool run(std::uint64_t work, OverlapRow& row, std::string& why);

 private:
  using P = const Problem&;
  using S = const Slot&;

  [[nodiscard]] const Nonblocking& library(Library l) const {
    return l == base ? mpi_.base_started : mpi_.tutti_started;
  }
  void wait(Library l, Request& request) const {
    alignas(16) std::byte status[64];  // any family's
    library(l).wait(&request, status);
  }
  // The calls of a kind, as Stage takes them.
  [[nodiscard]] auto call(Library l) const {
    return [this, &functions = l == base ? mpi_.base : mpi_.tutti](P problem, S slot) {
      collective_.call(functions, problem, slot);
    };
  }
  [[nodiscard]] auto start_and_wait(Library l, std::uint64_t steps) const {
    return [this, l, steps](P problem, S slot) {
      Request request{};
      collective_.start(library(l), problem, slot, &request);
      compute(steps);
      wait(l, request);
    };
  }
  std::int64_t sample_post(Library l, int calls);
  double sample_us(Library l, Kind kind);
  void choose_calls();
  void choose_steps(std::uint64_t work);
  void take_rounds();
  bool verify(std::string& why);
  [[nodiscard]] Overlap overlap(Library l) const;
  [[nodiscard]] Timing timing(const std::vector<double>& samples, int calls) const;

  const Mpi& mpi_;
  Page& page_;
  const Collective& collective_;
  std::vector<Library> libraries_;  // that are timed
  Stage stage_;
  std::uint64_t steps_ = 0;  // of a rank's computation
  std::int64_t estimate_ns_[library_count] = {};
  int calls_[library_count] = {1, 1};
  std::vector<double> samples_us_[library_count][kind_count];
  std::vector<double> compute_us_;
};

// The middle one of the calls that issue, each timed by itself.
std::int64_t Overlapping::sample_post(Library l, int calls) {
  std::vector<double> took;
  took.reserve(static_cast<std::size_t>(calls) + 1);
  stage_.sample(calls, [&](P problem, S slot) {
    Request request{};
    const std::int64_t begin = now_ns();
    collective_.start(library(l), problem, slot, &request);
    took.push_back(static_cast<double>(now_ns() - begin));
    wait(l, request);
  });
  return page_.max(static_cast<std::int64_t>(median(took)));
}

double Overlapping::sample_us(Library l, Kind kind) {
  const int calls = calls_[l];
  if (kind == post) return static_cast<double>(sample_post(l, calls)) / 1e3;
  const std::int64_t took =
      kind == blocking ? stage_.sample(calls, call(l))
                       : stage_.sample(calls, start_and_wait(l, kind == pure ? 0 : steps_));
  return static_cast<double>(took) / calls / 1e3;
}

void Overlapping::choose_calls() {
  std::int64_t least = 0;
  for (const Library l : libraries_) {
    std::int64_t& fastest = estimate_ns_[l];
    fastest = stage_.sample(1, start_and_wait(l, 0));
    for (int i = 0; i < 10 && fastest < 10 * ms; ++i)
      fastest = std::min(fastest, stage_.sample(1, start_and_wait(l, 0)));
    fastest = std::max<std::int64_t>(fastest, 1);
    least = least == 0 ? fastest : std::min(least, fastest);
  }
  for (const Library l : libraries_) calls_[l] = stage_.calls_for(least, 2 * estimate_ns_[l]);
}

void Overlapping::choose_steps(std::uint64_t work) {
  const auto ranks = static_cast<std::uint64_t>(mpi_.ranks);
  if (work > 0) {
    steps_ = std::max<std::uint64_t>(1, work / ranks);
    return;
  }
  std::vector<double> samples;
  for (int i = 0; i < 9; ++i) samples.push_back(sample_us(tutti, blocking));
  const double steps = std::round(median(samples) * 1e3 / step_ns(page_));
  // Of one rank for all: medians are of the slowest, but may differ by what the others compute.
  steps_ =
      static_cast<std::uint64_t>(page_.from_root(std::max<std::int64_t>(1, std::llround(steps))));
}

void Overlapping::take_rounds() {
  // Where only a few rounds fit because the MPI is slow, the rest is sampled more often in each.
  const std::int64_t repeats =
      estimate_ns_[base] < 5 * ms
          ? 1
          : std::clamp<std::int64_t>(estimate_ns_[base] / estimate_ns_[tutti] / 2, 1, 5);
  const std::int64_t begin = now_ns();
  for (std::int64_t round = 1;; ++round) {
    std::reverse(libraries_.begin(), libraries_.end());  // who comes first
    for (const Library l : libraries_)
      for (std::int64_t i = 0; i < (l == tutti ? repeats : 1); ++i)
        for (const Kind kind : {blocking, pure, overlapped, post})
          samples_us_[l][kind].push_back(sample_us(l, kind));
    for (std::int64_t i = 0; i < repeats; ++i) {
      const std::int64_t took = stage_.sample(calls_[tutti], [this](P, S) { compute(steps_); });
      compute_us_.push_back(static_cast<double>(took) / calls_[tutti] / 1e3);
    }
    if (stage_.enough(round, begin)) return;
  }
}

Timing Overlapping::timing(const std::vector<double>& samples, int calls) const {
  if (samples.empty()) return {};
  return {median(samples), *std::min_element(samples.begin(), samples.end()), calls,
          static_cast<int>(samples.size())};
}

Overlap Overlapping::overlap(Library l) const {
  const auto of = [&](Kind kind) { return timing(samples_us_[l][kind], calls_[l]); };
  Overlap result{of(blocking), of(pure), of(overlapped), of(post), -1};
  if (result.pure.samples == 0) return result;
  const double communication = result.pure.median_us, computation = median(compute_us_);
  const double hidden = communication + computation - result.overlapped.median_us;
  result.percent = 100 * std::clamp(hidden / std::min(communication, computation), 0.0, 1.0);
  return result;
}

bool Overlapping::verify(std::string& why) {
  const auto started = start_and_wait(tutti, steps_);
  if (stage_.verify(false, started, why) &&
      (!can_be_uneven(collective_.shape) || stage_.verify(true, started, why)))
    return true;
  why += ", nonblocking";
  return false;
}

bool Overlapping::run(std::uint64_t work, OverlapRow& row, std::string& why) {
  if (!stage_.set(why) || !verify(why)) return false;
  for (const Library l : libraries_) stage_.reach(call(l), start_and_wait(l, 0));
  choose_calls();
  choose_steps(work);
  take_rounds();
  if (!verify(why)) {
    why += ", after many calls";
    return false;
  }
  row = {overlap(base), overlap(tutti), timing(compute_us_, calls_[tutti]),
         static_cast<double>(steps_) * mpi_.ranks};
  return true;
}

}  // namespace

bool measure_overlap(const Mpi& mpi, Page& page, const Arguments& arguments,
                     const Collective& collective, std::uint64_t bytes, std::uint64_t work,
                     OverlapRow& row, std::string& why) {
  Overlapping overlapping(mpi, page, arguments, collective, bytes);
  return overlapping.run(work, row, why);
}

}  // namespace tutti::bench
