// SPDX-License-Identifier: BSD-3-Clause
#include "choice/measure.h"

#include <pthread.h>
#include <sched.h>
#include <csignal>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstring>
#include <limits>

#include "arch/arch.h"
#include "choice/limits.h"
#include "os/affinity.h"
#include "os/clock.h"
#include "reduce/reduce.h"

namespace tutti::choice {
namespace {

using os::now_ns;
using segment::Desk;
using segment::Step;

// Somebody else may have a core for a while: a cost is the lower quartile of so many turns, in each
// of which everything is measured once.
constexpr int turns = 16;
constexpr int rounds = 32;
constexpr std::size_t bytes = 4 * limits::kib, short_bytes = limits::kib / 2;

// What a round moves from the one that asks to the one that answers.
enum class Round : std::uint8_t {
  flag,            // nothing
  line,            // the payload of a whole line
  slot_left,       // a slot that the reader leaves as it has read it
  slot_back,       // one that it hands back
  short_back,      // a few bytes of one that it hands back
  short_reserved,  // the same, where the owner has taken the slot back before
  copied,          // a buffer of the asking one, which has just been written
};
constexpr Round kinds[] = {Round::flag,      Round::line,       Round::slot_left,
                           Round::slot_back, Round::short_back, Round::short_reserved,
                           Round::copied};

class Pair {
 public:
  Pair(Role role, Desk& mine, Desk& theirs, std::int64_t patience_ns)
      : role_(role), mine_(mine), theirs_(theirs), until_ns_(now_ns() + patience_ns) {
    own_.fill(std::byte{1});
    for (std::size_t slot = 0; role == Role::asks && slot < segment::slots; ++slot)
      mine.note_staged(slot);
  }

  // How long a round takes, there and back, in ns. Of what is copied, without the time in which it
  // is written. Negative: the other has not answered.
  double time(Round kind) {
    (void)play(kind, rounds / 4);  // what was in the caches before does not count
    const std::int64_t begin_ns = now_ns();
    const std::uint64_t begin = arch::ticks();
    const std::uint64_t writing = play(kind, rounds);
    const auto ticks = static_cast<double>(arch::ticks() - begin);
    const auto taken_ns = static_cast<double>(now_ns() - begin_ns);
    if (gave_up_) return -1;
    return taken_ns * (1 - static_cast<double>(writing) / ticks) / rounds;
  }

 private:
  // Returns the ticks that the program itself would have spent writing its buffer.
  std::uint64_t play(Round kind, int count) {
    std::uint64_t writing = 0;
    for (int i = 0; i < count && !gave_up_; ++i) {
      ++step_;
      if (role_ == Role::asks)
        ask(kind, &writing);
      else
        answer(kind);
    }
    return writing;
  }

  void ask(Round kind, std::uint64_t* writing) {
    switch (kind) {
      case Round::flag:
        break;
      case Round::line:
        std::memcpy(line(mine_).payload, own_.data(), segment::payload_bytes);
        break;
      case Round::slot_left:
      case Round::slot_back:
        reduce::copy(slot(mine_), own_.data(), bytes);
        break;
      case Round::short_back:
      case Round::short_reserved:
        reduce::copy(slot(mine_), own_.data(), short_bytes);
        break;
      case Round::copied: {
        const std::uint64_t begin = arch::ticks();
        reduce::copy(mine_.staging[0], own_.data(), bytes);
        *writing += arch::ticks() - begin;
        break;
      }
    }
    post();
    if (kind == Round::short_reserved) segment::reserve(slot(mine_, step_ + 1), short_bytes);
    await(line(theirs_));
  }

  void answer(Round kind) {
    await(line(theirs_));
    switch (kind) {
      case Round::flag:
        break;
      case Round::line:
        std::memcpy(own_.data(), line(theirs_).payload, segment::payload_bytes);
        break;
      case Round::slot_left:
      case Round::slot_back:
        reduce::copy(own_.data(), slot(theirs_), bytes);
        if (kind == Round::slot_back) segment::hand_back(slot(theirs_), bytes);
        break;
      case Round::short_back:
      case Round::short_reserved:
        reduce::copy(own_.data(), slot(theirs_), short_bytes);
        segment::hand_back(slot(theirs_), short_bytes);
        break;
      case Round::copied:
        reduce::copy(own_.data(), theirs_.staging[0], bytes);
        break;
    }
    post();
  }

  // As fabric::DeskFabric does.
  void post() {
    line(mine_).step.store(step_, std::memory_order_release);
    arch::prefetch_for_writing(&mine_.lines[(step_ + 1) % segment::ring]);
  }

  void await(const segment::Line& line) {
    constexpr unsigned polls_per_look = 4096;
    for (unsigned polls = 0; line.step.load(std::memory_order_acquire) < step_; ++polls) {
      if (polls % polls_per_look == polls_per_look - 1 && now_ns() > until_ns_) gave_up_ = true;
      if (gave_up_) return;
    }
  }

  segment::Line& line(Desk& desk) const { return desk.lines[step_ % segment::ring]; }
  // Not that of the buffer.
  static std::byte* slot(Desk& desk, Step step) {
    return desk.staging[1 + step % (segment::slots - 1)];
  }
  std::byte* slot(Desk& desk) const { return slot(desk, step_); }

