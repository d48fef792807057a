// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/layouts.h"

namespace tutti::mpi {

template <class H>
std::shared_ptr<const void> Layouts<H>::keep(H type) {
  void* value = nullptr;
  int found = 0;
  if (decoder_.predefined(type) || state_.load(std::memory_order_acquire) != State::ready ||
      native_.type_get_attr(type, keyval_, &value, &found) != 0 || !found)
    return nullptr;
  return *static_cast<Entry*>(value);
}

template <class H>
void Layouts<H>::close() {
  const std::lock_guard lock(making_);
  if (state_.exchange(State::closed) != State::ready) return;
  deletions_.fetch_add(1, std::memory_order_relaxed);
  int keyval = keyval_;
  native_.type_free_keyval(&keyval);
}

template <class H>
void Layouts<H>::reopen() {
  State closed = State::closed;
  state_.compare_exchange_strong(closed, State::opened);
}

template <class H>
const layout::Layout* Layouts<H>::look_up(H type) {
  if (const auto* known = decoder_.predefined(type)) return &known->layout;
  if (native_.is_no_type(type) || !ready()) return nullptr;
  void* value = nullptr;
  int found = 0;
  if (native_.type_get_attr(type, keyval_, &value, &found) != 0) return nullptr;
  if (!found && !is_committed_(type)) return nullptr;
  if (!found) value = make(type);
  const auto* entry = static_cast<const Entry*>(value);
  return entry != nullptr ? entry->get() : nullptr;
}

// Needs an initialised MPI, which whoever has made a datatype has.
template <class H>
bool Layouts<H>::ready() {
  const State state = state_.load(std::memory_order_acquire);
  if (state != State::opened) return state == State::ready;
  const std::lock_guard lock(making_);
  if (state_.load() == State::opened && knows_datatypes() &&
      native_.type_create_keyval(on_copy, on_delete, &keyval_, nullptr) == 0)
    state_.store(State::ready, std::memory_order_release);
  return state_.load() == State::ready;
}

// Whether the MPI has all the functions that tell what a datatype is made of.
template <class H>
bool Layouts<H>::knows_datatypes() const {
  const Native<H>& mpi = native_;
  return mpi.type_create_keyval && mpi.type_free_keyval && mpi.type_get_attr && mpi.type_set_attr &&
         mpi.type_free && mpi.type_size_x && mpi.type_get_extent && mpi.type_get_envelope &&
         mpi.type_get_contents;
}

// One thread at a time: to set an attribute twice would delete what the other has found.
template <class H>
void* Layouts<H>::make(H type) {
  const std::lock_guard lock(making_);
  void* value = nullptr;
  int found = 0;
  if (native_.type_get_attr(type, keyval_, &value, &found) != 0) return nullptr;
  if (found) return value;
  auto entry = std::make_unique<Entry>();
  layout::Typemap typemap;
  if (decoder_.decode(type, typemap))
    *entry = std::make_shared<const layout::Layout>(std::move(typemap));
  if (native_.type_set_attr(type, keyval_, entry.get()) != 0) return nullptr;
  return entry.release();
}

template <class H>
int Layouts<H>::on_copy(H, int, void*, void*, void*, int* flag) {
  *flag = 0;  // a duplicate is decoded when it is asked for
  return 0;
}

template <class H>
int Layouts<H>::on_delete(H, int, void* value, void*) {
  deletions_.fetch_add(1, std::memory_order_relaxed);
  delete static_cast<Entry*>(value);
  return 0;
}

template class Layouts<int>;
template class Layouts<void*>;

}  // namespace tutti::mpi
