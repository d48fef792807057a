// SPDX-License-Identifier: BSD-3-Clause
// A collective that a team takes, with all that must live until it is over: to the end of the
// function that was called, or of the request that it has given.
#pragma once

#include "engine/engine.h"
#include "mpi/side.h"

namespace tutti::mpi {

template <class H>
struct Call {
  // `packs_on`: a communicator that is there until the call is over.
  Call(const Native<H>& native, H communicator, H packs_on)
      : comm(communicator), out(native, packs_on), in(native, packs_on) {}

  H comm;
  bool blocking = true;
  coll::Collective collective = coll::Collective::barrier;
  engine::Team* team = nullptr;
  coll::Work work;
  Side<H> out, in;  // what is sent and what is received
  Few<coll::Slice> parts;
  Temporary copy;
};

// One that has given a request.
template <class H>
struct Started : engine::Pending {
  Started(const Native<H>& native, Layouts<H>& layouts, H comm, H packs_on)
      : keeper(native, layouts), call(native, comm, packs_on) {
    call.blocking = false;
    call.out.keep_types_in(keeper);
    call.in.keep_types_in(keeper);
  }
  Keeper<H> keeper;
  Call<H> call;
  H request{};
};

}  // namespace tutti::mpi
