// SPDX-License-Identifier: BSD-3-Clause
// The arguments of one collective, as one member sees them: what a front end fills in and an
// algorithm reads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/collective.h"
#include "coll/block.h"
#include "reduce/reduce.h"

namespace tutti::coll {

using reduce::Stores;
using tutti::Collective;
using tutti::collective_count;
using tutti::is_rooted;
using tutti::name_of;

// In which order operands meet: see coll/meetings.h.
enum class Order : std::uint8_t { tree, rank };

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
  bool cico = false;              // another: what only the kernel can copy is called unreachable
  bool timed = false;             // how long its work takes is asked afterwards
  bool commutes = true;   // operands may meet in any order; told only where members are on several
                          // nodes, and then the same on all
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

}  // namespace tutti::coll
