// SPDX-License-Identifier: BSD-3-Clause
// A collective that Tutti takes, with all that must live until it is over: to the end of the
// function that was called, or of the request that it has given.
#pragma once

#include <memory>

#include "coll/work.h"
#include "mpi/call_buffers.h"
#include "mpi/reduction.h"

namespace tutti::engine {
class Team;
}  // namespace tutti::engine

namespace tutti::mpi {

template <class H>
struct Call {
  // `keeper`: of a nonblocking one.
  Call(const Native<H>& native, H communicator, coll::Collective which, Keeper<H>* keeper = nullptr)
      : site{native, communicator, keeper}, collective(which) {}
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;
  [[gnu::always_inline]] ~Call() {}  // of a small call, a few pointers to nothing

  // To be called once both sides are complete. In place, what is received leaves the own block.
  [[gnu::always_inline]] void settle(bool with_devices) {
    if (out.is_special() || in.is_special() || with_devices) [[unlikely]]
      settle_both(with_devices);
  }
  // When it is over: folds what only now may be, and puts all to where only the MPI, or a layout,
  // can. `done`: what was to be done.
  [[gnu::always_inline]] void conclude(const coll::Work& done) {
    if (reduction != nullptr) [[unlikely]]
      reduction->fold(collective, done, size, rank);
    in.unpack();
  }
  // After an error, where messages that are under way may still read or write the copies.
  void abandon() {
    out.abandon();
    in.abandon();
    copy.abandon();
    (void)reduction.release();
  }
  [[nodiscard]] bool blocking() const { return site.keeper == nullptr; }

  const Site<H> site;
  const coll::Collective collective;
  engine::Team* team = nullptr;  // none of a communicator of one rank
  int rank = 0, size = 1;
  bool at_once = false;  // there is nobody to talk to, or nothing to say
  coll::Work work;
  CallBuffers<H> out{site}, in{site};  // what is sent, what is received
  bool alike = false;                  // both sides have the same counts and types
  SmallVector<coll::Slice> parts;      // of what is computed
  Temporary copy;                      // of operands
  std::unique_ptr<Reduction<H>> reduction;

 private:
  [[gnu::noinline]] void settle_both(bool with_devices) {
    out.settle(true, with_devices);
    in.settle(out.empty(), with_devices);
  }
};

}  // namespace tutti::mpi
