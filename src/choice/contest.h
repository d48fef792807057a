// SPDX-License-Identifier: BSD-3-Clause
// Finds by the program's own calls who is faster where both can do them: Tutti, or the MPI's own
// collective. All members of a communicator of several nodes make the same calls, so all of them
// give the same turns; what the turns took they agree on, and then all take the same side.
//
// Turns come in runs, of which the first call does not count: it finds what the other side has left
// in caches and connections. After a short run of each the members agree. A very clear result ends
// the contest, so that a side that is much slower costs few calls; otherwise there are long runs of
// each by turns, until one result is clear or there are five. The contest is repeated after some
// thousand calls, ever more of them. (choice/learned.h does the like for what each rank chooses
// alone.)
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/collective.h"
#include "os/clock.h"

namespace tutti::choice {

// Whether each member waits for all others. Then the last one to come has not waited for the
// program, and the least of a call's times on the members says how long it took. Otherwise a member
// may be done before the others have begun: the times of a run's calls say something together, and
// the most of the members counts.
[[nodiscard]] bool all_wait_for_all(Collective collective);

// Where each node has one member: from how many bytes on Tutti computes what must always be
// computed by the same side.
[[nodiscard]] std::size_t least_computed_apart(Collective collective);

class Contest {
  static constexpr std::size_t sides = 2;
  static constexpr std::size_t short_run = 3, long_run = 15;  // calls that count
  static constexpr std::size_t rounds = 6;                    // a short one, and long ones
  static constexpr std::uint32_t first_rest = 5000;           // calls between contests,
  static constexpr std::uint32_t longer_rest = 4;             // so many times more after each
  static constexpr std::uint32_t longest_rest = 1'000'000;
  // How many times slower is clear: in short runs, and where not all wait for all, and in long
  // ones.
  static constexpr double clear_at_once = 4, clear_of_some = 10, clear_at_length = 2;
  // The calls change sides if the other side takes so much less time: in the first contest, before
  // which the MPI has them, and in a later one.
  static constexpr double worth_at_first = 0.97, worth_again = 0.8;

 public:
  enum class Side : std::uint8_t { mpi, tutti };

  // In ns, of the calls of a round that count, by side. Where not all wait for all, the sum of a
  // run's is in the place of its first.
  using Times = std::array<std::uint64_t, sides * long_run>;

  explicit Contest(Collective collective) : all_wait_(all_wait_for_all(collective)) {}

  // Whether the members are to agree on times() before the next call: on the least of each, or on
  // the most.
  [[nodiscard]] bool is_due() const { return due_; }
  [[nodiscard]] bool counts_least() const { return all_wait_; }
  [[nodiscard]] const Times& times() const { return times_; }
  // The result, if they suffice: of a call.
  struct Result {
    double mpi_ns, tutti_ns;
  };
  std::optional<Result> decide(const Times& agreed);

  // Who does the next call; asked once for each.
  [[nodiscard]] Side next();
  // Whether that call counts, and what it took.
  [[nodiscard]] bool is_timed() const { return sample_ < times_.size(); }
  void took(std::uint64_t ns) { times_[sample_] += ns; }

 private:
  [[nodiscard]] std::size_t run() const { return round_ == 0 ? short_run : long_run; }
  [[nodiscard]] double time_of(Side side, const Times& agreed) const;
  [[nodiscard]] bool is_clear() const;

  bool all_wait_;
  bool due_ = false;
  Side faster_ = Side::mpi;
  std::uint32_t rest_ = 0;  // calls before the next contest
  std::uint32_t next_rest_ = first_rest;
  // In a contest: where the next call is.
  std::size_t round_ = 0, side_ = 0, call_ = 0;
  std::size_t sample_ = ~std::size_t{0};
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
    if (contest_ != nullptr && code == 0)
      contest_->took(static_cast<std::uint64_t>(os::now_ns() - began_));
    return code;
  }

 private:
  static inline constinit thread_local Contest* given_ = nullptr;
  Contest* contest_;
  std::int64_t began_;
};

}  // namespace tutti::choice
