// SPDX-License-Identifier: BSD-3-Clause
// coll: the collectives. A folder a collective, a file an algorithm, one table of rows each
// (<collective>/rows.h). An algorithm is a coroutine template over fabric::Fabric.
//
// Which row runs must be the same on every member, so it depends on Facts alone; what an algorithm
// finds out from the cards that members post (a buffer that cannot be reached, say) it may act on
// only if everyone who must act with it sees the same cards.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>

#include "base/bits.h"
#include "coll/block.h"
#include "coll/meetings.h"
#include "fabric/fabric.h"
#include "reduce/reduce.h"

namespace tutti::coll {

using fabric::Bytes;
using fabric::Card;
using fabric::Fabric;
using fabric::Route;
using fabric::Step;
using fabric::Task;
using fabric::Way;
using reduce::Stores;

enum class Collective : std::uint8_t {
  barrier,
  bcast,
  reduce,
  allreduce,
  gather,
  gatherv,
  scatter,
  scatterv,
  allgather,
  allgatherv,
  alltoall,
  alltoallv,
  alltoallw,
  reduce_scatter,
  reduce_scatter_block,
  scan,
  exscan,
};
inline constexpr int collective_count = 17;
[[nodiscard]] const char* name_of(Collective collective);  // "Barrier", ...
[[nodiscard]] bool is_rooted(Collective collective);

// Work::op of an operation of the user.
inline constexpr int user_op = reduce::op_count + 1;

// Elements of more bytes are too large for lines and slots: only late reductions take them.
inline constexpr std::size_t most_slot_element_bytes = 256;

class Operands;  // coll/late/operands.h

// A part of a vector, in elements.
struct Slice {
  std::size_t begin = 0;
  std::size_t count = 0;
};

// One call's arguments, as one member sees them.
//
// Bcast and what computes use `send`, `recv` and `count`; `send` == `recv` is in place. Bcast uses
// `recv` as its buffer; Reduce uses `recv` on the root alone; Reduce_scatter divides `count` by
// `parts`, which follow each other, and in place leaves what is behind the result as it is (a late
// one is not in place here, but of a copy).
// What only moves data uses blocks: `out` holds one for each member, or one for all of them (Gather
// and Allgather), `in` one for each member or one from the root (Scatter). Where a member has
// nothing to do with one of them, as in place, it is empty: but in an Allgather `out` is in[rank],
// and in an Alltoall both are the same blocks.
// `count` x `element_bytes` then is what all members know alike of the size, or 0.
struct Work {
  const void* send = nullptr;
  void* recv = nullptr;
  std::size_t count = 0;  // elements
  std::size_t element_bytes = 1;
  const reduce::Kernel* kernel = nullptr;
  Operands* operands = nullptr;  // of a late reduction (coll/late/), on all members alike
  int root = 0;
  int op = 0;                 // 1 + reduce::Op of what computes, or user_op; to compare and to say
  Order order = Order::tree;  // the same on all members
  Stores stores = Stores::plain;  // a local choice
  bool detour = false;            // another: what only the kernel can copy is called unreachable
  bool timed = false;             // how long its work takes is asked afterwards
  bool in_place = false;  // what is sent is lost, though `send` does not say so: an Alltoall whose
                          // `out` is `in`, and a late Reduce_scatter
  std::span<const Block> out = {};
  std::span<const Block> in = {};
  std::span<const Slice> parts = {};
  // For algorithms that progress threads run: how many levels of a tree, from its leaves on, are
  // left to the ranks themselves (the same on all members), and the pieces of a pipeline, of which
  // 0 leaves the choice to the algorithm.
  int levels = 0;
  std::size_t piece_bytes = 0;

