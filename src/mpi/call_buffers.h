// SPDX-License-Identifier: BSD-3-Clause
// The buffers of a call, those that are sent or those that are received: the user's buffer as
// blocks of bytes. Data whose place in memory only the MPI knows is packed and unpacked by it, in a
// temporary.
#pragma once

#include <cstdlib>
#include <deque>
#include <memory>
#include <span>
#include <vector>

#include "base/base.h"
#include "coll/block.h"
#include "mpi/datatypes.h"
#include "mpi/devices.h"
#include "mpi/packing.h"

namespace tutti::mpi {

// Memory for one call.
class Temporary {
 public:
  explicit Temporary(std::size_t bytes = 0) {
    if (bytes > 0) reset(bytes);
  }
  ~Temporary() {
    if (memory_ != nullptr) std::free(memory_);
  }
  Temporary(const Temporary&) = delete;
  Temporary& operator=(const Temporary&) = delete;
  void reset(std::size_t bytes) {
    std::free(memory_);
    memory_ = static_cast<std::byte*>(std::malloc(bytes));
    if (memory_ != nullptr) return;
    log::fatal("out of memory: %zu bytes for a copy of a collective's data", bytes);
    std::abort();
  }
  [[nodiscard]] std::byte* get() const { return memory_; }
  // It is never freed.
  void abandon() { memory_ = nullptr; }

 private:
  std::byte* memory_ = nullptr;
};

// The others wait for these bytes: there is no way back.
inline void must_be_done(int code) {
  if (code == 0) return;
  log::fatal("the MPI could not pack or unpack a datatype that only it can");
  std::abort();
}

// A list that needs no heap while it is short, and nothing to be made or unmade.
template <class T>
class SmallVector {
 public:
  SmallVector() {}
  ~SmallVector() {}
  SmallVector(const SmallVector&) = delete;
  SmallVector& operator=(const SmallVector&) = delete;

  // So many more at the end, for the caller to write.
  T* extend(std::size_t more) {
    if (count_ + more > few) [[unlikely]]
      move_out(count_ + more);
    T* const first = data() + count_;
    count_ += more;
    return first;
  }
  void push_back(T value) { *extend(1) = value; }
  [[nodiscard]] std::size_t size() const { return count_; }
  [[nodiscard]] T* data() { return many_ == nullptr ? few_ : many_->data(); }
  [[nodiscard, gnu::always_inline]] const T* data() const {
    return many_ == nullptr ? few_ : many_->data();
  }
  [[nodiscard, gnu::always_inline]] std::span<const T> all() const { return {data(), count_}; }

 private:
  [[gnu::noinline]] void move_out(std::size_t count) {
    if (many_ == nullptr) many_ = std::make_unique<std::vector<T>>(few_, few_ + count_);
    many_->resize(count);
  }

  static constexpr std::size_t few = 8;
  std::size_t count_ = 0;
  std::unique_ptr<std::vector<T>> many_;
  union {  // not written before it is used
    T few_[few];
  };
};

// What a nonblocking call keeps, as the program may free its datatypes and communicator meanwhile.
template <class H>
class Keeper {
 public:
  // `world`: MPI_COMM_WORLD, or null_comm where the program has none.
  Keeper(const Native<H>& native, Layouts<H>& layouts, H world)
      : native_(native), layouts_(layouts), packs_on_(world) {}
  ~Keeper() { release(); }
  Keeper(const Keeper&) = delete;
  Keeper& operator=(const Keeper&) = delete;

  void keep(Described<H>& type) {
    // One type may be opaque here and not there: on a device the MPI has to pack it.
    if (type.type == last_.type && type.opaque == last_.opaque &&
        (type.layout != nullptr || type.opaque)) {
      type.type = last_.kept;
      return;
    }
    last_.type = type.type;
    last_.opaque = type.opaque;
    keep_another(type);
    last_.kept = type.type;
  }
  // A communicator to pack on for a call on `comm`, there until the call is over.
  [[nodiscard]] H packs_on(H comm) {
    if (packs_on_ == native_.null_comm) packs_on_ = own_ = alone_of(native_, comm);
    return packs_on_ != native_.null_comm ? packs_on_ : comm;
  }
  void release();

 private:
  void keep_another(Described<H>& type);
  const Native<H>& native_;
  Layouts<H>& layouts_;
  H packs_on_;
  H own_ = native_.null_comm;
  std::vector<std::shared_ptr<const void>> kept_;
  std::vector<H> types_;
  // Blocks tend to be of one type, which is kept once.
  struct {
    H type{}, kept{};
    bool opaque = false;
  } last_;
};

// What the buffers of a call need for data that only the MPI can pack.
template <class H>
struct Site {
  const Native<H>& native;
  H comm;
  Keeper<H>* keeper;  // of a nonblocking call
};

template <class H>
class CallBuffers {
 public:
  explicit CallBuffers(const Site<H>& site) : site_(site) {}

