// SPDX-License-Identifier: BSD-3-Clause
// What a sender does: it decides how its blocks travel, and posts.
#pragma once

#include <cstdlib>

#include "base/base.h"
#include "coll/exchange/header.h"

namespace tutti::coll::exchange {

// What others do with blocks that stay in their buffer.
enum class Use : std::uint8_t {
  read,     // the receivers take them
  pushed,   // the sender may be asked to write them where they go: so they are never packed first
  written,  // they are not sent at all, but lent: direct says that they can be written to, streamed
            // that they cannot
  swapped,  // they are where the sender receives, too: direct says that others can do both
};

template <Fabric F>
class Outgoing {
 public:
  // `blocks`: one for each member, or one for all of them; at least one.
  Outgoing(F& f, std::span<const Block> blocks, Use use = Use::read)
      : f_(f), blocks_(blocks), use_(use) {
    header_.in_place = use == Use::swapped;
    if (use == Use::written || !ride()) examine();
  }

  // Where the descriptor is listed, it is complete only after the post.
  [[nodiscard]] const Header& header() const { return header_; }
  [[nodiscard]] Protocol protocol() const { return header_.protocol; }
  [[nodiscard]] std::size_t longest() const { return header_.bytes; }
  [[nodiscard]] const Block& to(int peer) const {
    return blocks_[header_.descriptor == Descriptor::single ? 0 : static_cast<std::size_t>(peer)];
  }
  // How much of the scratch is taken by a copy without gaps.
  [[nodiscard]] std::size_t regular_bytes() const {
    return gaps_ && use_ == Use::read ? total_ : 0;
  }

  // To be awaited before post().
  [[nodiscard]] auto room(Step step) {
    const bool slot =
        header_.protocol == Protocol::packed || header_.descriptor == Descriptor::listed;
    return slot ? f_.staging_room(step) : f_.room(step);
  }

  void post(Step step) {
    if (header_.protocol != Protocol::inlined) return post_elsewhere(step);
    f_.take(Route::line);
    f_.post_with(step, [this](std::byte* to) {
      std::memcpy(to, &header_, sizeof header_);
      gather(to + sizeof header_, false);
    });
  }

 private:
  // Decides whether the blocks ride in the line: they are of one size, and it holds all of them.
  [[nodiscard]] bool ride() {
    const std::size_t each = blocks_[0].bytes;
    const std::size_t sent = std::max<std::size_t>(1, blocks_.size() - 1);
    if (each * sent > most_inline) return false;
    for (const Block& block : blocks_)
      if (block.bytes != each) return false;
    header_.descriptor = blocks_.size() == 1 ? Descriptor::single : Descriptor::strided;
    header_.bytes = each;
    return true;
  }

  void examine() {
    header_.descriptor = descriptor();
    for (const Block& block : blocks_) gaps_ = gaps_ || block.layout != nullptr;
    if (header_.descriptor == Descriptor::single) blocks_ = blocks_.first(1);
    for (const Block& block : blocks_) {
      total_ += block.bytes;
      header_.bytes = std::max<std::uint64_t>(header_.bytes, block.bytes);
    }
    // The protocol of a list is found out when it is written.
    header_.protocol = header_.descriptor == Descriptor::listed || is_small()
                           ? Protocol::packed
                           : protocol_for(transport_of_all());
  }

  void post_elsewhere(Step step) {
    std::byte* slot = f_.staging(f_.rank(), step);
    if (header_.descriptor == Descriptor::listed) list(slot);
    if (use_ == Use::written && header_.protocol == Protocol::direct) populate();
    if (header_.protocol == Protocol::packed) gather(slot + table_bytes(), true);
    // Nobody else knows where the gaps are.
    if (header_.protocol == Protocol::direct && gaps_) gather(copy(), true);
    f_.take(route());
    f_.post_with(step, [this](std::byte* to) {
      std::memcpy(to, &header_, sizeof header_);
      std::memcpy(to + sizeof header_, &place_, sizeof place_);
    });
    if (header_.protocol == Protocol::packed) f_.reserve(step + 1, table_bytes() + total_);
  }

  [[nodiscard]] Descriptor descriptor() {
    const Block& first = blocks_[0];
    if (blocks_.size() == 1) return Descriptor::single;
    const std::ptrdiff_t stride = blocks_[1].address - first.address;
    if (stride < 0) return Descriptor::listed;
    for (std::size_t i = 1; i < blocks_.size(); ++i)
      if (blocks_[i].bytes != first.bytes || blocks_[i].address - blocks_[i - 1].address != stride)
        return Descriptor::listed;
    for (const Block& block : blocks_)
      if (block.layout != first.layout) return Descriptor::listed;
    place_.stride = static_cast<std::uint64_t>(stride);
    return stride == 0 || first.bytes == 0 ? Descriptor::single : Descriptor::strided;
  }

