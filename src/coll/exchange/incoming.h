// SPDX-License-Identifier: BSD-3-Clause
// A receiver's side: one sender's post, and the block in it that is for this member.
#pragma once

#include "coll/exchange/header.h"

namespace tutti::coll::exchange {

template <Fabric F>
class Incoming {
 public:
  // `payload`: what posted(peer, step) yielded; good until finish(step). `bounce`: bounce_bytes.
  Incoming(F& f, int peer, Step step, const std::byte* payload, std::byte* bounce)
      : f_(f), peer_(peer), step_(step), rest_(payload + sizeof header_), bounce_(bounce) {
    std::memcpy(&header_, payload, sizeof header_);
  }

  [[nodiscard]] Mode mode() const { return header_.mode; }
  [[nodiscard]] std::size_t longest() const { return header_.bytes; }

  // How much there is for member `index`.
  [[nodiscard]] std::size_t bytes(int index) const {
    return header_.shape == Shape::listed ? entry(index).bytes : header_.bytes;
  }

  // Copies what is for member `index`, unless it is streamed.
  void take(int index, const Block& into, Stores stores) {
    const std::size_t bytes = admitted(index, into);
    if (bytes == 0) return;
    const auto at =
        static_cast<std::uint64_t>(index) * (header_.shape == Shape::strided ? header_.bytes : 0);
    switch (header_.mode) {
      case Mode::inlined:
        return unpack(into, 0, rest_ + at, bytes);
      case Mode::packed: {
        const std::uint64_t offset =
            header_.shape == Shape::listed ? entry(index).card.address : at;
        return unpack(into, 0, f_.staging(peer_, step_) + offset, bytes);
      }
      case Mode::direct:
        return take_directly(index, into, bytes, stores);
      case Mode::streamed:
        return;
    }
  }

  // For blocks that are lent: writes `block` to that of member `index`.
  void put(int index, const Block& block, Stores stores) {
    const Place place = place_of(index);
    const std::size_t offset = static_cast<std::size_t>(index) * place.stride;
    const std::size_t bytes = std::min(block.bytes, this->bytes(index));  // the owner will complain
    if (std::byte* to = f_.map(peer_, place.card)) {
      f_.take(Route::mapped);
      pack(to + offset, block, 0, bytes, stores);
    } else {
      f_.take(Route::copied);
      if (block.layout == nullptr) return f_.write(peer_, place.card, offset, block.address, bytes);
      for_pieces(block, bytes, [&](std::size_t begin, std::size_t piece) {
        pack(bounce_, block, begin, piece);
        f_.write(peer_, place.card, offset + begin, bounce_, piece);
      });
    }
  }

  // The bytes for member `index`; more than fit are an error of the program.
  [[nodiscard]] std::size_t admitted(int index, const Block& into) {
    const std::size_t sent = bytes(index);
    if (sent <= into.bytes) return sent;
    f_.surplus(peer_, sent, into.bytes);
    return into.bytes;
  }

 private:
  [[nodiscard]] Entry entry(int index) const {
    Entry entry;
    std::memcpy(&entry, f_.staging(peer_, step_) + static_cast<std::size_t>(index) * sizeof entry,
                sizeof entry);
    return entry;
  }

  [[nodiscard]] Place place_of(int index) const {
    Place place;
    if (header_.shape == Shape::listed)
      place.card = entry(index).card;
    else
      std::memcpy(&place, rest_, sizeof place);
    return place;
  }

  void take_directly(int index, const Block& into, std::size_t bytes, Stores stores) {
    const Place place = place_of(index);
    const std::size_t offset = static_cast<std::size_t>(index) * place.stride;
    if (const std::byte* from = f_.map(peer_, place.card)) {
      f_.take(Route::mapped);
      unpack(into, 0, from + offset, bytes, stores);
    } else {
      f_.take(Route::copied);
      if (into.layout == nullptr) return f_.read(peer_, place.card, offset, into.address, bytes);
      for_pieces(into, bytes, [&](std::size_t begin, std::size_t piece) {
        f_.read(peer_, place.card, offset + begin, bounce_, piece);
        unpack(into, begin, bounce_, piece);
      });
    }
  }

  F& f_;
  int peer_;
  Step step_;
  Header header_;
  const std::byte* rest_;
  std::byte* bounce_;
};

}  // namespace tutti::coll::exchange