  // For a collective that knows nothing of layouts.
  void flatten() { flat_ = true; }

  // The next block: `count` elements, `offset` bytes behind `base` (which may be MPI_BOTTOM).
  void add(const void* base, Aint offset, Count count, const Described<H>& type) {
    auto* address = reinterpret_cast<std::byte*>(reinterpret_cast<Aint>(base) + offset);
    const std::size_t bytes = static_cast<std::size_t>(count) * type.bytes;
    if (type.layout == nullptr && !type.opaque) [[likely]] {
      note(address, bytes);
      blocks_.push_back({address, bytes, nullptr});
    } else
      add_special(address, bytes, count, type);
  }

  // So many blocks without gaps, one after the other.
  [[gnu::always_inline]] void add_row(const void* base, std::size_t bytes, int members) {
    auto* address = static_cast<std::byte*>(const_cast<void*>(base));
    note(address, bytes);
    coll::Block* block = blocks_.extend(static_cast<std::size_t>(members));
    for (int i = 0; i < members; ++i, address += bytes) *block++ = {address, bytes, nullptr};
  }

  // Data at a null pointer, which is an error of the program's.
  [[nodiscard]] bool has_null() const { return has_null_; }

  // After the last add: gives blocks that peers cannot reach a place that they can, and fills it
  // with what is to be sent.
  // `with_devices`: devices::present().
  void settle(bool fill, bool with_devices) {
    if (special_ != nullptr) settle_special(fill);
    if (with_devices) stage_blocks(fill);
  }
  // False: there is nothing to settle or unpack, unless blocks are a device's.
  [[nodiscard, gnu::always_inline]] bool is_special() const { return special_ != nullptr; }
  // For what is no block: memory of the host for `user`, if that is a device's.
  void* stage(void* user, std::size_t bytes, bool fill) {
    if (bytes == 0 || !devices::owns(user)) return user;
    Staged& staged = special().staged.emplace_back(static_cast<std::byte*>(user), bytes);
    if (fill) devices::copy_to_host(staged.host.get(), user, bytes);
    return staged.host.get();
  }
  // Whether any of it is a device's; before settle().
  [[nodiscard]] bool is_on_device() const {
    for (const coll::Block& block : blocks())
      if (block.bytes > 0 && devices::owns(first_of(block))) return true;
    if (special_ != nullptr)
      for (const Opaque& part : special_->parts)
        if (part.on_device) return true;
    return false;
  }
  // Copies are never freed.
  void abandon() { (void)special_.release(); }
  // Afterwards, what was received.
  [[gnu::always_inline]] void unpack() {
    if (special_ != nullptr) [[unlikely]]
      unpack_special();
  }

  [[nodiscard, gnu::always_inline]] std::span<const coll::Block> blocks() const {
    return blocks_.all();
  }
  // A member's, where there is one for each; or the only one.
  [[nodiscard, gnu::always_inline]] const coll::Block& block_of(std::size_t member) const {
    return blocks_.data()[blocks_.size() == 1 ? 0 : member];
  }
  [[nodiscard]] bool empty() const { return blocks_.size() == 0; }
  [[nodiscard]] std::size_t bytes() const {
    std::size_t sum = 0;
    for (const coll::Block& block : blocks()) sum += block.bytes;
    return sum;
  }

 private:
  struct Opaque {
    std::size_t index;  // of its block
    std::byte* user;
    Count count;
    Described<H> type;
    bool on_device;
  };
  // Memory of a device, in a copy.
  struct Staged {
    Staged(std::byte* address, std::size_t size) : user(address), bytes(size), host(size) {}
    std::byte* user;
    std::size_t bytes;
    Temporary host;
  };
  // Those blocks, in a copy without gaps.
  struct Special {
    explicit Special(H comm) : packs_on(comm) {}
    std::vector<Opaque> parts;
    std::size_t bytes = 0;
    H packs_on;  // the communicator
    Temporary packed;
    std::deque<Staged> staged;
  };
  Special& special();

  void note(const std::byte* address, std::size_t bytes) {
    has_null_ |= (address == nullptr) & (bytes > 0);
  }
  void add_special(std::byte* address, std::size_t bytes, Count count, Described<H> type);

  static const std::byte* first_of(const coll::Block& block) {
    return block.address + (block.layout != nullptr ? block.layout->first() : 0);
  }
  // Blocks that follow each other are one.
  void stage_blocks(bool fill);

  void settle_special(bool fill);
  void unpack_special();

  template <class Body>
  void for_pieces(const Opaque& part, Body body);

  const Site<H>& site_;
  bool flat_ = false, has_null_ = false;
  std::unique_ptr<Special> special_;
  SmallVector<coll::Block> blocks_;
};

}  // namespace tutti::mpi
