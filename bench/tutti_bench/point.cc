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
#include <cstring>
#include <limits>
#include <vector>

#include "tutti_bench/buffers.h"

namespace tutti::bench {
namespace {

constexpr std::int64_t ms = 1'000'000;  // in ns
constexpr int most_calls = 4096;

enum Method { base, tutti, limit_plain, limit_streaming, method_count };

class Point {
 public:
  Point(const Mpi& mpi, Page& page, const Arguments& arguments, const Collective& collective,
        std::uint64_t bytes);
  ~Point();
  Point(const Point&) = delete;
  Point& operator=(const Point&) = delete;
  bool run(Row& row, std::string& why);

 private:
  void call(Method method, const Problem& problem, const Slot& slot) const;
  std::int64_t sample(Method method, int calls);
  bool verify(const Problem& problem);
  [[nodiscard]] bool representable() const;
  void reach();
  void estimate();
  void choose_calls();
  void take_rounds();
  [[nodiscard]] bool measured(int method) const;
  [[nodiscard]] Timing timing(Method method);

  const Mpi& mpi_;
  Page& page_;
  const Arguments& arguments_;
  const Collective& collective_;
  Problem problem_;
  Problem uneven_;  // the same with other counts
  Sizes memory_;
  Buffers buffers_;
  std::vector<Slot> slots_;  // of the sample under way
  std::uint64_t seed_ = 1;
  std::int64_t estimate_ns_[method_count] = {};
  int calls_[method_count] = {1, 1, 1, 1};
  std::vector<double> samples_us_[method_count];
  const char* way_ = "";
};

Point::Point(const Mpi& mpi, Page& page, const Arguments& arguments, const Collective& collective,
             std::uint64_t bytes)
    : mpi_(mpi), page_(page), arguments_(arguments), collective_(collective) {
  const mpi::DatatypeRow& type = arguments.type->row();
  const mpi::OpRow& op = arguments.op->row();
  const std::size_t element = reduce::size_of(type.type);
  problem_ = {.type = mpi.handle(type),
              .op = mpi.handle(op),
              .comm = mpi.world,
              .count = static_cast<int>(bytes / element),
              .bytes = bytes,
              .element = element,
              .root = arguments.root,
              .rank = mpi.rank,
              .ranks = mpi.ranks,
              .kernel = reduce::find(op.op, type.type),
              .page = &page,
              .layout = {}};
  uneven_ = problem_;
  memory_ = collective.memory(problem_, mpi.rank);
  if (!representable()) return;
  arrange(mpi, collective.shape, false, problem_);
  arrange(mpi, collective.shape, true, uneven_);
}

Point::~Point() {
  release(mpi_, problem_.layout);
  release(mpi_, uneven_.layout);
}

// Displacements are ints, and Alltoallw's are in bytes.
bool Point::representable() const {
  return collective_.shape == Shape::none ||
         problem_.bytes * static_cast<std::size_t>(problem_.ranks) <=
             static_cast<std::size_t>(std::numeric_limits<int>::max());
}

bool Point::measured(int method) const {
  return method < limit_plain || !collective_.reduces || problem_.kernel != nullptr;
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

// Of `calls` calls together, on the slowest rank.
std::int64_t Point::sample(Method method, int calls) {
  slots_.clear();
  for (int i = 0; i < calls; ++i) slots_.push_back(buffers_.next());
  if (arguments_.cache == Cache::hot) call(method, problem_, slots_[0]);
  mpi_.forget_way();
  const std::int64_t start = page_.start_together();
  for (const Slot& slot : slots_) call(method, problem_, slot);
  const std::int64_t result = page_.max(now_ns() - start);
  if (method == tutti) way_ = mpi_.last_way();
  ++seed_;
  const std::size_t count = memory_.send / problem_.element;
  for (const Slot& slot : slots_)
    touch(arguments_, slot.send, count, seed_ + static_cast<std::uint64_t>(problem_.rank));
  return result;
}

// Whether both give the same result for new data, on all ranks, and leave alone the same bytes.
bool Point::verify(const Problem& problem) {
  const Slot slot = buffers_.next();
  const std::size_t count = memory_.send / problem.element;
  fill(arguments_, slot.send, count, ++seed_ * 3 + static_cast<std::uint64_t>(problem_.rank));
  std::memset(slot.recv, 0xa5, memory_.recv);
  call(base, problem, slot);
  const std::vector<std::byte> expected(slot.recv, slot.recv + memory_.recv);
  std::memset(slot.recv, 0xa5, memory_.recv);
  call(tutti, problem, slot);
  const bool different =
      collective_.has_result(problem) && std::memcmp(slot.recv, expected.data(), memory_.recv) != 0;
  return page_.max(different) == 0;
}

// One rotation with each library, a second at most (or --max-time-ms): the first time that a
// library meets a buffer it may map or register it, which a program pays once and the rotation
// would pay again and again.
void Point::reach() {
  if (arguments_.cache == Cache::hot || problem_.bytes < page_bytes) return;
  const std::int64_t limit_ns = std::min<std::int64_t>(1000, arguments_.max_time_ms) * ms;
  const std::size_t between_checks = problem_.bytes < 65536 ? 64 : 1;
  for (const Method method : {base, tutti}) {
    const std::int64_t begin = now_ns();
    for (std::size_t i = 0; i < buffers_.slots(); ++i) {
      call(method, problem_, buffers_.next());
      if (i % between_checks == 0 && page_.from_root(now_ns() - begin) > limit_ns) break;
    }
  }
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
  const bool shared = page_.oversubscribed();
  const std::int64_t short_ns = shared ? 100'000 : 5'000;  // below it calls are timed together
  const std::int64_t sample_ns = shared ? 2 * ms : 100'000;
  const std::int64_t longest_ns = 50 * ms;  // of a sample of the slower library
  const auto calls = [&](std::int64_t fastest, std::int64_t own) {
    if (fastest >= short_ns) return std::int64_t{1};
    std::int64_t count = std::min<std::int64_t>(sample_ns / fastest + 1, most_calls);
    if (arguments_.cache == Cache::cold && problem_.bytes > 0)  // no slot comes twice in a sample
      count = std::min(count, static_cast<std::int64_t>(buffers_.slots() / 4 + 1));
    return std::clamp<std::int64_t>(longest_ns / own, 1, count);
  };
  const std::int64_t fastest = std::min(estimate_ns_[base], estimate_ns_[tutti]);
  for (const int m : {base, tutti}) calls_[m] = static_cast<int>(calls(fastest, estimate_ns_[m]));
  for (const int m : {limit_plain, limit_streaming})
    if (measured(m)) calls_[m] = static_cast<int>(calls(estimate_ns_[m], estimate_ns_[m]));
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
    const std::int64_t spent = page_.from_root(now_ns() - begin);
    if (arguments_.iterations > 0) {
      if (round >= arguments_.iterations) return;
    } else if ((spent >= arguments_.min_time_ms * ms && round >= 11) ||
               (spent >= arguments_.max_time_ms * ms && round >= 3)) {
      return;
    }
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
  if (!representable()) {
    why = std::string(collective_.name) + " of " + std::to_string(problem_.bytes) +
          " bytes needs displacements beyond an int";
    return false;
  }
  const bool allocated = buffers_.allocate(arguments_, collective_, problem_);
  if (page_.max(!allocated) != 0) {
    why = "there is not enough memory for buffers of " + std::to_string(problem_.bytes) + " bytes";
    return false;
  }
  const std::string wrong = std::string("Tutti and the MPI gave different results for ") +
                            collective_.name + " of " + std::to_string(problem_.bytes) + " bytes";
  if (!verify(problem_)) {
    why = wrong;
    return false;
  }
  if (can_be_uneven(collective_.shape) && !verify(uneven_)) {
    why = wrong + ", with uneven counts";
    return false;
  }
  reach();
  estimate();
  choose_calls();
  take_rounds();
  if (!verify(problem_)) {
    why = wrong + ", after many calls";
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
