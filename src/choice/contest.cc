// SPDX-License-Identifier: BSD-3-Clause
#include "choice/contest.h"

#include <algorithm>
#include <numeric>
#include <span>
#include <utility>

#include "choice/limits.h"

namespace tutti::choice {
namespace {

// Of a place of a call that counts by itself: how long it took, up to 68 s, and above that how long
// the member had been away, up to 4 s.
constexpr int ns_bits = 36, away_bits = 64 - ns_bits;
constexpr std::int64_t away_unit_ns = 16;
constexpr std::uint64_t most_ns = (std::uint64_t{1} << ns_bits) - 1;
constexpr std::uint64_t most_away = (std::uint64_t{1} << away_bits) - 1;

}  // namespace

Contest::Side Contest::next() {
  sample_ = times_.size();
  if (is_over()) {
    --rest_;
    if (watched_ < watch_) {
      sample_ = place(faster_);
      due_ = ++watched_ == watch_;
    }
    return faster_;
  }
  const auto side = static_cast<Side>(side_);
  if (call_ >= uncounted()) sample_ = place(side) + (together_ ? 0 : call_ - uncounted());
  if (++call_ < run()) return side;
  call_ = 0;
  side_ = (side_ + 1) % sides;
  due_ = true;
  return side;
}

void Contest::took(std::int64_t began_ns, std::int64_t ended_ns) {
  const std::int64_t away_ns = began_ns - std::exchange(ended_ns_, ended_ns);
  if (!counts()) return;
  const auto ns = static_cast<std::uint64_t>(ended_ns - began_ns);
  if (together_)
    times_[sample_] += ns;
  else
    times_[sample_] = std::min(static_cast<std::uint64_t>(away_ns / away_unit_ns), most_away)
                          << ns_bits |
                      std::min(ns, most_ns);
}

double Contest::time_of(Side side, const Times& agreed) const {
  const std::size_t counted = run() - uncounted();
  if (together_) return static_cast<double>(agreed[place(side)]) / static_cast<double>(counted);
  std::array<std::uint64_t, places> ns{};
  const std::span calls = std::span(ns).first(counted);
  std::ranges::transform(std::span(agreed).subspan(place(side), counted), calls.begin(),
                         [](std::uint64_t each) { return each & most_ns; });
  if (round_ > 0)
    return static_cast<double>(std::accumulate(calls.begin(), calls.end(), std::uint64_t{0})) /
           static_cast<double>(counted);
  const auto middle = calls.begin() + static_cast<std::ptrdiff_t>(calls.size() / 2);
  std::ranges::nth_element(calls, middle);
  return static_cast<double>(*middle);
}

bool Contest::is_clear() const {
  const auto slower = [&](std::size_t round, double times) -> std::optional<Side> {
    const auto [mpi, tutti] = results_[round];
    if (mpi > times * tutti) return Side::mpi;
    const bool may_be_tutti = round > 0 || !together_ || is_repeated();
    return may_be_tutti && tutti > times * mpi ? std::optional(Side::tutti) : std::nullopt;
  };
  if (round_ > 0) {
    const std::optional<Side> now = slower(round_, clear_twice);
    return now && now == slower(round_ - 1, clear_twice);
  }
  return slower(0, together_ ? clear_of_sums : clear_at_once).has_value();
}

// `ns`: what a call took of those that were watched.
void Contest::watch(double ns) {
  if (ns > clear_twice * other_ns_) {
    const bool has_mpi = faster_ == Side::mpi;
    results_[0] = {has_mpi ? ns : other_ns_, has_mpi ? other_ns_ : ns};
    rest_ = 0;
    run_ = watch_;
    round_ = 1;
  }
  watch_ = watch_ < longest_watch ? watch_ * longer_watch : 0;
  watched_ = 0;
}

std::optional<Contest::Result> Contest::decide(const Times& agreed) {
  due_ = false;
  if (side_ != 0) return std::nullopt;  // the other side's run follows
  times_ = {};
  if (is_over()) {
    watch(static_cast<double>(agreed[place(faster_)]) / watch_);
    return std::nullopt;
  }
  results_[round_] = {time_of(Side::mpi, agreed), time_of(Side::tutti, agreed)};
  Result result = results_[round_];
  if (!is_clear()) {
    if (++round_ < rounds) return std::nullopt;
    // The middle one of the long rounds.
    const std::span long_ones = std::span(results_).subspan(1);
    std::ranges::sort(long_ones, {},
                      [](const Result& each) { return each.mpi_ns / each.tutti_ns; });
    result = long_ones[long_ones.size() / 2];
  }
  const bool mpi_has_them = faster_ == Side::mpi;
  const double worth = whole_rest_ == 0 ? worth_at_first : worth_again;
  const double has = mpi_has_them ? result.mpi_ns : result.tutti_ns;
  const double wants = mpi_has_them ? result.tutti_ns : result.mpi_ns;
  const bool changes = wants < worth * has;
  if (changes) faster_ = mpi_has_them ? Side::tutti : Side::mpi;
  other_ns_ = changes ? has : wants;
  if (!is_repeated()) {
    whole_rest_ = whole_rest_ == 0 ? first_rest : std::min(longest_rest, whole_rest_ * longer_rest);
    watch_ = together_ ? first_watch : 0;
  }
  rest_ = whole_rest_;
  run_ = long_run;
  round_ = 0;
  return result;
}

std::size_t least_computed_apart(Collective collective) {
  return collective == Collective::reduce ? limits::reduced_apart_bytes
                                          : limits::summed_apart_bytes;
}

}  // namespace tutti::choice
