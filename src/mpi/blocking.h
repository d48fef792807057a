// SPDX-License-Identifier: BSD-3-Clause
// The MPI's own calls that may wait for another rank. While nonblocking collectives of several
// nodes are under way, such a wait must bring them forward: the other rank may wait for them. So
// the call is made as a nonblocking one, and then waited for as Tutti waits.
#pragma once

#include "mpi/entries.h"
#include "mpi/native.h"
#include "mpi/requests.h"

namespace tutti::mpi {

template <class H>
class Blocking {
 public:
  // There is one in a process.
  Blocking(const Native<H>& native, Requests<H>& requests) : native_(native), requests_(requests) {
    self_ = this;
  }

  static void add_entries(Entries& entries);

 private:
  // The entries.
  static int send(const void* from, int count, Word type, int to, int tag, Word comm);
  static int ssend(const void* from, int count, Word type, int to, int tag, Word comm);
  static int rsend(const void* from, int count, Word type, int to, int tag, Word comm);
  static int recv(void* to, int count, Word type, int from, int tag, Word comm, void* status);
  static int sendrecv(const void* sent, int count, Word type, int to, int tag, void* received,
                      int count2, Word type2, int from, int tag2, Word comm, void* status);
  static int sendrecv_replace(void* data, int count, Word type, int to, int tag, int from, int tag2,
                              Word comm, void* status);
  static int probe(int from, int tag, Word comm, void* status);
  static int mprobe(int from, int tag, Word comm, void* message, void* status);
  // They wait for nothing, but a program may ask until there is something. Or it asks once, for
  // what was sent before a collective: the MPI's own would have looked for it.
  static int iprobe(int from, int tag, Word comm, int* flag, void* status);
  static int improbe(int from, int tag, Word comm, int* flag, void* message, void* status);

  using Isend = int (*)(const void*, int count, H type, int to, int tag, H comm, void* request);
  int finish(H* request, void* status);
  template <class Probe>
  int probe_now(Probe probe, const int* flag);
  int send_with(Isend isend, const void* from, int count, Word type, int to, int tag, Word comm);
  template <class Send>
  int exchange(Send send, void* received, int count, Word type, int from, int tag, Word comm,
               void* status);

  static inline Blocking* self_ = nullptr;

  const Native<H>& native_;
  Requests<H>& requests_;
};

}  // namespace tutti::mpi
