// SPDX-License-Identifier: BSD-3-Clause
#include "choice/contest.h"

#include <algorithm>
#include <span>

#include "choice/limits.h"

namespace tutti::choice {

Contest::Side Contest::next() {
  sample_ = times_.size();
  if (rest_ > 0) {
    --rest_;
    return faster_;
  }
  const auto side = static_cast<Side>(side_);
  if (call_ >= uncounted()) sample_ = side_ * places + (together_ ? 0 : call_ - uncounted());
  if (++call_ < run()) return side;
  call_ = 0;
  side_ = (side_ + 1) % sides;
  due_ = true;
  return side;
}

double Contest::time_of(Side side, const Times& agreed) const {
  Times times = agreed;
  const std::span of_side =
      std::span(times).subspan(static_cast<std::size_t>(side) * places, places);
  const std::size_t counted = run() - uncounted();
  if (together_) return static_cast<double>(of_side[0]) / static_cast<double>(counted);
  const std::span calls = of_side.first(counted);
  const auto middle = calls.begin() + static_cast<std::ptrdiff_t>(calls.size() / 2);
  std::ranges::nth_element(calls, middle);
  return static_cast<double>(*middle);
}

bool Contest::is_clear() const {
  const auto slower = [&](std::size_t round, double times) -> std::optional<Side> {
    const auto [mpi, tutti] = results_[round];
    if (mpi > times * tutti) return Side::mpi;
    return tutti > times * mpi ? std::optional(Side::tutti) : std::nullopt;
  };
  if (round_ > 0) {
    const std::optional<Side> now = slower(round_, clear_twice);
    return now && now == slower(round_ - 1, clear_twice);
  }
  return together_ ? slower(0, clear_of_sums) == Side::mpi : slower(0, clear_at_once).has_value();
}

std::optional<Contest::Result> Contest::decide(const Times& agreed) {
  due_ = false;
  if (side_ != 0) return std::nullopt;  // the other side's run follows
  times_ = {};
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
  round_ = 0;
  const bool mpi_has_them = faster_ == Side::mpi;
  const double worth = next_rest_ == first_rest ? worth_at_first : worth_again;
  const double has = mpi_has_them ? result.mpi_ns : result.tutti_ns;
  const double wants = mpi_has_them ? result.tutti_ns : result.mpi_ns;
  if (wants < worth * has) faster_ = mpi_has_them ? Side::tutti : Side::mpi;
  rest_ = next_rest_;
  next_rest_ = std::min(longest_rest, next_rest_ * longer_rest);
  return result;
}

std::size_t least_computed_apart(Collective collective) {
  return collective == Collective::reduce ? limits::reduced_apart_bytes
                                          : limits::summed_apart_bytes;
}

bool all_wait_for_all(Collective collective) {
  switch (collective) {
    case Collective::barrier:
    case Collective::allreduce:
    case Collective::allgather:
    case Collective::allgatherv:
    case Collective::alltoall:
    case Collective::alltoallv:
    case Collective::alltoallw:
    case Collective::reduce_scatter:
    case Collective::reduce_scatter_block:
      return true;
    default:
      return false;
  }
}

}  // namespace tutti::choice
