// SPDX-License-Identifier: BSD-3-Clause
// What measuring a point needs, whatever is timed: its arguments, its buffers and their turns, and
// a sample from a common start to the end on the slowest rank.
#pragma once

#include <cstring>
#include <string>
#include <vector>

#include "tutti_bench/arguments.h"
#include "tutti_bench/buffers.h"
#include "tutti_bench/collectives.h"
#include "tutti_bench/mpi.h"
#include "tutti_bench/page.h"

namespace tutti::bench {

class Stage {
 public:
  static constexpr std::int64_t ms = 1'000'000;  // in ns

  Stage(const Mpi& mpi, Page& page, const Arguments& arguments, const Collective& collective,
        std::uint64_t bytes);
  ~Stage();
  Stage(const Stage&) = delete;
  Stage& operator=(const Stage&) = delete;

  // False: `why` says what stands against this size, on all ranks alike. Collective.
  [[nodiscard]] bool set(std::string& why);

  // Of `calls` calls together, on the slowest rank. `call(problem, slot)` is made once more before,
  // untimed, where the caches shall be hot.
  template <class Call>
  std::int64_t sample(int calls, Call call) {
    take_slots(calls);
    if (arguments_.cache == Cache::hot) call(problem_, slots_[0]);
    const std::int64_t start = page_.start_together();
    for (const Slot& slot : slots_) call(problem_, slot);
    const std::int64_t result = page_.max(now_ns() - start);
    change_data();
    return result;
  }

  // Whether `call` gives the MPI's own result for new data, on all ranks, with even counts and with
  // uneven ones if asked, and leaves alone the same bytes.
  template <class Call>
  [[nodiscard]] bool verify(bool uneven, Call call, std::string& why) {
    const Problem& problem = uneven ? uneven_ : problem_;
    const Slot slot = new_data();
    std::memset(slot.recv, 0xa5, memory_.recv);
    collective_.call(mpi_.base, problem, slot);
    const std::vector<std::byte> expected(slot.recv, slot.recv + memory_.recv);
    std::memset(slot.recv, 0xa5, memory_.recv);
    call(problem, slot);
    return same(problem, slot, expected, uneven, why);
  }

  // Rotations with each of these calls, a second at most (or --max-time-ms): the first time that a
  // library meets a buffer it may map or register it, which a program pays once and the rotation
  // would pay again and again. Tutti may do so only when it has met a buffer several times.
  template <class... Calls>
  void reach(Calls... calls) {
    (reach_with(calls), ...);
  }

  // How many calls of `own` nanoseconds make a sample of a suitable length, where those of the
  // fastest library take `fastest`.
  [[nodiscard]] int calls_for(std::int64_t fastest, std::int64_t own) const;

  // Whether the samples of `round` rounds since `begin` are enough. Collective.
  [[nodiscard]] bool enough(std::int64_t round, std::int64_t begin) const;

  [[nodiscard]] const Problem& problem() const { return problem_; }

 private:
  [[nodiscard]] bool representable() const;
  void take_slots(int calls);
  void change_data();
  Slot new_data();
  bool same(const Problem& problem, const Slot& slot, const std::vector<std::byte>& expected,
            bool uneven, std::string& why);

  // Whether the last call went by another way than large buffers do in the end.
  [[nodiscard]] bool may_be_mapped_later() const;
  static constexpr int most_rotations = 16;

  template <class Call>
  void reach_with(Call call) {
    if (arguments_.cache == Cache::hot || problem_.bytes < page_bytes) return;
    const std::int64_t limit_ns = std::min<std::int64_t>(1000, arguments_.max_time_ms) * ms;
    const std::size_t between_checks = problem_.bytes < 65536 ? 64 : 1;
    const std::int64_t begin = now_ns();
    for (int rotation = 0; rotation < most_rotations; ++rotation) {
      bool settled = true;
      for (std::size_t i = 0; i < buffers_.slots(); ++i) {
        mpi_.forget_way();
        call(problem_, buffers_.next());
        settled = settled && !may_be_mapped_later();
        if (i % between_checks == 0 && page_.from_root(now_ns() - begin) > limit_ns) return;
      }
      if (page_.max(!settled) == 0) return;
    }
  }

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
};

}  // namespace tutti::bench
