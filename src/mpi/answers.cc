// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/answers.h"

#include "coll/alone.h"
#include "engine/engine.h"
#include "fabric/upkeep.h"
#include "mpi/communicators.h"
#include "mpi/started.h"

namespace tutti::mpi {

template <class H>
int Answers<H>::answer(Call<H>& call) {
  if (call.team == nullptr && !coll::run_alone(call.collective, call.work)) return left;
  call.conclude(call.work);
  ledger_.answered(engine::kind_of(call.collective, call.blocking()));
  thread_local std::uint32_t calls = 0;
  fabric::Upkeep::after_call(++calls);
  return 0;
}

template <class H>
int Answers<H>::fail(Call<H>& call, engine::ErrorCode error_code) {
  using engine::ErrorCode;
  const bool refused = error_code == ErrorCode::refused;
  if (call.team->spans_nodes() && !refused) call.abandon();
  const bool was_revoked = (refused || error_code == ErrorCode::peer_error) && call.team->revoked();
  if (was_revoked || error_code == ErrorCode::left) {
    (void)leave(call,
                was_revoked ? revoked_by_program : "an earlier call on the communicator failed");
    return left;
  }
  const int code = code_of(error_code);
  tell_error(native_, call.site.comm, code);
  return code;
}

template <class H>
int Answers<H>::code_of(engine::ErrorCode error_code) const {
  const ErrorClasses classes = error_classes(native_.family);
  return error_code == engine::ErrorCode::truncated ? classes.truncate : classes.other;
}

template <class H>
int Answers<H>::code_of(const Started<H>& failed) const {
  const engine::ErrorCode error_code = failed.error_code.load(std::memory_order_relaxed);
  if (error_code == engine::ErrorCode::peer_error && failed.call.team->revoked())
    return error_classes(native_.family).revoked;
  return code_of(error_code);
}

template class Answers<int>;
template class Answers<void*>;

}  // namespace tutti::mpi
