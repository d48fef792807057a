// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/call_buffers.h"

#include <algorithm>

namespace tutti::mpi {

template <class H>
typename CallBuffers<H>::Special& CallBuffers<H>::special() {
  if (special_ == nullptr) special_ = std::make_unique<Special>(site_.comm);
  return *special_;
}

template <class H>
void CallBuffers<H>::add_special(std::byte* address, std::size_t bytes, Count count,
                                 Described<H> type) {
  const layout::Layout* layout = type.layout;
  if (layout != nullptr && layout->dense(static_cast<std::size_t>(count))) {
    address = reinterpret_cast<std::byte*>(reinterpret_cast<Aint>(address) + layout->first());
    layout = nullptr;
    if (!type.opaque) note(address, bytes);
  }
  // Only an MPI that knows devices can pack there.
  const bool on_device = bytes > 0 && devices::present() &&
                         devices::owns(address + (layout != nullptr ? layout->first() : 0));
  if (on_device && layout != nullptr) {
    layout = type.layout = nullptr;
    type.opaque = true;
  }
  Keeper<H>* const keeper = site_.keeper;
  if (keeper != nullptr && bytes > 0 && (type.opaque || layout != nullptr)) keeper->keep(type);
  if (bytes > 0 && (type.opaque || (layout != nullptr && flat_))) {
    (void)special();
    if (keeper != nullptr && type.opaque) special_->packs_on = keeper->packs_on(site_.comm);
    special_->parts.push_back({blocks_.size(), address, count, type, on_device});
    special_->bytes += bytes;
    layout = nullptr;
  }
  blocks_.push_back({address, bytes, layout});
}

template <class H>
void CallBuffers<H>::stage_blocks(bool fill) {
  const std::span<coll::Block> all{blocks_.data(), blocks_.size()};
  for (std::size_t i = 0, next = 0; i < all.size(); i = next) {
    std::size_t bytes = all[i].bytes;
    for (next = i + 1; next < all.size() && all[i].layout == nullptr; ++next) {
      if (all[next].layout != nullptr || all[next].address != all[i].address + bytes) break;
      bytes += all[next].bytes;
    }
    if (all[i].layout != nullptr) continue;  // of the host
    std::byte* const host = static_cast<std::byte*>(stage(all[i].address, bytes, fill));
    for (std::byte* const user = all[i].address; i < next; ++i)
      all[i].address = host + (all[i].address - user);
  }
}

// In pieces whose sizes fit the MPI's int, if its elements do.
template <class H>
template <class Body>
void CallBuffers<H>::for_pieces(const Opaque& part, Body body) {
  const auto size = static_cast<Count>(part.type.bytes);
  const Count each = std::max<Count>(1, (1 << 30) / size);
  std::byte* raw = blocks_.data()[part.index].address;
  for (Count done = 0; done < part.count; done += each) {
    const int piece = static_cast<int>(std::min(each, part.count - done));
    body(Packable<H>(site_.native, part.user + done * part.type.extent, piece, part.type.type, raw),
         raw + done * size, piece * size);
  }
}

template <class H>
void CallBuffers<H>::settle_special(bool fill) {
  special_->packed.reset(special_->bytes);
  std::byte* next = special_->packed.get();
  for (const Opaque& part : special_->parts) {
    coll::Block& block = blocks_.data()[part.index];
    block.address = next;
    next += block.bytes;
    if (!fill) continue;
    if (part.type.layout != nullptr)
      part.type.layout->pack(block.address, part.user, 0, block.bytes);
    else
      for_pieces(part, [&](const Packable<H>& piece, std::byte* raw, Count bytes) {
        must_be_done(piece.pack(raw, bytes, special_->packs_on));
      });
  }
}

template <class H>
void CallBuffers<H>::unpack_special() {
  for (Staged& staged : special_->staged)
    devices::copy_to_device(staged.user, staged.host.get(), staged.bytes);
  for (const Opaque& part : special_->parts) {
    const coll::Block& block = blocks_.data()[part.index];
    if (part.type.layout != nullptr)
      part.type.layout->unpack(part.user, block.address, 0, block.bytes);
    else
      for_pieces(part, [&](const Packable<H>& piece, std::byte* raw, Count bytes) {
        must_be_done(piece.unpack(raw, bytes, special_->packs_on));
      });
  }
}

template <class H>
void Keeper<H>::release() {
  for (H& type : types_) native_.type_free(&type);
  types_.clear();
  kept_.clear();
  if (own_ != native_.null_comm) native_.comm_free(&own_);
  own_ = native_.null_comm;
}

template <class H>
void Keeper<H>::keep_another(Described<H>& type) {
  if (type.layout != nullptr) kept_.push_back(layouts_.keep(type.type));
  if (!type.opaque) return;
  // Not of MPI_Type_dup, which calls functions of the program's for its attributes.
  H duplicate{};
  const int one = 1;
  const Aint nowhere_else = 0;
  if (native_.type_create_hindexed(1, &one, &nowhere_else, type.type, &duplicate) != 0) return;
  native_.type_commit(&duplicate);
  types_.push_back(duplicate);
  type.type = duplicate;
}

template class Keeper<int>;
template class Keeper<void*>;
template class CallBuffers<int>;
template class CallBuffers<void*>;

}  // namespace tutti::mpi
