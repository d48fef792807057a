// SPDX-License-Identifier: BSD-3-Clause
// Finds by the program's own calls who is faster where both can do them: Tutti, or the MPI's own
// collective. All members of a communicator of several nodes make the same calls, so all of them
// give the same turns; what the turns took they agree on, and then all take the same side.
//
// Turns come in runs, and after each run the members agree on its times. There is a short one of
// each side first. A very clear result ends the contest, so that a side that is much slower costs
// few calls; otherwise there are long ones of each by turns, until two results in a row are clear
// or there are five. The contest is repeated after some thousand calls, ever more of them.
// (choice/learned.h does the like for what each rank chooses alone.)
//
// Where all members wait for all, and each has a core, calls count one by one. Of each call one
// member's time counts: of the one that was outside collectives longest before it. It has waited
// least for the program. (Where all were away for more than four seconds, the longest time counts.
// The least of the members' times would be too short, as members do not come and go at the same
// time. It would be shorter still for the side whose times vary more.) The first call of a run does
// not count: it finds what the other side has left in caches and connections. Of a short run the
// middle one counts, of a long one the mean.
//
// Elsewhere the calls of a run count together. A member may be done before the others have begun,
// or find all messages there as it got a core late; so the wait for many calls may be in one, often
// the first. As the members have agreed before, none is still in the other side's calls then. (In a
// short run the first call does not count here either: a side's first one may make connections. So
// such a run does not say that the MPI is the faster one.)
//
// Even so, some such calls in a row may be fast where many are not. So the first ones of the side
// that has them then are watched. Where they take far longer than the other side took, that is a
// clear result, and there is another contest at once, of runs as long as that.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/collective.h"
#include "os/clock.h"

namespace tutti::choice {

// Where each node has one member: from how many bytes on Tutti computes what must always be
// computed by the same side.
[[nodiscard]] std::size_t least_computed_apart(Collective collective);

class Contest {
  static constexpr std::size_t sides = 2;
  static constexpr std::size_t short_run = 4, long_run = 16;  // calls
  static constexpr std::size_t places = long_run - 1;  // of a side, for calls that count one by one
  static constexpr std::size_t rounds = 6;             // a short one, and long ones
  static constexpr std::uint32_t first_rest = 5000;    // calls between contests,
  static constexpr std::uint32_t longer_rest = 4;      // so many times more after each
  static constexpr std::uint32_t longest_rest = 1'000'000;
  // How many times slower is very clear, of calls that count one by one, and of sums.
  static constexpr double clear_at_once = 4, clear_of_sums = 10;
  static constexpr double clear_twice = 2;  // in two rounds in a row
  // So many calls are watched, then so many times more, up to the most.
  static constexpr std::uint32_t first_watch = 64, longer_watch = 4, longest_watch = 256;
  static_assert(first_watch > long_run);
  // A side takes the calls over if its time is less than this part of the other's: in the first
  // contest, before which the MPI has them, and in a later one.
  static constexpr double worth_at_first = 0.95, worth_again = 0.8;

 public:
  enum class Side : std::uint8_t { mpi, tutti };

  // Of the calls of a round that count, by side. Those of a run that count together, and those that
  // are watched, have their sum in the first place, in ns. Others have their ns in the lower bits,
  // and above them how long the member had been away.
  using Times = std::array<std::uint64_t, sides * places>;

  // `shares_cores`: ranks of the job do, on any node.
  Contest(Collective collective, bool shares_cores)
      : all_wait_(all_wait_for_all(collective)), together_(!all_wait_ || shares_cores) {}

  // Whether the members are to agree on times() before the next call: on the least of sums where
  // each member waits for all others, and otherwise on the most of each.
  [[nodiscard]] bool is_due() const { return due_; }
  [[nodiscard]] bool counts_least() const { return all_wait_ && together_; }
  [[nodiscard]] const Times& times() const { return times_; }
  // The contest's result, if they suffice: of a call.
  struct Result {
    double mpi_ns, tutti_ns;
  };
  std::optional<Result> decide(const Times& agreed);

  // Who does the next call; asked once for each.
  [[nodiscard]] Side next();
  // Whether that call is to be timed, and from when to when this member was in it.
  [[nodiscard]] bool is_timed() const { return counts() || (!together_ && !is_over()); }
  void took(std::int64_t began_ns, std::int64_t ended_ns);

 private:
  [[nodiscard]] bool is_over() const { return rest_ > 0; }
  // As calls that were watched took long; these are the result of its round 0.
  [[nodiscard]] bool is_repeated() const { return run_ > long_run; }
  [[nodiscard]] std::size_t run() const { return round_ == 0 ? short_run : run_; }
  // So many first calls of a run do not count.
  [[nodiscard]] std::size_t uncounted() const { return together_ && round_ > 0 ? 0 : 1; }
  [[nodiscard]] static std::size_t place(Side side) {
    return static_cast<std::size_t>(side) * places;
  }
  void watch(double ns);
  [[nodiscard]] double time_of(Side side, const Times& agreed) const;
  [[nodiscard]] bool is_clear() const;
  // Whether the next call does.
  [[nodiscard]] bool counts() const { return sample_ < times_.size(); }

  bool all_wait_, together_;
  bool due_ = false;
  Side faster_ = Side::mpi;
  // Calls before the next contest: that are left, and in all.
  std::uint32_t rest_ = 0, whole_rest_ = 0;
  // Until then: how many calls are watched, how many of them there have been, and what a call of
  // the other side took in the contest.
  std::uint32_t watch_ = 0, watched_ = 0;
  double other_ns_ = 0;
  // In a contest: where the next call is.
  std::size_t run_ = long_run, round_ = 0, side_ = 0, call_ = 0;
  std::size_t sample_ = ~std::size_t{0};
  std::int64_t ended_ns_ = 0;  // the call before
  Times times_{};
  // By round.
  std::array<Result, rounds> results_{};
};

// A call's turn, timed from here to ends(). A side that starts a call takes the turn that this
// thread was given last, if there is one.
class Turn {
 public:
  static void give(Contest& contest) { given_ = &contest; }
  Turn() : contest_(given_), began_(contest_ != nullptr ? os::now_ns() : 0) { given_ = nullptr; }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

  // `code` is the call's, and is returned. A call that has failed counts as one that took no time:
  // an error handler may have freed the communicator, and the contest with it.
  int ends(int code) const {
    if (contest_ != nullptr && code == 0) contest_->took(began_, os::now_ns());
    return code;
  }

 private:
  static inline constinit thread_local Contest* given_ = nullptr;
  Contest* contest_;
  std::int64_t began_;
};

}  // namespace tutti::choice
