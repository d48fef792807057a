// SPDX-License-Identifier: BSD-3-Clause
#include "engine/leaving.h"

#include <algorithm>
#include <chrono>
#include <thread>

#include "fabric/upkeep.h"
#include "os/os.h"
#include "segment/wait.h"

namespace tutti::engine {

using fabric::Desk;
using segment::Ending;

namespace {

// While others end their calls.
void pause(int tries) {
  constexpr int yields = 1000;
  fabric::Upkeep::while_waiting();
  if (tries >= yields || !segment::yield_backoff().yield())
    std::this_thread::sleep_for(std::chrono::microseconds(100));
}

}  // namespace

bool Leaving::may_go_on() const {
  return mine_.failed.load(std::memory_order_relaxed) == 0 &&
         number_ <= mine_.stopped.load(std::memory_order_acquire);
}

bool Leaving::refuse() {
  if (first_ == 0) return leave(number_ - 1);
  mine_.calls.store(2 * ended_, std::memory_order_release);
  return number_ >= first_;
}

bool Leaving::peer_error(bool again) {
  inside_.withdraw(number_);
  const bool left = leave(again ? number_ - 1 : number_);
  wait_for_those_inside();
  return left;
}

bool Leaving::cut(std::uint64_t number) const {
  return std::any_of(desks_.begin(), desks_.end(), [number](const Desk* desk) {
    return desk->cut.load(std::memory_order_acquire) == number;
  });
}

void Leaving::stop(bool cut) {
  if (cut) mine_.cut.store(number_, std::memory_order_release);
  ended_ = number_;
  end();  // before anybody reads of it
  inside_.withdraw(number_);
  stop_from(number_);
  mine_.fail(Ending::left);
  wait_for_those_inside();
}

void Leaving::lose() {
  end();
  inside_.withdraw(number_);
  break_off(number_);
  wait_for_those_inside();
}

void Leaving::stop_at(std::uint64_t number, bool told, bool cut) {
  if (cut) mine_.cut.store(number, std::memory_order_release);
  const std::uint64_t stopped = told ? mine_.stopped.load(std::memory_order_acquire) : number;
  if (stopped == 0 || broken()) return break_off(number);
  stop_from(stopped);
  mine_.fail(Ending::left);
}

// Who reads `stopped` finds that it is broken.
void Leaving::break_off(std::uint64_t number) {
  mine_.fail(Ending::broken);
  mine_.stopped.store(1, std::memory_order_release);
  if (number != 0) stop_from(number);
}

bool Leaving::broken() const {
  return std::any_of(desks_.begin(), desks_.end(),
                     [](const Desk* desk) { return desk->ended(Ending::broken); });
}

// A member that reads a number on its desk knows that somebody has ended that call, or a later one.
// A member that reads a desk's `calls` after this knows that its owner begins no call after
// `first` any more.
void Leaving::stop_from(std::uint64_t first) {
  for (Desk* desk : desks_) {
    std::uint64_t seen = desk->stopped.load(std::memory_order_relaxed);
    while ((seen == 0 || first < seen) &&
           !desk->stopped.compare_exchange_weak(seen, first, std::memory_order_acq_rel)) {
    }
  }
  inside_.fence();
}

// A member that has been told finds the call that has failed on its own desk: the member that fails
// writes it there before it says that it has failed.
bool Leaving::leave(std::uint64_t ended) {
  ended_ = ended;
  mine_.calls.store(2 * ended, std::memory_order_release);
  const std::uint64_t stopped = mine_.stopped.load(std::memory_order_acquire);
  if (stopped != 0 && !broken()) {
    stop_from(stopped);
    if (!starts_) mine_.fail(Ending::left);  // what has been started before goes on
    first_ = find_first();
  }
  if (first_ == 0) break_off(number_);
  return first_ != 0 && number_ >= first_;
}

// After stop_from().
void Leaving::wait_for_those_inside() const {
  for (int tries = 0; inside_.in_use(number_) != nullptr; ++tries) pause(tries);
}

// The first call that is the MPI's; 0: nobody will know.
std::uint64_t Leaving::find_first() {
  std::uint64_t last = 0;
  for (std::size_t i = 0; i < desks_.size(); ++i) {
    for (int tries = 0;; ++tries) {
      const std::uint64_t calls = desks_[i]->calls.load(std::memory_order_acquire);
      if (calls % 2 == 0) {
        last = std::max(last, calls / 2);
        break;
      }
      if (broken() || peers_.has_ended(i)) return 0;
      pause(tries);
    }
  }
  return last + 1;
}

}  // namespace tutti::engine