  [[nodiscard]] std::size_t bytes() const { return count * element_bytes; }
};

// What every member knows alike.
struct Facts {
  int ranks = 0;
  std::size_t bytes = 0;
};

// An algorithm as a row of its collective's table; the first row that fits is taken.
template <Fabric F>
struct Row {
  const char* name;
  const char* description;
  bool (*fits)(const Facts&);
  Task (*run)(F&, const Work&);
};

// nullptr: none fits.
template <Fabric F>
const Row<F>* first_that_fits(std::span<const Row<F>> rows, const Facts& facts) {
  const auto at =
      std::find_if(rows.begin(), rows.end(), [&](const Row<F>& row) { return row.fits(facts); });
  return at == rows.end() ? nullptr : &*at;
}

// Whether blocks of together so many bytes, which all members know, ride in a line; 0: they do not
// know.
constexpr bool fits_line(std::size_t bytes) { return bytes > 0 && bytes <= segment::payload_bytes; }
// The same for a block for each other member.
constexpr bool fits_line_of_others(const Facts& facts) {
  return fits_line(facts.bytes * static_cast<std::size_t>(std::max(1, facts.ranks - 1)));
}

// Larger messages move between the users' own buffers, smaller ones through the segment. Blocks of
// the heap from this size on are in the commons, unless the options say otherwise.
inline constexpr std::size_t direct_bytes = std::size_t{8} << 10;
// The same where each sender chooses for itself, so that nobody waits in vain for buffers that turn
// out not to be mapped.
inline constexpr std::size_t chosen_direct_bytes = std::size_t{4} << 10;
// One kernel copy costs a call and the pinning of pages: below this, staging is taken to be faster
// where nobody has learned which is.
inline constexpr std::size_t copied_bytes = std::size_t{32} << 10;

// What fits a line, for a coroutine to compute in. GCC 12 heeds the alignment of a type in a
// coroutine's frame, but not that of a variable.
struct alignas(std::max_align_t) LineBuffer {
  std::byte bytes[segment::payload_bytes];
};

// The card of a buffer, as the local choices want it.
inline Card as_chosen(Card card, bool detour) {
  if (detour && card.way == Way::copied) card.way = Way::staged;
  return card;
}

// Part `index` of `parts` of `count` elements. Parts begin at multiples of `grain` elements and
// differ by at most one grain, but for the last ones, which may be shorter or empty.
constexpr Slice slice_of(std::size_t count, std::size_t parts, std::size_t index,
                         std::size_t grain = 64) {
  const std::size_t each = (count / parts + grain - (count % parts == 0 ? 1 : 0)) / grain * grain;
  const std::size_t begin = std::min(count, each * index);
  return {begin, std::min(each, count - begin)};
}

// The size of the pieces that `whole` passes through slots in, so that one member fills while
// others drain: a quarter of it, but at least `least`, and `most` at most.
constexpr std::size_t piece_of(std::size_t whole, std::size_t least, std::size_t most) {
  return std::min(most, std::max(least, round_up(whole / 4, 64)));
}

// The size of the chunks that `whole` is shared out in: such a piece, or as much more as it takes
// to have no more chunks than a share can count.
constexpr std::size_t chunk_of(std::size_t whole, std::size_t most) {
  return std::max(piece_of(whole, most / 8, most),
                  round_up(whole / (segment::most_chunks - 1) + 1, 64));
}

// After the one member that reads these bytes of a slot has read them, and before it says so: it
// writes a byte of each line as it is, so that the lines are modified ones of its core. The owner's
// next stores then fetch them whole; lines that were only read it has to make exclusive again,
// which takes some processors up to four times as long (docs/algorithms.md, "Slots"). Nothing
// changes in them.
inline void hand_back(std::byte* read, std::size_t bytes) {
  constexpr std::size_t least = 1024;  // fewer are as fast either way
  if (bytes < least) return;
  constexpr std::size_t line = 64;
  volatile std::byte* const at = read;
  for (std::size_t i = 0; i < bytes; i += line) at[i] = at[i];
  at[bytes - 1] = at[bytes - 1];
}

// The same for what lies there in the slots of all others.
template <Fabric F>
void hand_all_back(F& f, Step step, std::size_t begin, std::size_t bytes) {
  for (int i = 1; i < f.size(); ++i)
    hand_back(f.staging((f.rank() + i) % f.size(), step) + begin, bytes);
}

// The first of so many steps, all of which are then taken.
template <Fabric F>
Step next_steps(F& f, std::size_t count) {
  const Step first = f.next_step();
  for (std::size_t i = 1; i < count; ++i) (void)f.next_step();
  return first;
}

template <class T>
Bytes bytes_of(const T& value) {
  return std::as_bytes(std::span<const T, 1>(&value, 1));
}

}  // namespace tutti::coll
