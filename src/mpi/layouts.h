// SPDX-License-Identifier: BSD-3-Clause
// The memory layout of any datatype of the user's MPI, by handle. A derived one is decoded when it
// is first asked for and kept in an attribute of the datatype, with which it goes.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>

#include "layout/layout.h"
#include "mpi/layouts_decode.h"
#include "mpi/layouts_native.h"
#include "mpi/predefined.h"

namespace tutti::mpi {

template <class H>
class Layouts {
 public:
  // Calls nothing of the MPI, so it may come before MPI_Init. To be called once in a process.
  void open(const Library& library) {
    native_.load(library);
    predefined_.open(library);
    decoder_.open(native_, predefined_, library);
  }

  // nullptr: ask the MPI to pack, the type is of a kind that is not understood, or too irregular;
  // or not committed yet, which `is_committed(type)` tells.
  // Any thread may call it that may call MPI. A layout lives until its datatype is freed.
  template <class IsCommitted>
  [[nodiscard]] const layout::Layout* find(H type, IsCommitted is_committed) {
    // An attribute takes an MPI longer than packing a small message. What a thread has looked up
    // holds until any datatype goes, as its handle may then mean another.
    thread_local Recent recents[recent_count];
    Recent& recent = recents[slot_of(type)];
    const std::uint64_t deletions = deletions_.load(std::memory_order_relaxed);
    if (recent.type == type && recent.deletions == deletions) return recent.layout;
    const layout::Layout* layout = look_up(type, is_committed);
    if (layout != nullptr) recent = {type, deletions, layout};
    return layout;
  }

  [[nodiscard]] const layout::Layout* find(H type) {
    return find(type, [](H) { return true; });
  }

  // What keeps a layout that find() has given, though its datatype be freed; may be nullptr.
  [[nodiscard]] std::shared_ptr<const void> keep(H type) {
    void* value = nullptr;
    int found = 0;
    if (decoder_.predefined(type) || state_.load(std::memory_order_acquire) != State::ready ||
        native_.get_attr(type, keyval_, &value, &found) != 0 || !found)
      return nullptr;
    return *static_cast<Entry*>(value);
  }

  // Before the MPI ends; afterwards only predefined types are found.
  void close() {
    const std::lock_guard lock(making_);
    if (state_.exchange(State::closed) != State::ready) return;
    deletions_.fetch_add(1, std::memory_order_relaxed);
    int keyval = keyval_;
    native_.free_keyval(&keyval);
  }
  // When the MPI, having ended, is there again: with sessions it may.
  void reopen() {
    State closed = State::closed;
    state_.compare_exchange_strong(closed, State::opened);
  }

  [[nodiscard]] bool is_null(H type) const { return decoder_.is_null(type); }
  [[nodiscard]] PredefinedTypes<H>& predefined() { return predefined_; }
  [[nodiscard]] const PredefinedTypes<H>& predefined() const { return predefined_; }

 private:
  enum class State : std::uint8_t { opened, ready, closed };
  // What the attribute points to; holds nothing where the layout is not known.
  using Entry = std::shared_ptr<const layout::Layout>;
  struct Recent {
    H type{};
    std::uint64_t deletions = 0;
    const layout::Layout* layout = nullptr;
  };
  static constexpr int recent_bits = 4;
  static constexpr std::size_t recent_count = 1 << recent_bits;
  static std::size_t slot_of(H type) {
    return static_cast<std::size_t>((key_of(type) * 0x9e3779b97f4a7c15u) >> (64 - recent_bits));
  }

  template <class IsCommitted>
  const layout::Layout* look_up(H type, IsCommitted is_committed) {
    if (const auto* known = decoder_.predefined(type)) return &known->layout;
    if (decoder_.is_null(type) || !ready()) return nullptr;
    void* value = nullptr;
    int found = 0;
    if (native_.get_attr(type, keyval_, &value, &found) != 0) return nullptr;
    if (!found && !is_committed(type)) return nullptr;
    if (!found) value = make(type);
    return layout_of(value);
  }
  static const layout::Layout* layout_of(void* value) {
    const auto* entry = static_cast<const Entry*>(value);
    return entry != nullptr ? entry->get() : nullptr;
  }

  // Needs an initialised MPI, which whoever has made a datatype has.
  bool ready() {
    const State state = state_.load(std::memory_order_acquire);
    if (state != State::opened) return state == State::ready;
    const std::lock_guard lock(making_);
    if (state_.load() == State::opened && native_.complete() &&
        native_.create_keyval(on_copy, on_delete, &keyval_, nullptr) == 0)
      state_.store(State::ready, std::memory_order_release);
    return state_.load() == State::ready;
  }

  // One thread at a time: to set an attribute twice would delete what the other has found.
  void* make(H type) {
    const std::lock_guard lock(making_);
    void* value = nullptr;
    int found = 0;
    if (native_.get_attr(type, keyval_, &value, &found) != 0) return nullptr;
    if (found) return value;
    auto entry = std::make_unique<Entry>();
    layout::Typemap typemap;
    if (decoder_.decode(type, typemap))
      *entry = std::make_shared<const layout::Layout>(std::move(typemap));
    if (native_.set_attr(type, keyval_, entry.get()) != 0) return nullptr;
    return entry.release();
  }

  static int on_copy(H, int, void*, void*, void*, int* flag) {
    *flag = 0;  // a duplicate is decoded when it is asked for
    return 0;
  }
  static int on_delete(H, int, void* value, void*) {
    deletions_.fetch_add(1, std::memory_order_relaxed);
    delete static_cast<Entry*>(value);
    return 0;
  }

  static inline std::atomic<std::uint64_t> deletions_{1};  // 0 is in no Recent that holds anything

  LayoutNative<H> native_{};
  PredefinedTypes<H> predefined_;
  LayoutDecoder<H> decoder_;
  std::atomic<State> state_{State::opened};
  int keyval_ = 0;
  std::mutex making_;
};

}  // namespace tutti::mpi
