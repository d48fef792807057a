// SPDX-License-Identifier: BSD-3-Clause
// The memory layout of any datatype of the user's MPI, by handle. A derived one is decoded when it
// is first asked for and kept in an attribute of the datatype, with which it goes.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>

#include "layout/layout.h"
#include "mpi/layouts_decode.h"
#include "mpi/native.h"
#include "mpi/predefined.h"

namespace tutti::mpi {

template <class H>
class Layouts {
 public:
  // Whether a datatype was committed.
  using IsCommitted = std::function<bool(H type)>;

  explicit Layouts(
      const Native<H>& native, IsCommitted is_committed = [](H) { return true; })
      : native_(native),
        predefined_(native),
        decoder_(native, predefined_),
        is_committed_(std::move(is_committed)) {}

  // Calls nothing of the MPI, so it may come before MPI_Init. To be called once in a process.
  void open(const Library& library) { predefined_.open(library); }

  // nullptr: ask the MPI to pack, the type is of a kind that is not understood, or too irregular;
  // or not committed yet, which `is_committed` tells.
  // Any thread may call it that may call MPI. A layout lives until its datatype is freed.
  [[nodiscard]] const layout::Layout* find(H type) {
    // An attribute takes an MPI longer than packing a small message. What a thread has looked up
    // holds until any datatype goes, as its handle may then mean another.
    thread_local Recent recents[recent_count];
    Recent& recent = recents[slot_of(type)];
    const std::uint64_t deletions = deletions_.load(std::memory_order_relaxed);
    if (recent.type == type && recent.deletions == deletions) return recent.layout;
    const layout::Layout* layout = look_up(type);
    if (layout != nullptr) recent = {type, deletions, layout};
    return layout;
  }

  // What keeps a layout that find() has given, though its datatype be freed; may be nullptr.
  [[nodiscard]] std::shared_ptr<const void> keep(H type);

  // Before the MPI ends; afterwards only predefined types are found.
  void close();
  // When the MPI, having ended, is there again: with sessions it may.
  void reopen();

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

  const layout::Layout* look_up(H type);
  bool ready();
  [[nodiscard]] bool knows_datatypes() const;
  void* make(H type);
  static int on_copy(H, int, void*, void*, void*, int* flag);
  static int on_delete(H, int, void* value, void*);

  static inline std::atomic<std::uint64_t> deletions_{1};  // 0 is in no Recent that holds anything

  const Native<H>& native_;
  PredefinedTypes<H> predefined_;
  LayoutDecoder<H> decoder_;
  const IsCommitted is_committed_;
  std::atomic<State> state_{State::opened};
  int keyval_ = 0;
  std::mutex making_;
};

}  // namespace tutti::mpi
