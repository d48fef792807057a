// SPDX-License-Identifier: BSD-3-Clause
// Barrier, flat: everyone raises a flag and looks at all the others'. One step, P - 1 lines read by
// each member; the fewest changes of process when ranks share cores.
#pragma once

#include "coll/coll.h"

namespace tutti::coll::barrier {

template <Fabric F>
Task flat(F& f, const Work&) {
  const Step step = f.next_step();
  f.take(Route::line);
  co_await f.room(step);
  f.post(step, {});
  for (int k = 1; k < f.size(); ++k) co_await f.posted(member_after(f, k), step);
  f.everyone_arrived();
  f.finish(step);
}

}  // namespace tutti::coll::barrier
