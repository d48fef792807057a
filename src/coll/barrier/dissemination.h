// SPDX-License-Identifier: BSD-3-Clause
// Barrier by dissemination (Hensgen, Finkel and Manber 1988). In round k every member tells the one
// 2^k further that it has heard, directly or not, from 2^k members. ceil(log2 P) steps.
#pragma once

#include "coll/coll.h"

namespace tutti::coll::barrier {

template <Fabric F>
Task dissemination(F& f, const Work&) {
  // With more rounds than lines, this very barrier would have to wait for itself to end.
  static_assert(segment::most_members <= std::uint64_t{1} << segment::ring);
  Step step = 0;
  f.take(Route::line);
  for (int distance = 1; distance < f.size(); distance *= 2) {
    step = f.next_step();
    co_await f.room(step);
    f.post(step, {});
    co_await f.posted(member_after(f, f.size() - distance), step);
  }
  f.everyone_arrived();
  f.finish(step);
}

}  // namespace tutti::coll::barrier
