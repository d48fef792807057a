// SPDX-License-Identifier: BSD-3-Clause
// How a call ends that no team has completed: answered at once, left to the MPI, or failed. Errors
// go to the error handler of the communicator, as the MPI's would. What was left is noted.
#pragma once

#include "engine/error_code.h"
#include "mpi/call.h"
#include "mpi/ledger.h"
#include "mpi/native.h"

namespace tutti::mpi {

template <class H>
struct Started;

// What an entry has when the MPI must do the call.
inline constexpr int left = -1;

template <class H>
class Answers {
 public:
  explicit Answers(const Native<H>& native) : native_(native) {}

  // Of a call that is over at once, as there is nobody to talk to or nothing to say. `left` if the
  // MPI is to tell an error.
  [[nodiscard]] int answer(Call<H>& call);
  // False, for whoever prepares a call that the MPI must do.
  bool leave(const Call<H>& call, const char* why) {
    return leave(call.collective, call.blocking(), why);
  }
  bool leave(coll::Collective collective, bool blocking, const char* why) {
    ledger_.left(engine::kind_of(collective, blocking), why);
    return false;
  }
  // Of a call that has met an error: what the entry returns, or `left`.
  [[nodiscard]] int fail(Call<H>& call, engine::ErrorCode error_code);
  // What an error is to the communicator's error handler; the default one ends the job.
  [[nodiscard]] int code_of(engine::ErrorCode error_code) const;
  [[nodiscard]] int code_of(const Started<H>& failed) const;

  [[nodiscard]] const Ledger& ledger() const { return ledger_; }

 private:
  const Native<H>& native_;
  Ledger ledger_;
};

}  // namespace tutti::mpi
