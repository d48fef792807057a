// SPDX-License-Identifier: BSD-3-Clause
// Elements with gaps, as a function of the user must see them: from packed bytes to as they lie in
// memory, and back.
#pragma once

#include <algorithm>
#include <cstdlib>

#include "mpi/call_buffers.h"
#include "mpi/packing.h"

namespace tutti::mpi {

// Memory for a block, on the stack unless it is large.
class Room {
 public:
  static constexpr std::size_t usual_bytes = std::size_t{8} << 10;
  explicit Room(std::size_t bytes) : heap_(bytes > usual_bytes ? bytes + alignment : 0) {}
  // Aligned as buffers of programs are that care.
  [[nodiscard]] std::byte* get() {
    return heap_.get() == nullptr ? own_
                                  : reinterpret_cast<std::byte*>(round_up(
                                        reinterpret_cast<std::size_t>(heap_.get()), alignment));
  }
  static constexpr std::size_t alignment = 64;

 private:
  Temporary heap_;
  alignas(alignment) std::byte own_[usual_bytes];
};

template <class H>
struct Spread {
  const Native<H>* native = nullptr;
  const layout::Layout* layout = nullptr;  // nullptr: only the MPI can pack it
  H type{};
  H packs_on{};           // a communicator
  std::size_t bytes = 0;  // packed, of an element
  Aint extent = 0;
  Aint first = 0, span = 0;  // what a function may touch of an element, beginning at its place

  // How many elements an ordinary block has.
  [[nodiscard]] std::size_t most() const {
    constexpr auto room = static_cast<Aint>(Room::usual_bytes);
    const auto packed = Room::usual_bytes / bytes;
    const Aint step = std::abs(extent), rest = room - Room::alignment - span;
    const Aint spread = rest < 0 ? 1 : step == 0 ? room : rest / step + 1;
    return std::max<std::size_t>(1, std::min(packed, static_cast<std::size_t>(spread)));
  }
  [[nodiscard]] std::size_t room(std::size_t count) const {
    return static_cast<std::size_t>((static_cast<Aint>(count) - 1) * std::abs(extent) + span) +
           Room::alignment;
  }
  // Where a buffer begins whose elements lie in `room`; aligned as that.
  [[nodiscard]] std::byte* origin(std::byte* room, std::size_t count) const {
    const Aint lowest = std::min<Aint>(0, (static_cast<Aint>(count) - 1) * extent) + first;
    const auto at = reinterpret_cast<std::size_t>(room) - static_cast<std::size_t>(lowest);
    return reinterpret_cast<std::byte*>(round_up(at, Room::alignment));
  }

  void lay(std::byte* origin, const std::byte* packed, std::size_t count) const {
    if (layout != nullptr) return layout->unpack(origin, packed, 0, count * bytes);
    must_be_done(packable(origin, count, packed)
                     .unpack(packed, static_cast<Count>(count * bytes), packs_on));
  }
  void collect(std::byte* packed, const std::byte* origin, std::size_t count) const {
    if (layout != nullptr) return layout->pack(packed, origin, 0, count * bytes);
    must_be_done(
        packable(origin, count, packed).pack(packed, static_cast<Count>(count * bytes), packs_on));
  }

 private:
  [[nodiscard]] Packable<H> packable(const std::byte* at, std::size_t count,
                                     const std::byte* anchor) const {
    return Packable<H>(*native, at, static_cast<int>(count), type, anchor);
  }
};

}  // namespace tutti::mpi
