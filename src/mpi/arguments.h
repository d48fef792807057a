// SPDX-License-Identifier: BSD-3-Clause
// What the MPI checks of a call's arguments that Tutti would compute all the same. Such calls are
// the MPI's, which names the error. What it checks it shows itself, on a communicator of this
// process alone.
#pragma once

#include <atomic>
#include <cstddef>
#include <map>
#include <mutex>
#include <utility>

#include "base/collective.h"
#include "mpi/native.h"
#include "mpi/world.h"
#include "reduce/reduce.h"

namespace tutti::mpi {

template <class H>
class Arguments {
 public:
  Arguments(const Native<H>& native, const World<H>& world) : native_(native), world_(world) {}

  // Whether the MPI refuses to send from where it receives to. Open MPI lets one element pass.
  [[nodiscard]] bool refuses_alias(Collective collective, bool one_element);
  // Whether the MPI refuses MPI_IN_PLACE for the result of an Exscan on rank 0, which has none.
  [[nodiscard]] bool refuses_no_result();
  // A datatype that was never committed must not be used.
  [[nodiscard]] bool is_committed(H type);
  // MPI does not define the operation on this type. Many MPIs compute some of these all the same,
  // as of bytes: how, this one shows itself. nullptr: it refuses, or computes what Tutti does not.
  [[nodiscard]] const reduce::Kernel* kernel_as_computed(H comm, H type, H op, reduce::Op which,
                                                         std::size_t element_bytes);

  // When the MPI has begun: what is asked below takes a communicator, and to make one while another
  // thread makes one may wait for that.
  void open() {
    if (native_.any_thread_may_call()) (void)quiet_comm();
  }
  // Before the MPI ends.
  void close();

 private:
  enum class Verdict : char { unknown, refuses, accepts };
  template <class Call>
  bool refuses(std::atomic<Verdict>& verdict, Call call);
  [[nodiscard]] H quiet_comm();
  [[nodiscard]] int alias_on(H alone, Collective collective, int count);
  [[nodiscard]] const reduce::Kernel* compare_kernels(H alone, H type, H op, reduce::Op which,
                                                      std::size_t element_bytes);

  const Native<H>& native_;
  const World<H>& world_;
  std::mutex quieting_;
  H quiet_{};  // under quieting_, once it is made
  bool has_quiet_ = false;
  std::mutex asking_;  // collectives on it come one after the other
  std::map<std::pair<H, H>, const reduce::Kernel*> compared_;
};

}  // namespace tutti::mpi
