// SPDX-License-Identifier: BSD-3-Clause
// Front: calls that are over at once, as there is nobody to talk to or nothing to say.
#pragma once

#include <cstring>
#include <memory>
#include <utility>

#include "coll/alone.h"
#include "mpi/front.h"

namespace tutti::mpi {

// `left` if the MPI is to tell an error.
template <class H>
int Front<H>::answer(Call<H>& call) {
  if (call.team == nullptr && !coll::run_alone(call.collective, call.work)) return left;
  call.conclude(call.work);
  ledger_.answered(engine::kind_of(call.collective, call.blocking()));
  thread_local std::uint32_t calls = 0;
  fabric::Upkeep::after_call(++calls);
  return 0;
}

// With a request that is complete.
template <class H>
int Front<H>::answer(std::unique_ptr<Started<H>> started, void* request) {
  Call<H>& call = started->call;
  if (const int code = answer(call); code != 0) return code;
  if (const int code =
          native_.grequest_start(on_query, on_free, on_cancel, started.get(), &started->request);
      code != 0) {
    native_.comm_call_errhandler(call.site.comm, code);
    return code;
  }
  std::memcpy(request, &started->request, sizeof started->request);
  requests_.add(*started);
  end(*started.release());
  return 0;
}

}  // namespace tutti::mpi