  Role role_;
  Desk& mine_;
  Desk& theirs_;
  std::int64_t until_ns_;
  Step step_ = 0;
  bool gave_up_ = false;
  alignas(line_bytes) std::array<std::byte, bytes> own_;
};

double quartile(std::array<double, turns> times) {
  std::nth_element(times.begin(), times.begin() + turns / 4, times.end());
  return times[turns / 4];
}

// Two threads that give each other the core they share.
class Switches {
 public:
  // The time of one switch, in ns, the lower quartile. Negative: there were none.
  double time() {
    const int cpu = ::sched_getcpu();
    const os::CpuMask before = os::usable_cpus();
    // A thread of a real-time policy gives its core to its like alone.
    if (::sched_getscheduler(0) != SCHED_OTHER) return -1;
    if (cpu < 0 || cpu >= os::CpuMask::most || !os::run_on(os::CpuMask::of(cpu))) return -1;
    const double ns = time_here();
    (void)os::run_on(before);
    return ns;
  }

 private:
  static constexpr int passes = 8;
  static constexpr std::int64_t patience_ns = 20'000'000;  // then something else keeps the core

  double time_here() {
    // The program's handlers run on its own threads.
    sigset_t all, mask;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &mask);
    pthread_t other;
    const bool begun = ::pthread_create(&other, nullptr, answer, this) == 0;
    ::pthread_sigmask(SIG_SETMASK, &mask, nullptr);
    if (!begun) return -1;
    std::array<double, turns> times{};
    times.fill(std::numeric_limits<double>::infinity());
    const std::int64_t until_ns = now_ns() + patience_ns;
    for (double& ns : times) {
      const std::int64_t begin_ns = now_ns();
      int passed = 0;
      while (passed < passes && pass(0, until_ns)) ++passed;
      if (passed < passes) break;
      ns = static_cast<double>(now_ns() - begin_ns) / (2 * passes);
    }
    ended_.store(true, std::memory_order_relaxed);
    ::pthread_join(other, nullptr);
    const double ns = quartile(times);
    return std::isfinite(ns) ? ns : -1;
  }

  static void* answer(void* self) {
    auto& switches = *static_cast<Switches*>(self);
    while (switches.pass(1, std::numeric_limits<std::int64_t>::max())) {
    }
    return nullptr;
  }
  // Waits for its turn, and makes it the other's. False: that takes too long, or is over.
  bool pass(int me, std::int64_t until_ns) {
    while (next_.load(std::memory_order_acquire) != me) {
      if (ended_.load(std::memory_order_relaxed) || now_ns() > until_ns) return false;
      ::sched_yield();
    }
    next_.store(1 - me, std::memory_order_release);
    return true;
  }

  std::atomic<int> next_{0};
  std::atomic<bool> ended_{false};
};

}  // namespace

std::optional<double> measure_switch() {
  const double ns = Switches().time();
  if (ns <= 0) return std::nullopt;
  return ns;
}

std::optional<Costs> measure(Role role, Desk& mine, Desk& theirs, std::int64_t patience_ns) {
  Pair pair(role, mine, theirs, patience_ns);
  std::array<std::array<double, turns>, std::size(kinds)> times{};
  for (std::size_t turn = 0; turn < turns; ++turn)
    for (std::size_t kind = 0; kind < std::size(kinds); ++kind)
      if ((times[kind][turn] = pair.time(kinds[kind])) < 0) return std::nullopt;
  if (role == Role::answers) return std::nullopt;

  const auto of = [&](Round kind) { return quartile(times[static_cast<std::size_t>(kind)]); };
  const double there_and_back = of(Round::flag);
  const auto per_kib = [&](Round kind) { return (of(kind) - there_and_back) * 1024 / bytes; };
  Costs costs;
  costs.flag_ns = there_and_back / 2;
  costs.line_ns = std::max(0.0, of(Round::line) - there_and_back);
  costs.left_ns = per_kib(Round::slot_left);
  costs.handed_back_ns = per_kib(Round::slot_back);
  costs.short_ns = of(Round::short_back) - costs.flag_ns;
  costs.reserved_ns = of(Round::short_reserved) - costs.flag_ns;
  costs.copy_ns = std::min({per_kib(Round::copied), costs.left_ns, costs.handed_back_ns});
  costs.switch_ns = measure_switch().value_or(usual.switch_ns);
  if (!are_plausible(costs)) return std::nullopt;
  return costs;
}

bool are_plausible(const Costs& costs) {
  const auto within = [](double ns, double least, double most) {
    return std::isfinite(ns) && least <= ns && ns <= most;
  };
  return within(costs.flag_ns, 1, 1e5) && within(costs.line_ns, 0, 1e5) &&
         within(costs.left_ns, 1, 1e5) && within(costs.handed_back_ns, 1, 1e5) &&
         within(costs.short_ns, 1, 1e5) && within(costs.reserved_ns, 1, 1e5) &&
         within(costs.switch_ns, 1, 1e6) &&
         within(costs.copy_ns, 1, std::min(costs.left_ns, costs.handed_back_ns));
}

}  // namespace tutti::choice
