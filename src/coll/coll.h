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
#include "base/collective.h"
#include "choice/choice.h"
#include "coll/block.h"
#include "coll/meetings.h"
#include "coll/work.h"
#include "fabric/fabric.h"
#include "reduce/reduce.h"

namespace tutti::coll {

using choice::Costs;
using choice::Facts;
using choice::Needs;
using fabric::best_transport;
using fabric::Bytes;
using fabric::Card;
using fabric::Fabric;
using fabric::no_transport;
using fabric::nothing_lent;
using fabric::Route;
using fabric::route_of;
using fabric::Step;
using fabric::Task;
using fabric::Transport;

// An algorithm as a row of its collective's table: what choice/ weighs, and the coroutine.
template <Fabric F>
struct Row : choice::Algorithm {
  Task (*run)(F&, const Work&);
};

// Memory of a line's size, for a coroutine to compute in. It is a type because GCC 12 heeds the
// alignment of a type in a coroutine's frame, but not that of a variable.
struct alignas(std::max_align_t) LineBuffer {
  std::byte bytes[segment::payload_bytes];
};

// The longest chunk of a buffer that is reached like this.
constexpr std::size_t most_chunk_bytes(Transport transport) {
  return can_map(transport) ? limits::mapped_chunk_bytes : limits::copied_chunk_bytes;
}

// The card of a buffer, as the local choices want it.
inline Card as_chosen(Card card, bool cico) {
  if (cico && needs_kernel(card.transport)) card.transport = no_transport;
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

// The same of a part of the vector.
constexpr Slice cut(const Slice& whole, std::size_t parts, std::size_t index,
                    std::size_t grain = 64) {
  const Slice inner = slice_of(whole.count, parts, index, grain);
  return {whole.begin + inner.begin, inner.count};
}

// What is in both.
constexpr Slice overlap(const Slice& a, const Slice& b) {
  const std::size_t begin = std::max(a.begin, b.begin);
  const std::size_t end = std::min(a.begin + a.count, b.begin + b.count);
  return {begin, end > begin ? end - begin : 0};
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

// The member so many ranks after this one, fewer than there are; after the last comes the first.
template <Fabric F>
[[nodiscard]] int member_after(const F& f, int ranks) {
  const int q = f.rank() + ranks;
  return q < f.size() ? q : q - f.size();
}

// Hands these bytes of a slot back to its owner (segment/desk.h), where that pays.
template <Fabric F>
void hand_back(const F& f, std::byte* read, std::size_t bytes) {
  if (bytes >= limits::handed_back_bytes && f.costs().hands_back()) segment::hand_back(read, bytes);
}

// The same for these bytes of the slots of all others.
template <Fabric F>
void hand_all_back(F& f, Step step, std::size_t begin, std::size_t bytes) {
  for (int i = 1; i < f.size(); ++i)
    hand_back(f, f.staging(member_after(f, i), step) + begin, bytes);
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
