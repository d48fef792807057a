// SPDX-License-Identifier: BSD-3-Clause
// A progress thread on the core of its rank: nothing overlaps, but every rank has a core to
// communicate with. What most MPIs do.
#pragma once

namespace tutti::progress {

constexpr int bind(int rank_core) { return rank_core; }

}  // namespace tutti::progress
