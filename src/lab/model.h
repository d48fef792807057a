// SPDX-License-Identifier: BSD-3-Clause
// lab/model: how long a nonblocking collective over a binomial tree takes, and where to split the
// tree between the application's cores and cores of its own. Pure arithmetic; docs/model.md
// explains it. The source is Denis et al., "Study on progress threads placement and dedicated cores
// for overlapping MPI nonblocking collectives on manycore processor", 2019, section 6.2. "eq."
// below is an equation there. Words: docs/glossary.md.
//
// Every rank has a core of its own, and the cores that are left progress communication. Levels of
// the tree are numbered from the leaves, 1 to height(ranks). The first `levels` of them (the
// paper's S) run on the ranks' cores, all at once, and are not overlapped with computation. The
// others run on the communication cores in turns, and are overlapped.
//
// Times are in transfers of one rank's buffer between two ranks, whatever the machine. They are
// those of Bcast, Reduce, Gather and Scatter; an Allreduce is a Reduce and a Bcast over the same
// tree, so that it takes twice as long and is best split at the same level.
//
// All functions are defined for every int. Without ranks there is no work. More `levels` than the
// tree has are all of them, fewer than 0 are none.
#pragma once

namespace tutti::lab::model {

// What an edge of the tree carries.
enum class Buffers : bool {
  constant,  // the same on each level: Bcast, Reduce, Allreduce
  growing,   // twice as much on each level as on the one before: Gather, Scatter
};

// H(N): levels of the tree over `ranks` ranks, 0 for a single one (eq. 3).
[[nodiscard]] int height(int ranks) noexcept;

// F(N, i): messages of a level; 0 for a level that the tree does not have. Eq. 5 with the sign of
// its half corrected, ceil(N / 2^i - 1/2), which is exact.
[[nodiscard]] int level_messages(int ranks, int level) noexcept;

// P(N): cores without a rank (section 6.2), 0 where there are none.
[[nodiscard]] int communication_cores(int ranks, int cores) noexcept;

// T_blocking: the collective with every level on the ranks' cores (eq. 3; growing: W_H).
[[nodiscard]] double blocking_time(int ranks, Buffers buffers) noexcept;

// C(N): how long a fixed computation takes on `ranks` cores, or on all if there are more ranks. On
// all cores it takes as long as a blocking collective does there (eq. 4, which is printed upside
// down). 0 without ranks or cores.
[[nodiscard]] double computation_time(int ranks, int cores, Buffers buffers) noexcept;

// T_nonblocking: the collective alone (eqs. 6 and 8). Infinite where levels are left to
// communication cores and there are none.
[[nodiscard]] double nonblocking_time(int ranks, int cores, int levels, Buffers buffers) noexcept;

// T_overlapped: the collective and the computation (eqs. 7 and 9). Infinite like the former.
[[nodiscard]] double overlapped_time(int ranks, int cores, int levels, Buffers buffers) noexcept;

// S: how many levels the ranks' cores should run, 0 to height(ranks). It is the number with the
// least overlapped time, and of several the smallest. All levels where no communication core is
// left. Takes one pass over the levels.
[[nodiscard]] int best_levels(int ranks, int cores, Buffers buffers) noexcept;

}  // namespace tutti::lab::model
