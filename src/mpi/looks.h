// SPDX-License-Identifier: BSD-3-Clause
// How Tutti looks after the MPI's own communication: it asks for the status of a request that is
// not over. That makes every MPI look after all else that it has to do; it costs less than
// MPI_Iprobe, concerns no communicator, and any thread may that may call MPI.
#pragma once

#include "mpi/native.h"

namespace tutti::mpi {

template <class H>
class Looks {
 public:
  // There is one in a process.
  explicit Looks(const Native<H>& native) : native_(native) { self_ = this; }

  // False: the MPI gives no such request.
  [[nodiscard]] bool begin();
  // Tutti needs the MPI no more.
  void end();

 private:
  static void look();

  static inline Looks* self_ = nullptr;

  const Native<H>& native_;
  H unfinished_{};  // the request
};

}  // namespace tutti::mpi
