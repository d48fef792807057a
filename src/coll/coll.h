// SPDX-License-Identifier: BSD-3-Clause
// coll: the collectives. Each has a folder, with a file for each algorithm and a table of rows
// (<collective>/rows.h). An algorithm is a coroutine template over fabric::Fabric.
//
// Every member must run the same row, so the choice depends on Facts alone. An algorithm may find
// out more from the cards that members post (a buffer that cannot be reached, say). It may act on
// that only if all members that must act with it see the same cards.
//
// Words: docs/glossary.md. The algorithms: docs/algorithms.md.
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

// Larger elements fit neither lines nor slots: only late reductions take them.
inline constexpr std::size_t most_slot_element_bytes = 256;

class Operands;  // coll/late/operands.h

// A part of a vector, in elements.
struct Slice {
  std::size_t begin = 0;
  std::size_t count = 0;
};

// One call's arguments, as one member sees them.
//
// Bcast and reductions use `send`, `recv` and `count`; `send` == `recv` is in place.
//  - Bcast uses `recv` as its buffer.
//  - Reduce uses `recv` on the root alone.
//  - Reduce_scatter divides `count` into `parts`, which follow each other. In place it leaves what
//    is behind the result as it is. (A late one is never in place here, but works on a copy.)
// Collectives that only move data use blocks. `out` holds one for each member, or one for all of
// them (Gather and Allgather). `in` holds one for each member, or one from the root (Scatter).
// Where a member has nothing to do with one of the two, or is in place, that one is empty. But in
// place `out` is in[rank] in an Allgather, and in an Alltoall both are the same blocks.
// `count` x `element_bytes` then is what all members know alike of the size, or 0.
struct Work {
  const void* send = nullptr;
  void* recv = nullptr;
  std::size_t count = 0;  // elements
  std::size_t element_bytes = 1;
  const reduce::Kernel* kernel = nullptr;
  Operands* operands = nullptr;  // not null: a late reduction (coll/late/), on all members alike
  int root = 0;
  int op = 0;                 // 1 + reduce::Op of what computes, or user_op; to compare and to say
  Order order = Order::tree;  // the same on all members
  Stores stores = Stores::plain;  // a local choice
  bool detour = false;            // another: what only the kernel can copy is called unreachable
  bool timed = false;             // how long its work takes is asked afterwards
  bool in_place = false;  // what is sent is overwritten, though `send` is not `recv`: an Alltoall
                          // whose `out` is `in`, a late Reduce_scatter, or one that sends a copy
  std::span<const Block> out = {};
  std::span<const Block> in = {};
  std::span<const Slice> parts = {};
  // For algorithms that progress threads run. `levels`: how many levels of a tree, from its leaves
  // on, are left to the ranks themselves; the same on all members. `piece_bytes`: the pieces of a
  // pipeline; 0 leaves the choice to the algorithm.
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

// Whether blocks of `bytes` together ride in a line. All members know `bytes`; 0: they do not.
constexpr bool fits_line(std::size_t bytes) { return bytes > 0 && bytes <= segment::payload_bytes; }
// The same for a block for each other member.
constexpr bool fits_line_of_others(const Facts& facts) {
  return fits_line(facts.bytes * static_cast<std::size_t>(std::max(1, facts.ranks - 1)));
}

// Messages from this size on move between the users' own buffers, smaller ones through the segment.
// Heap blocks from this size on are in the commons, unless the options say otherwise.
inline constexpr std::size_t direct_bytes = std::size_t{8} << 10;
// The same where each sender chooses for itself. It can be smaller, as nobody then waits in vain
// for buffers that turn out not to be mapped.
inline constexpr std::size_t chosen_direct_bytes = std::size_t{4} << 10;
// One kernel copy costs a system call and the pinning of pages. Below this size staging is taken to
// be faster, where nobody has learned which one is.
inline constexpr std::size_t copied_bytes = std::size_t{32} << 10;

// Memory of a line's size, for a coroutine to compute in. It is a type because GCC 12 heeds the
// alignment of a type in a coroutine's frame, but not that of a variable.
struct alignas(std::max_align_t) LineBuffer {
  std::byte bytes[segment::payload_bytes];
};

// The card of a buffer, as the local choices want it.
inline Card as_chosen(Card card, bool detour) {
  if (detour && card.way == Way::copied) card.way = Way::staged;
  return card;
}

// Part `index` of `count` elements that are cut into `parts`. Parts begin at multiples of `grain`
// elements. They are equally long, but for the last ones, which may be shorter or empty.
constexpr Slice slice_of(std::size_t count, std::size_t parts, std::size_t index,
                         std::size_t grain = 64) {
  const std::size_t each = (count / parts + grain - (count % parts == 0 ? 1 : 0)) / grain * grain;
  const std::size_t begin = std::min(count, each * index);
  return {begin, std::min(each, count - begin)};
}

// The size of the pieces in which `whole` passes through slots, so that one member fills slots
// while others drain them: a quarter of it, but at least `least` and at most `most`.
constexpr std::size_t piece_of(std::size_t whole, std::size_t least, std::size_t most) {
  return std::min(most, std::max(least, round_up(whole / 4, 64)));
}

// The size of the chunks in which `whole` is shared out: such a piece, or more where a share could
// not count so many chunks.
constexpr std::size_t chunk_of(std::size_t whole, std::size_t most) {
  return std::max(piece_of(whole, most / 8, most),
                  round_up(whole / (segment::most_chunks - 1) + 1, 64));
}

// For the only member that reads these bytes of a slot, after it has read them and before it says
// so. It writes a byte of each cache line back as it is. Nothing changes, but the lines are now
// modified in its core, and the owner's next stores fetch them whole. The owner would have to make
// lines exclusive again that were only read. That takes some processors up to four times as long
// (docs/algorithms.md, "Slots").
inline void hand_back(std::byte* read, std::size_t bytes) {
  constexpr std::size_t least = 1024;  // fewer are as fast either way
  if (bytes < least) return;
  constexpr std::size_t line = 64;
  volatile std::byte* const at = read;
  for (std::size_t i = 0; i < bytes; i += line) at[i] = at[i];
  at[bytes - 1] = at[bytes - 1];
}

// The same for these bytes of the slots of all others.
template <Fabric F>
void hand_all_back(F& f, Step step, std::size_t begin, std::size_t bytes) {
  for (int i = 1; i < f.size(); ++i)
    hand_back(f.staging((f.rank() + i) % f.size(), step) + begin, bytes);
}

// Takes so many steps; returns the first of them.
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
