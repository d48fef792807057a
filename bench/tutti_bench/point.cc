// SPDX-License-Identifier: BSD-3-Clause
// MPI and Tutti are timed alternately, sample by sample, on the same memory. What a sample is:
//   - hot: an untimed call first, by the same library on the same buffers, so that neither finds
//     the caches as the other left them; cold: each call takes the next slot of the rotation;
//   - a barrier of our own that lets all ranks go at one instant; from it to the end on the slowest
//     rank is the sample's time;
//   - one call, or where a call is too short for that (or where ranks share cores and the first
//     call mostly waits for the others to be scheduled), as many back to back as fill a time that
//     the clock and the common start are negligible against. MPI and Tutti get the same number.
#include "tutti_bench/point.h"

#include <algorithm>
#include <vector>

#include "tutti_bench/stage.h"

namespace tutti::bench {
namespace {

constexpr std::int64_t ms = Stage::ms;

enum Method { base, tutti, limit_plain, limit_streaming, method_count };

class Point {
 public:
  Point(const Mpi& mpi, Page& page, const Arguments& arguments, const Collective& collective,
        std::uint64_t bytes)
      : mpi_(mpi), collective_(collective), stage_(mpi, page, arguments, collective, bytes) {}
  bool run(Row& row, std::string& why);

 private:
  // The calls of a method, as Stage takes them.
  [[nodiscard]] auto calls(Method method) const {
    return
        [this, method](const Problem& problem, const Slot& slot) { call(method, problem, slot); };
  }
  void call(Method method, const Problem& problem, const Slot& slot) const;
  std::int64_t sample(Method method, int calls);
  void estimate();
  void choose_calls();
  void take_rounds();
  [[nodiscard]] bool measured(int method) const;
  [[nodiscard]] Timing timing(Method method);

  const Mpi& mpi_;
  const Collective& collective_;
  Stage stage_;
  std::int64_t estimate_ns_[method_count] = {};
  int calls_[method_count] = {1, 1, 1, 1};
  std::vector<double> samples_us_[method_count];
  const char* way_ = "";
};

bool Point::measured(int method) const {
  return method < limit_plain || !collective_.reduces || stage_.problem().kernel != nullptr;
}

void Point::call(Method method, const Problem& problem, const Slot& slot) const {
  switch (method) {
    case base:
      return collective_.call(mpi_.base, problem, slot);
    case tutti:
      return collective_.call(mpi_.tutti, problem, slot);
    case limit_plain:
      return collective_.limit(problem, slot, reduce::Stores::plain);
    default:
      return collective_.limit(problem, slot, reduce::Stores::streaming);
  }
}

std::int64_t Point::sample(Method method, int count) {
  mpi_.forget_way();
  const std::int64_t result = stage_.sample(count, calls(method));
  if (method == tutti) way_ = mpi_.last_way();
  return result;
}

void Point::estimate() {
  for (int m = 0; m < method_count; ++m) {
    if (!measured(m)) continue;
    const Method method = static_cast<Method>(m);
    estimate_ns_[m] = sample(method, 1);
    for (int i = 0; i < 3 || (i < 10 && estimate_ns_[m] < 10 * ms); ++i) {
      if (estimate_ns_[m] >= 100 * ms) break;
      estimate_ns_[m] = std::min(estimate_ns_[m], sample(method, 1));
    }
    estimate_ns_[m] = std::max<std::int64_t>(estimate_ns_[m], 1);
  }
}

void Point::choose_calls() {
  const std::int64_t fastest = std::min(estimate_ns_[base], estimate_ns_[tutti]);
  for (const int m : {base, tutti}) calls_[m] = stage_.calls_for(fastest, estimate_ns_[m]);
  for (const int m : {limit_plain, limit_streaming})
    if (measured(m)) calls_[m] = stage_.calls_for(estimate_ns_[m], estimate_ns_[m]);
}

void Point::take_rounds() {
  // Where the MPI is so slow that only a few rounds fit, Tutti is sampled more often in each.
  const std::int64_t repeats =
      estimate_ns_[base] < 20 * ms
          ? 1
          : std::clamp<std::int64_t>(estimate_ns_[base] / estimate_ns_[tutti] / 2, 1, 5);
  const std::int64_t begin = now_ns();
  for (std::int64_t round = 1;; ++round) {
    // Who comes first changes from round to round: what a call leaves behind in the caches to be
    // written back, its successor pays for.
    const int first = round % 2 == 0 ? base : tutti;
    for (const int m : {first, tutti - first, int{limit_plain}, int{limit_streaming}}) {
      if (!measured(m)) continue;
      for (std::int64_t i = 0; i < (m == tutti ? repeats : 1); ++i)
        samples_us_[m].push_back(static_cast<double>(sample(static_cast<Method>(m), calls_[m])) /
                                 calls_[m] / 1e3);
    }
    if (stage_.enough(round, begin)) return;
  }
}

Timing Point::timing(Method method) {
  std::vector<double>& samples = samples_us_[method];
  if (samples.empty()) return {};
  std::sort(samples.begin(), samples.end());
  return {samples[samples.size() / 2], samples[0], calls_[method],
          static_cast<int>(samples.size())};
}

bool Point::run(Row& row, std::string& why) {
  if (!stage_.set(why)) return false;
  if (!stage_.verify(false, calls(tutti), why)) return false;
  if (can_be_uneven(collective_.shape) && !stage_.verify(true, calls(tutti), why)) return false;
  stage_.reach(calls(base), calls(tutti));
  estimate();
  choose_calls();
  take_rounds();
  if (!stage_.verify(false, calls(tutti), why)) {
    why += ", after many calls";
    return false;
  }
  const Timing plain = timing(limit_plain), streaming = timing(limit_streaming);
  row.limit_streams = streaming.median_us < plain.median_us;
  row = {timing(base), timing(tutti), row.limit_streams ? streaming : plain, row.limit_streams,
         way_[0] != '\0' ? way_ : "mpi"};
  return true;
}

}  // namespace

bool measure(const Mpi& mpi, Page& page, const Arguments& arguments, const Collective& collective,
             std::uint64_t bytes, Row& row, std::string& why) {
  Point point(mpi, page, arguments, collective, bytes);
  return point.run(row, why);
}

}  // namespace tutti::bench