  [[nodiscard]] Transport transport_of_all() {
    if (gaps_) {
      if (use_ != Use::read) return no_transport;
      place_ = {f_.offer(copy(), total_),
                header_.descriptor == Descriptor::strided ? longest() : 0};
      return place_.card.transport;
    }
    const std::size_t before_last = (blocks_.size() - 1) * place_.stride;
    const bool full = header_.descriptor == Descriptor::single || place_.stride == longest();
    place_.card = f_.offer(blocks_[0].address, before_last + longest(), full);
    return place_.card.transport;
  }

  // Of blocks that are not small.
  [[nodiscard]] Protocol protocol_for(Transport transport) {
    if (use_ == Use::swapped && needs_kernel(transport)) transport = no_transport;
    transport_ = transport;
    const bool far = !can_map(transport) && longest() < limits::copied_bytes;
    if (fits() && (far || !can_copy(transport))) return Protocol::packed;
    return can_copy(transport) ? Protocol::direct : Protocol::streamed;
  }

  [[nodiscard]] bool fits() const {
    return use_ != Use::written && table_bytes() + total_ <= segment::staging_bytes;
  }
  // Packed wherever the blocks lie: so they need not be offered.
  [[nodiscard]] bool is_small() const { return fits() && longest() < f_.costs().direct_bytes; }

  [[nodiscard]] std::size_t table_bytes() const {
    return header_.descriptor == Descriptor::listed ? blocks_.size() * sizeof(Entry) : 0;
  }

  // Memory for a copy without gaps: the same whenever it is asked for, with a bounce buffer behind.
  [[nodiscard]] std::byte* copy() { return f_.scratch(total_ + limits::bounce_bytes); }

  // Packs one block after another. The block for this member itself is left out. `hole`: its place
  // stays free.
  void gather(std::byte* to, bool hole) {
    for (std::size_t i = 0; i < blocks_.size(); ++i) {
      const bool sent =
          header_.descriptor == Descriptor::single || static_cast<int>(i) != f_.rank();
      if (sent) pack(to, blocks_[i], 0, blocks_[i].bytes);
      if (sent || hole) to += blocks_[i].bytes;
    }
  }

  [[nodiscard]] const std::byte* first_of_all() const {
    for (const Block& block : blocks_)
      if (block.bytes > 0) return block.address;
    return nullptr;
  }
  // Not what lies between them.
  void populate() {
    if (are_adjacent()) return f_.populate(first_of_all(), total_);
    for (const Block& block : blocks_) f_.populate(block.address, block.bytes);
  }
  // Blocks that share pages with each other, and with nothing else, are offered as one first.
  [[nodiscard]] bool are_adjacent() const {
    const std::byte* behind = nullptr;
    for (const Block& block : blocks_) {
      if (block.bytes == 0) continue;
      if (behind != nullptr && block.address != behind) return false;
      behind = block.address + block.bytes;
    }
    return true;
  }

  // Writes the table: with cards, and with places in the slot where the blocks are to be packed.
  void list(std::byte* slot) {
    if (blocks_.size() > static_cast<std::size_t>(limits::most_listed_ranks)) {
      log::fatal(
          "blocks of %zu ranks of a node cannot be listed, as with a datatype whose extent "
          "is negative; TUTTI_OFF=1 leaves the call to the MPI",
          blocks_.size());
      std::abort();
    }
    if (!is_small()) list_cards(slot);
    if (header_.protocol == Protocol::packed) list_places(slot);
  }

  void list_cards(std::byte* slot) {
    Transport worst = gaps_ && use_ != Use::read ? no_transport : best_transport;
    if (!gaps_ && are_adjacent()) (void)f_.offer(first_of_all(), total_);
    const std::byte* next_copy = gaps_ && use_ == Use::read ? copy() : nullptr;
    for (std::size_t i = 0; i < blocks_.size(); ++i) {
      Entry entry{{}, blocks_[i].bytes};
      if (entry.bytes > 0) {
        entry.card = f_.offer(next_copy != nullptr ? next_copy : blocks_[i].address, entry.bytes);
        worst = worse_of(worst, entry.card.transport);
      }
      if (next_copy != nullptr) next_copy += entry.bytes;
      std::memcpy(slot + i * sizeof entry, &entry, sizeof entry);
    }
    header_.protocol = protocol_for(worst);
  }

  void list_places(std::byte* slot) const {
    std::uint64_t next = table_bytes();
    for (std::size_t i = 0; i < blocks_.size(); ++i) {
      const Entry entry{{next}, blocks_[i].bytes};
      std::memcpy(slot + i * sizeof entry, &entry, sizeof entry);
      next += entry.bytes;
    }
  }

  [[nodiscard]] Route route() const {
    return header_.protocol == Protocol::direct ? route_of(transport_) : Route::staged;
  }

  F& f_;
  std::span<const Block> blocks_;
  Use use_;
  bool gaps_ = false;
  std::size_t total_ = 0;
  Transport transport_ = best_transport;
  Header header_;
  Place place_;
};

}  // namespace tutti::coll::exchange
