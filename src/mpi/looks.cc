// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/looks.h"

#include "engine/engine.h"
#include "fabric/upkeep.h"
#include "mpi/questions.h"
#include "progress/progress.h"

namespace tutti::mpi {

template <class H>
bool Looks<H>::begin() {
  const auto query = [](void*, void* status) {
    self_->native_.status_set_elements(status, self_->native_.byte, 0);
    self_->native_.status_set_cancelled(status, 0);
    return 0;
  };
  const auto ignore = [](void*) { return 0; };
  const auto cancel = [](void*, int) { return 0; };
  if (native_.grequest_start(query, ignore, cancel, nullptr, &unfinished_) != 0) return false;
  fabric::Upkeep::set(look, [] { engine::look_for_losses(); });
  return true;
}

template <class H>
void Looks<H>::look() {
  const Native<H>& native = self_->native_;
  int over = 0;
  AnyStatus status;
  {
    const CoreKept<H> kept(native);
    native.request_get_status(self_->unfinished_, &over, &status);
  }
  Questions<H>::look_now_and_then();
  progress::Driver& driver = engine::driver();
  if (driver.outstanding() != 0) driver.drive();
}

template <class H>
void Looks<H>::end() {
  fabric::Upkeep::set(nullptr);
  AnyStatus status;
  native_.grequest_complete(unfinished_);
  native_.wait(&unfinished_, &status);
}

template class Looks<int>;
template class Looks<void*>;

}  // namespace tutti::mpi
