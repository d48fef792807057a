// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/blocking.h"

#include <vector>

namespace tutti::mpi {

template <class H>
void Blocking<H>::add_entries(Entries& entries) {
  add_forms<int>(entries);
  add_forms<Count>(entries.large_waiting);
  entries.probe = probe;
  entries.mprobe = mprobe;
}

template <class H>
template <class N>
void Blocking<H>::add_forms(Waiting<Word, N>& entries) {
  entries = {send<N>, ssend<N>, rsend<N>, recv<N>, sendrecv<N>, sendrecv_replace<N>};
}

template <class H>
template <class N>
int Blocking<H>::send_with(Isend<N> isend, const void* from, N count, Word type, int to, int tag,
                           Word comm) {
  H request{};
  const int code =
      isend(from, count, handle_from<H>(type), to, tag, handle_from<H>(comm), &request);
  AnyStatus status;
  return code != 0 ? code : requests_.wait(&request, &status);
}

template <class H>
template <class N>
int Blocking<H>::send(const void* from, N count, Word type, int to, int tag, Word comm) {
  return self_->send_with(messaging<N>(self_->native_).isend, from, count, type, to, tag, comm);
}

template <class H>
template <class N>
int Blocking<H>::ssend(const void* from, N count, Word type, int to, int tag, Word comm) {
  return self_->send_with(messaging<N>(self_->native_).issend, from, count, type, to, tag, comm);
}

template <class H>
template <class N>
int Blocking<H>::rsend(const void* from, N count, Word type, int to, int tag, Word comm) {
  return self_->send_with(messaging<N>(self_->native_).irsend, from, count, type, to, tag, comm);
}

template <class H>
template <class N>
int Blocking<H>::recv(void* to, N count, Word type, int from, int tag, Word comm, void* status) {
  H request{};
  const int code =
      messaging<N>(self_->native_)
          .irecv(to, count, handle_from<H>(type), from, tag, handle_from<H>(comm), &request);
  return code != 0 ? code : self_->requests_.wait(&request, status);
}

// send(request) starts the other half.
template <class H>
template <class N, class Send>
int Blocking<H>::exchange(Send send, void* received, N count, Word type, int from, int tag,
                          Word comm, void* status) {
  H receives{}, sends{};
  int code = messaging<N>(native_).irecv(received, count, handle_from<H>(type), from, tag,
                                         handle_from<H>(comm), &receives);
  if (code != 0) return code;
  AnyStatus ignored;
  code = send(&sends);
  if (code != 0) {
    native_.cancel(&receives);
    (void)requests_.wait(&receives, &ignored);
    return code;
  }
  code = requests_.wait(&receives, status);
  const int sent = requests_.wait(&sends, &ignored);
  return code != 0 ? code : sent;
}

template <class H>
template <class N>
int Blocking<H>::sendrecv(const void* sent, N count, Word type, int to, int tag, void* received,
                          N count2, Word type2, int from, int tag2, Word comm, void* status) {
  const auto send = [&](H* request) {
    return messaging<N>(self_->native_)
        .isend(sent, count, handle_from<H>(type), to, tag, handle_from<H>(comm), request);
  };
  return self_->template exchange<N>(send, received, count2, type2, from, tag2, comm, status);
}

template <class H>
template <class N>
int Blocking<H>::sendrecv_replace(void* data, N count, Word type, int to, int tag, int from,
                                  int tag2, Word comm, void* status) {
  const Native<H>& native = self_->native_;
  const Messaging<H, N>& forms = messaging<N>(native);
  const H own = handle_from<H>(comm);
  N bytes = 0, packed = 0;
  int code = forms.pack_size(count, handle_from<H>(type), own, &bytes);
  if (code != 0) return code;
  std::vector<std::byte> copy(static_cast<std::size_t>(bytes));
  code = forms.pack(data, count, handle_from<H>(type), copy.data(), bytes, &packed, own);
  if (code != 0) return code;
  const auto send = [&](H* request) {
    return forms.isend(copy.data(), packed, native.packed, to, tag, own, request);
  };
  return self_->template exchange<N>(send, data, count, type, from, tag2, comm, status);
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

template class Blocking<int>;
template class Blocking<void*>;

}  // namespace tutti::mpi
