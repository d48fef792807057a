// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/blocking.h"

#include <algorithm>
#include <vector>

#include "fabric/upkeep.h"
#include "mpi/packing.h"

namespace tutti::mpi {

template <class H>
void Blocking<H>::add_entries(Entries& entries) {
  static_cast<Waiting<Word>&>(entries) = {send,  ssend,  rsend,  recv,   sendrecv, sendrecv_replace,
                                          probe, mprobe, iprobe, improbe};
}

// What is there already needs no wait, in which the core may be given away.
template <class H>
int Blocking<H>::finish(H* request, void* status) {
  int over = 0;
  const int code = native_.test(request, &over, status);
  return code != 0 || over != 0 ? code : requests_.wait(request, status);
}

template <class H>
int Blocking<H>::send_with(Isend isend, const void* from, int count, Word type, int to, int tag,
                           Word comm) {
  H request{};
  const int code =
      isend(from, count, handle_from<H>(type), to, tag, handle_from<H>(comm), &request);
  AnyStatus status;
  return code != 0 ? code : finish(&request, &status);
}

template <class H>
int Blocking<H>::send(const void* from, int count, Word type, int to, int tag, Word comm) {
  return self_->send_with(self_->native_.isend, from, count, type, to, tag, comm);
}

template <class H>
int Blocking<H>::ssend(const void* from, int count, Word type, int to, int tag, Word comm) {
  return self_->send_with(self_->native_.issend, from, count, type, to, tag, comm);
}

template <class H>
int Blocking<H>::rsend(const void* from, int count, Word type, int to, int tag, Word comm) {
  return self_->send_with(self_->native_.irsend, from, count, type, to, tag, comm);
}

template <class H>
int Blocking<H>::recv(void* to, int count, Word type, int from, int tag, Word comm, void* status) {
  H request{};
  const int code = self_->native_.irecv(to, count, handle_from<H>(type), from, tag,
                                        handle_from<H>(comm), &request);
  return code != 0 ? code : self_->finish(&request, status);
}

// send(request) starts the other half.
template <class H>
template <class Send>
int Blocking<H>::exchange(Send send, void* received, int count, Word type, int from, int tag,
                          Word comm, void* status) {
  H receives{}, sends{};
  int code = native_.irecv(received, count, handle_from<H>(type), from, tag, handle_from<H>(comm),
                           &receives);
  if (code != 0) return code;
  AnyStatus ignored;
  code = send(&sends);
  if (code != 0) {
    native_.cancel(&receives);
    (void)requests_.wait(&receives, &ignored);
    return code;
  }
  code = finish(&receives, status);
  const int sent = finish(&sends, &ignored);
  return code != 0 ? code : sent;
}

template <class H>
int Blocking<H>::sendrecv(const void* sent, int count, Word type, int to, int tag, void* received,
                          int count2, Word type2, int from, int tag2, Word comm, void* status) {
  const auto send = [&](H* request) {
    return self_->native_.isend(sent, count, handle_from<H>(type), to, tag, handle_from<H>(comm),
                                request);
  };
  return self_->exchange(send, received, count2, type2, from, tag2, comm, status);
}

template <class H>
int Blocking<H>::sendrecv_replace(void* data, int count, Word type, int to, int tag, int from,
                                  int tag2, Word comm, void* status) {
  const Native<H>& native = self_->native_;
  const H own = handle_from<H>(comm);
  Count size = 0;
  // The MPI counts packed bytes in int.
  if (!native.is_no_type(handle_from<H>(type)) &&
      native.type_size_x(handle_from<H>(type), &size) == 0 && size > 0 &&
      count > std::numeric_limits<int>::max() / 2 / size)
    return native.sendrecv_replace(data, count, handle_from<H>(type), to, tag, from, tag2, own,
                                   status);
  int bytes = 0;
  int code = native.pack_size(count, handle_from<H>(type), own, &bytes);
  if (code != 0) return code;
  // Open MPI takes no null pointer, not even for nothing.
  std::vector<std::byte> copy(std::max<std::size_t>(1, static_cast<std::size_t>(bytes)));
  Count packed = 0;
  {
    const Packable<H> packable(native, data, count, handle_from<H>(type), copy.data());
    code = packable.pack(copy.data(), bytes, own, &packed);
  }
  if (code != 0) return code;
  const auto send = [&](H* request) {
    return native.isend(copy.data(), static_cast<int>(packed), native.packed, to, tag, own,
                        request);
  };
  return self_->exchange(send, data, count, type, from, tag2, comm, status);
}

template <class H>
int Blocking<H>::probe(int from, int tag, Word comm, void* status) {
  const Native<H>& native = self_->native_;
  const H own = handle_from<H>(comm);
  return self_->requests_.wait_for(
      [&](int* flag) { return native.iprobe(from, tag, own, flag, status); },
      [&] { return native.probe(from, tag, own, status); });
}

template <class H>
int Blocking<H>::mprobe(int from, int tag, Word comm, void* message, void* status) {
  const Native<H>& native = self_->native_;
  const H own = handle_from<H>(comm);
  return self_->requests_.wait_for(
      [&](int* flag) { return native.improbe(from, tag, own, flag, message, status); },
      [&] { return native.mprobe(from, tag, own, message, status); });
}

// Some MPIs first say whether it is there, and then look for messages.
template <class H>
template <class Probe>
int Blocking<H>::probe_now(Probe probe, const int* flag) {
  requests_.look();
  const int code = probe();
  if (code != 0 || *flag != 0 || !fabric::Upkeep::is_behind()) return code;
  fabric::Upkeep::catch_up();
  return probe();
}

template <class H>
int Blocking<H>::iprobe(int from, int tag, Word comm, int* flag, void* status) {
  const auto probe = [&] {
    return self_->native_.iprobe(from, tag, handle_from<H>(comm), flag, status);
  };
  return self_->probe_now(probe, flag);
}

template <class H>
int Blocking<H>::improbe(int from, int tag, Word comm, int* flag, void* message, void* status) {
  const auto probe = [&] {
    return self_->native_.improbe(from, tag, handle_from<H>(comm), flag, message, status);
  };
  return self_->probe_now(probe, flag);
}

template class Blocking<int>;
template class Blocking<void*>;

}  // namespace tutti::mpi
