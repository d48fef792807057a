// SPDX-License-Identifier: BSD-3-Clause
// What a rank owes the others beside its collectives: the MPI's own communication goes on in a
// process that calls nothing but collectives (MPI-4.1, 3.7.4). The MPI's collectives see to that as
// they wait for messages; Tutti's wait for flags, so they call the MPI now and then: a *look*.
//
// The rule knows no numbers of any machine or MPI. A rank that waits for long looks whenever the
// time since its last look was 16 times what one takes. One that need not wait looks after so many
// calls that looks take one part in 256 of its time; ranks look after the same call of a
// communicator, so that no rank waits for another's look. A look that takes longer than looks do
// when nothing happens is followed by another, and if that takes longer, too, something was brought
// forward: then the rank goes on looking.
#pragma once

#include <atomic>
#include <cstdint>

#include "os/occasion.h"

namespace tutti::fabric {

// What a look takes in which nothing happens, in the mean. It steers when to look and nothing else,
// as does all that Upkeep keeps: threads may overwrite each other's.
class UsualLook {
 public:
  // One took so long. True: so long that something must have happened.
  bool exceeded_by(std::uint64_t ticks);
  [[nodiscard]] bool is_known() const { return usual_.load(std::memory_order_relaxed) != 0; }

 private:
  static constexpr std::uint64_t parts = 256;  // of a tick
  std::atomic<std::uint64_t> usual_{0};        // in these
};

class Upkeep {
 public:
  using Look = void (*)();

  // How to look; nullptr: there is nothing to look after. And what else is to be done after calls,
  // a few times a second at most.
  static void set(Look look, Look tend = nullptr) {
    look_.store(look, std::memory_order_relaxed);
    tend_.store(tend, std::memory_order_relaxed);
  }
  [[nodiscard]] static bool needed() { return look_.load(std::memory_order_relaxed) != nullptr; }

  // After a call, the communicator's `calls`th.
  [[gnu::always_inline]] static void after_call(std::uint32_t calls) {
    if ((calls & gap_.load(std::memory_order_relaxed)) == 0) [[unlikely]]
      between_calls();
  }
  // To be called by who waits, as often as it likes.
  static void while_waiting();

  // Calls from one look to the next, but for the one with it.
  [[nodiscard]] static std::uint32_t gap() { return gap_.load(std::memory_order_relaxed); }

 private:
  static constexpr std::uint32_t largest_gap = 1023;
  static constexpr std::uint64_t waiting_share = 16, calls_share = 256;
  static constexpr int most_in_a_row = 16;  // looks that bring something forward after one call

  static void between_calls();
  static bool look_until_quiet(std::uint64_t begin);

  static inline constinit std::atomic<Look> look_{nullptr}, tend_{nullptr};
  static inline constinit os::Occasion tending_{250};
  static inline constinit std::atomic<std::uint32_t> gap_{0};   // one less than a power of two
  static inline constinit std::atomic<std::uint64_t> last_{0};  // the end of the last look
  static inline constinit std::atomic<std::uint64_t> cost_{0};  // of a call's looks, in the mean
  // The first look after other work takes longer than one right after another.
  static inline constinit UsualLook first_, next_;
};

}  // namespace tutti::fabric
