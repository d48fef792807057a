// SPDX-License-Identifier: BSD-3-Clause
// Allreduce shares its algorithms with Reduce. "The root" there is everyone.
#pragma once

#include "coll/reduce/direct.h"
#include "coll/reduce/line.h"

namespace tutti::coll::allreduce {

template <Fabric F>
Task line(F& f, const Work& work) {
  return reduction::line_to(f, work, reduction::everyone);
}

template <Fabric F>
Task staged(F& f, const Work& work) {
  return reduction::staged_to(f, work, reduction::everyone);
}

template <Fabric F>
Task direct(F& f, const Work& work) {
  return reduction::direct_to(f, work, reduction::everyone);
}

template <Fabric F>
inline constexpr Row<F> rows[] = {
    {"line", "payloads ride in the flags, everyone folds",
     [](const Facts& x) { return x.bytes <= segment::payload_bytes; }, line<F>},
    {"staged", "through slots in the segment",
     [](const Facts& x) { return x.bytes < direct_bytes; }, staged<F>},
    {"direct", "operands read in place, a slice a member", [](const Facts&) { return true; },
     direct<F>},
};

}  // namespace tutti::coll::allreduce
