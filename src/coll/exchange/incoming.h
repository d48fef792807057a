// SPDX-License-Identifier: BSD-3-Clause
// What a receiver sees: one sender's post, and the block in it that is for this member.
#pragma once

#include "coll/exchange/header.h"

namespace tutti::coll::exchange {

template <Fabric F>
class Incoming {
 public:
  // `payload`: what posted(peer, step) yielded; good until finish(step).
  Incoming(Bounce<F> bounce, int peer, Step step, const std::byte* payload)
      : f_(bounce.f), peer_(peer), step_(step), rest_(payload + sizeof header_), bounce_(bounce) {
    std::memcpy(&header_, payload, sizeof header_);
  }

  [[nodiscard]] const Header& header() const { return header_; }
  [[nodiscard]] Protocol protocol() const { return header_.protocol; }
  [[nodiscard]] std::size_t longest() const { return header_.bytes; }

  // How much there is for member `index`.
  [[nodiscard]] std::size_t bytes(int index) const {
    return header_.descriptor == Descriptor::listed ? entry(index).bytes : header_.bytes;
  }

  // Copies what is for member `index`, unless it is streamed. `alone`: no other member reads it.
  void take(int index, const Block& into, Stores stores, bool alone) {
    const std::size_t bytes = admitted(index, into);
    if (bytes == 0) return;
    const std::uint64_t stride = header_.descriptor == Descriptor::strided ? header_.bytes : 0;
    const std::uint64_t at = static_cast<std::uint64_t>(index) * stride;
    switch (header_.protocol) {
      case Protocol::inlined:  // but what the sender would send itself
        return unpack(into, 0, rest_ + (index < peer_ ? at : at - stride), bytes);
      case Protocol::packed: {
        f_.take(Route::staged);
        const std::uint64_t offset =
            header_.descriptor == Descriptor::listed ? entry(index).card.address : at;
        std::byte* const from = f_.staging(peer_, step_) + offset;
        unpack(into, 0, from, bytes);
        if (alone || header_.descriptor != Descriptor::single) hand_back(f_, from, bytes);
        return;
      }
      case Protocol::direct:
        return take_directly(index, into, bytes, stores);
      case Protocol::streamed:
        return f_.take(Route::staged);
    }
  }

  // For blocks that are lent: writes `block` to the block for member `index`.
  void put(int index, const Block& block, Stores stores) {
    const Spot spot = place_of(index);
    const std::size_t bytes = std::min(block.bytes, this->bytes(index));  // the owner will complain
    if (std::byte* to = f_.map(peer_, spot.card)) {
      f_.take(Route::mapped);
      pack(to + spot.offset, block, 0, bytes, stores);
    } else {
      f_.take(Route::copied);
      if (block.layout == nullptr)
        return f_.write(peer_, spot.card, spot.offset, block.address, bytes);
      for_pieces(block, bytes, [&](std::size_t begin, std::size_t piece) {
        pack(bounce_(), block, begin, piece);
        f_.write(peer_, spot.card, spot.offset + begin, bounce_(), piece);
      });
    }
  }

  // For blocks that are received where they are sent from, if they are mapped. The block for member
  // `index` and the own one change places, `bytes` of them. This member moves all of it.
  void trade(int index, const Block& from, const Block& into, std::size_t bytes) {
    if (bytes == 0) return;
    const Spot spot = place_of(index);
    f_.take(Route::mapped);
    for_pieces(from, bytes, [&](std::size_t begin, std::size_t piece) {
      std::byte* const theirs = f_.map(peer_, spot.card) + spot.offset + begin;
      pack(bounce_(), from, begin, piece);
      unpack(into, begin, theirs, piece);
      reduce::copy(theirs, bounce_(), piece);
    });
  }
  // The same, but this member moves one half and the other member the other; `mine` is mapped too.
  void trade_half(int index, int me, const Block& mine, std::size_t bytes) {
    if (bytes == 0) return;
    const Spot spot = place_of(index);
    f_.take(Route::mapped);
    const std::size_t middle = std::min(bytes, round_up(bytes / 2, line_bytes));
    const std::size_t begin = me < peer_ ? 0 : middle, end = me < peer_ ? middle : bytes;
    reduce::swap(mine.address + begin, f_.map(peer_, spot.card) + spot.offset + begin, end - begin);
  }

  // How much of the block for member `index` there is room for.
  [[nodiscard]] std::size_t admitted(int index, const Block& into) {
    const std::size_t sent = bytes(index);
    return admits(f_, peer_, sent, into) ? sent : into.bytes;
  }

 private:
  [[nodiscard]] Entry entry(int index) const {
    Entry entry;
    std::memcpy(&entry, f_.staging(peer_, step_) + static_cast<std::size_t>(index) * sizeof entry,
                sizeof entry);
    return entry;
  }

  // A block that stays in its owner's buffer: the card of the buffer, and where in it the block is.
  struct Spot {
    Card card;
    std::size_t offset;
  };
  [[nodiscard]] Spot place_of(int index) const {
    if (header_.descriptor == Descriptor::listed) return {entry(index).card, 0};
    Place place;
    std::memcpy(&place, rest_, sizeof place);
    return {place.card, static_cast<std::size_t>(index) * place.stride};
  }

  void take_directly(int index, const Block& into, std::size_t bytes, Stores stores) {
    const Spot spot = place_of(index);
    if (const std::byte* from = f_.map(peer_, spot.card)) {
      f_.take(Route::mapped);
      unpack(into, 0, from + spot.offset, bytes, stores);
    } else {
      f_.take(Route::copied);
      if (into.layout == nullptr)
        return f_.read(peer_, spot.card, spot.offset, into.address, bytes);
      for_pieces(into, bytes, [&](std::size_t begin, std::size_t piece) {
        f_.read(peer_, spot.card, spot.offset + begin, bounce_(), piece);
        unpack(into, begin, bounce_(), piece);
      });
    }
  }

  F& f_;
  int peer_;
  Step step_;
  Header header_;
  const std::byte* rest_;
  Bounce<F> bounce_;
};

}  // namespace tutti::coll::exchange
