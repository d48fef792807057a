// SPDX-License-Identifier: BSD-3-Clause
// What a rank owes the others beside its collectives. The MPI's own communication goes on in a
// process that calls nothing but collectives (MPI-4.1, 3.7.4). The MPI's collectives see to that as
// they wait for messages. Tutti's wait for flags, so they call the MPI now and then: a *look*.
//
// The rule knows no numbers of any machine or MPI.
//  - A rank that waits for long looks whenever the time since its last look is 16 times what one
//    takes.
//  - A rank that need not wait looks after so many calls that looks take one part in 256 of its
//    time. Ranks look after the same call of a communicator, so that no rank waits for another's
//    look.
//  - A look that takes longer than looks do when nothing happens is followed by another. If that
//    takes longer, too, something was brought forward. Then the rank goes on looking.
#pragma once

#include <atomic>
#include <cstdint>

#include "os/occasion.h"

namespace tutti::fabric {

// How long a look takes in which nothing happens, in the mean. Like all that Upkeep keeps, it
// steers when to look and nothing else. So threads may overwrite each other's values.
class UsualLook {
 public:
  // To be called after a look. True: it took so long that something must have happened.
  bool exceeded_by(std::uint64_t ticks);
  [[nodiscard]] bool is_known() const { return usual_.load(std::memory_order_relaxed) != 0; }

 private:
  static constexpr std::uint64_t parts = 256;  // of a tick
  std::atomic<std::uint64_t> usual_{0};        // in these
};

class Upkeep {
 public:
  using Look = void (*)();

  // `look`: how to look; nullptr: there is nothing to look after. `tend`: what else is to be done
  // after calls, a few times a second at most.
  static void set(Look look, Look tend = nullptr) {
    look_.store(look, std::memory_order_relaxed);
    tend_.store(tend, std::memory_order_relaxed);
  }
  [[nodiscard]] static bool needed() { return look_.load(std::memory_order_relaxed) != nullptr; }

  // To be called after a call, the communicator's `calls`th. `looks`: unless a thread of Tutti's is
  // calling the MPI anyway.
  [[gnu::always_inline]] static void after_call(std::uint32_t calls, bool looks = true) {
    if ((calls & gap_.load(std::memory_order_relaxed)) == 0) [[unlikely]]
      between_calls(looks);
    else
      skip_look();
  }
  // To be called in a wait, as often as the caller likes.
  static void while_waiting();

  // After a call, or the end of a nonblocking one, without a look. is_behind() says whether there
  // was one since the last look. catch_up() looks.
  static void skip_look() { behind_.store(true, std::memory_order_relaxed); }
  [[nodiscard]] static bool is_behind() { return behind_.load(std::memory_order_relaxed); }
  static void catch_up();

  // Whether messages of Tutti's own are under way that only looks bring forward. Then a rank that
  // waits looks all the time, and sleeps for short times only.
  static void press(bool presses) { presses_.store(presses, std::memory_order_relaxed); }
  [[nodiscard]] static bool presses() { return presses_.load(std::memory_order_relaxed); }

  // How many calls without a look lie between two calls with one.
  [[nodiscard]] static std::uint32_t gap() { return gap_.load(std::memory_order_relaxed); }

 private:
  static constexpr std::uint32_t largest_gap = 1023;
  static constexpr std::uint64_t waiting_share = 16, calls_share = 256;
  static constexpr int most_in_a_row = 16;  // looks after one call that bring something forward

  static void between_calls(bool looks);
  static bool look_until_quiet(std::uint64_t begin);

  static inline constinit std::atomic<Look> look_{nullptr}, tend_{nullptr};
  static inline constinit std::atomic<bool> presses_{false}, behind_{false};
  static inline constinit os::Occasion tending_{250};
  static inline constinit std::atomic<std::uint32_t> gap_{0};   // one less than a power of two
  static inline constinit std::atomic<std::uint64_t> last_{0};  // the end of the last look
  static inline constinit std::atomic<std::uint64_t> cost_{0};  // of a call's looks, in the mean
  // The first look after other work takes longer than one right after another.
  static inline constinit UsualLook first_, next_;
};

}  // namespace tutti::fabric
