// SPDX-License-Identifier: BSD-3-Clause
// A sender's side: how its blocks travel, and its post.
#pragma once

#include "coll/exchange/header.h"

namespace tutti::coll::exchange {

template <Fabric F>
class Outgoing {
 public:
  // `blocks`: one for each member, or one for all of them; at least one. With `lent` they are not
  // sent but offered to be written to: direct says that they can be, streamed that they cannot.
  Outgoing(F& f, std::span<const Block> blocks, bool lent = false)
      : f_(f), blocks_(blocks), lent_(lent) {
    header_.shape = shape();
    if (header_.shape == Shape::single) blocks_ = blocks_.first(1);
    for (const Block& block : blocks_) {
      total_ += block.bytes;
      header_.bytes = std::max<std::uint64_t>(header_.bytes, block.bytes);
    }
    // What a list needs is found out when it is written.
    if (header_.shape != Shape::listed) header_.mode = mode_for(way_of_all());
  }

  // Of a list, only after its post.
  [[nodiscard]] Mode mode() const { return header_.mode; }
  [[nodiscard]] std::size_t longest() const { return header_.bytes; }
  [[nodiscard]] const Block& to(int peer) const {
    return blocks_[header_.shape == Shape::single ? 0 : static_cast<std::size_t>(peer)];
  }
  [[nodiscard]] bool needs_slot() const {
    return header_.mode == Mode::packed || header_.shape == Shape::listed;
  }

  // After room(step), or staging_room(step) if needs_slot().
  void post(Step step) {
    std::byte* slot = f_.staging(f_.rank(), step);
    if (header_.shape == Shape::listed) list(slot);
    if (header_.mode == Mode::packed) gather(slot + table_bytes());
    f_.take(route());
    std::byte payload[segment::payload_bytes];
    std::memcpy(payload, &header_, sizeof header_);
    std::size_t used = sizeof header_;
    if (header_.mode == Mode::inlined) {
      used += gather(payload + used);
    } else {
      std::memcpy(payload + used, &place_, sizeof place_);
      used += sizeof place_;
    }
    f_.post(step, {payload, used});
  }

 private:
  [[nodiscard]] Shape shape() {
    const Block& first = blocks_[0];
    if (blocks_.size() == 1) return Shape::single;
    const std::ptrdiff_t stride = blocks_[1].address - first.address;
    if (stride < 0) return Shape::listed;
    for (std::size_t i = 1; i < blocks_.size(); ++i)
      if (blocks_[i].bytes != first.bytes || blocks_[i].address - blocks_[i - 1].address != stride)
        return Shape::listed;
    place_.stride = static_cast<std::uint64_t>(stride);
    return stride == 0 || first.bytes == 0 ? Shape::single : Shape::strided;
  }

  [[nodiscard]] Way way_of_all() {
    if (!lent_ && total_ <= most_inline) return Way::mapped;  // it will not matter
    const std::size_t before_last = (blocks_.size() - 1) * place_.stride;
    place_.card = f_.offer(blocks_[0].address, before_last + longest());
    return place_.card.way;
  }

  [[nodiscard]] Mode mode_for(Way way) {
    way_ = way;
    if (!lent_ && header_.shape != Shape::listed && total_ <= most_inline) return Mode::inlined;
    const bool fits = !lent_ && table_bytes() + total_ <= segment::staging_bytes;
    const std::size_t least = way == Way::mapped ? direct_bytes : copied_bytes;
    if (fits && (longest() < least || way == Way::staged)) return Mode::packed;
    return way == Way::staged ? Mode::streamed : Mode::direct;
  }

  [[nodiscard]] std::size_t table_bytes() const {
    return header_.shape == Shape::listed ? blocks_.size() * sizeof(Entry) : 0;
  }

  // One block after another. What goes to myself leaves a hole.
  std::size_t gather(std::byte* to) {
    std::size_t used = 0;
    for (std::size_t i = 0; i < blocks_.size(); used += blocks_[i].bytes, ++i)
      if (header_.shape == Shape::single || static_cast<int>(i) != f_.rank())
        pack(to + used, blocks_[i], 0, blocks_[i].bytes);
    return used;
  }

  // The table, once with cards; if the blocks are packed then, with their places instead.
  void list(std::byte* slot) {
    Way worst = Way::mapped;
    for (std::size_t i = 0; i < blocks_.size(); ++i) {
      Entry entry{{}, blocks_[i].bytes};
      if (entry.bytes > 0) {
        entry.card = f_.offer(blocks_[i].address, entry.bytes);
        worst = std::max(worst, entry.card.way);
      }
      std::memcpy(slot + i * sizeof entry, &entry, sizeof entry);
    }
    header_.mode = mode_for(worst);
    std::uint64_t next = table_bytes();
    for (std::size_t i = 0; header_.mode == Mode::packed && i < blocks_.size(); ++i) {
      const Entry entry{{next}, blocks_[i].bytes};
      std::memcpy(slot + i * sizeof entry, &entry, sizeof entry);
      next += entry.bytes;
    }
  }

  [[nodiscard]] Route route() const {
    if (header_.mode == Mode::inlined) return Route::line;
    if (header_.mode != Mode::direct) return Route::staged;
    return way_ == Way::mapped ? Route::mapped : Route::copied;
  }

  F& f_;
  std::span<const Block> blocks_;
  bool lent_;
  std::size_t total_ = 0;
  Way way_ = Way::mapped;
  Header header_;
  Place place_;
};

}  // namespace tutti::coll::exchange
