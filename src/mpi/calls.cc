// SPDX-License-Identifier: BSD-3-Clause
// Barrier, Bcast and the collectives that compute.
#include <utility>

#include "mpi/front.h"
#include "mpi/reduction.h"

namespace tutti::mpi {
namespace {

constexpr int everyone = -1;  // as `root`, for Allreduce

template <class H>
bool prepare_barrier(Front<H>& front, Call<H>& call) {
  return front.find_team(call);
}

// Of elements that are not bytes in a row, or where memory may be a device's.
template <class H>
[[gnu::noinline]] bool prepare_odd_bcast(Front<H>& front, Call<H>& call, void* buffer, Count count,
                                         const Described<H>& element, int root) {
  const bool with_devices = devices::present();
  const bool sends = call.rank == root;
  CallBuffers<H>& buffers = sends ? call.out : call.in;
  buffers.flatten();
  buffers.add(buffer, 0, count, element);
  if (with_devices) {
    call.work.root = root;
    if (!front.serves(call, buffers.is_on_device())) return false;
  }
  buffers.settle(sends, with_devices);
  const coll::Block& block = buffers.blocks()[0];
  call.work = {.recv = block.address, .count = block.bytes, .root = root};
  return block.address != nullptr;
}

template <class H>
bool prepare_bcast(Front<H>& front, Call<H>& call, void* buffer, Count count, H type, int root) {
  if (!front.find_team(call) || count < 0 || !front.is_member(call, root)) return false;
  Described<H> element;
  if (!front.datatypes.describe(type, element)) return false;
  if (count == 0 || element.bytes == 0) return front.move_nothing(call);  // all see that alike
  if (buffer == front.native.in_place) return false;
  if (element.layout == nullptr && !element.opaque && !devices::present()) [[likely]] {
    call.work.recv = buffer;
    call.work.count = static_cast<std::size_t>(count) * element.bytes;
    call.work.root = root;
    return buffer != nullptr;
  }
  return prepare_odd_bcast(front, call, buffer, count, element, root);
}

// False: to receive there is an error that the MPI tells.
template <class H>
[[gnu::always_inline]] inline bool may_receive(Front<H>& front, const Call<H>& call,
                                               const void* send, const void* recv) {
  if (send != recv && recv != front.native.in_place) [[likely]]
    return true;
  return recv != front.native.in_place &&
         !front.arguments.refuses_alias(call.collective, call.work.count == 1);
}

// Elements lie elsewhere, so that their buffer may be MPI_BOTTOM.
template <class H>
[[gnu::noinline]] bool lies_elsewhere(const Call<H>& call) {
  if (call.reduction == nullptr || !call.reduction->gapped) return false;
  const layout::Layout* layout = call.reduction->element.layout;
  return layout == nullptr || layout->first() != 0;
}

// Whether a buffer may be there.
template <class H>
[[gnu::always_inline]] inline bool lies_at(const Call<H>& call, const void* buffer) {
  return buffer != nullptr || lies_elsewhere(call);
}

// The operands, and the place of the result, in memory of the host. In place they are the same.
template <class H>
bool stage_operands(Front<H>& front, Call<H>& call, std::size_t send_bytes,
                    std::size_t recv_bytes) {
  coll::Work& work = call.work;
  const bool in_place = work.send == work.recv;
  const bool on_device = devices::owns(work.send) || (recv_bytes > 0 && devices::owns(work.recv));
  if (!front.serves(call, on_device)) return false;
  if (!on_device) return true;
  if (!in_place) work.send = call.out.stage(const_cast<void*>(work.send), send_bytes, true);
  if (work.recv == nullptr) return true;
  work.recv = call.in.stage(work.recv, in_place ? send_bytes : recv_bytes, in_place);
  if (in_place) work.send = work.recv;
  return true;
}

// Elements with gaps travel packed. What lies between those of the result stays as it is.
template <class H>
[[gnu::noinline]] bool pack_operands(Front<H>& front, Call<H>& call, std::size_t send_count,
                                     std::size_t recv_count) {
  coll::Work& work = call.work;
  const Described<H>& element = call.reduction->element;
  const bool with_devices = devices::present();
  const bool in_place = work.send == work.recv && recv_count == send_count;
  call.out.flatten();
  call.in.flatten();
  if (!in_place) call.out.add(work.send, 0, static_cast<Count>(send_count), element);
  if (recv_count > 0) call.in.add(work.recv, 0, static_cast<Count>(recv_count), element);
  if (with_devices && !front.serves(call, call.out.is_on_device() || call.in.is_on_device()))
    return false;
  call.out.settle(true, with_devices);
  call.in.settle(in_place, with_devices);
  work.recv = recv_count > 0 ? call.in.blocks()[0].address : nullptr;
  work.send = in_place ? work.recv : call.out.blocks()[0].address;
  return true;
}

// Operands, and the place of the result, that others can read and write. 0: of no such.
template <class H>
[[gnu::always_inline]] inline bool place_operands(Front<H>& front, Call<H>& call,
                                                  std::size_t send_count, std::size_t recv_count) {
  if (call.reduction != nullptr && call.reduction->gapped) [[unlikely]]
    return pack_operands(front, call, send_count, recv_count);
  const std::size_t element = call.work.element_bytes;
  return !devices::present() ||
         stage_operands(front, call, send_count * element, recv_count * element);
}

template <class H>
bool prepare_reduction(Front<H>& front, Call<H>& call, const void* send, void* recv, Count count,
                       H type, H op, int root) {
  const bool all = root == everyone;
  const auto bytes = [&] { return front.operations.bytes_of(count, type, op); };
  if (!front.find_team(call, bytes) || count < 0) return false;
  call.work.send = send;
  call.work.count = static_cast<std::size_t>(count);
  if (!front.operations.plan(call, type, op)) return false;
  if (!all && !front.is_member(call, root)) return false;
  if (count == 0) return front.move_nothing(call);
  const bool gets_result = all || root == call.rank;
  if (gets_result) {
    if (!may_receive(front, call, send, recv)) [[unlikely]]
      return false;
    call.work.recv = recv;
  }
  if (send == front.native.in_place) {
    if (!gets_result) return false;
    call.work.send = recv;
  }
  if (!all) call.work.root = root;
  if (!lies_at(call, call.work.send) || (gets_result && !lies_at(call, recv))) return false;
  return place_operands(front, call, call.work.count, gets_result ? call.work.count : 0);
}

template <class H, class N>
bool prepare_reduce_scatter(Front<H>& front, Call<H>& call, const void* send, void* recv,
                            const N* counts, N count, H type, H op) {
  const auto bytes = [&] {
    int size = 0;
    front.native.comm_size(call.site.comm, &size);
    Count whole = Count{count} * size;
    for (int i = 0; counts != nullptr && i < size; ++i) whole += counts[i];
    return front.operations.bytes_of(whole, type, op);
  };
  if (!front.find_listing_team(call, bytes)) return false;
  if (counts == nullptr && call.collective == Collective::reduce_scatter) return false;
  std::size_t all = 0;
  for (int i = 0; i < call.size; ++i) {
    const N each = counts != nullptr ? counts[i] : count;
    if (each < 0) return false;
    call.parts.push_back({all, static_cast<std::size_t>(each)});
    all += static_cast<std::size_t>(each);
  }
  coll::Work& work = call.work;
  work = {.send = send, .recv = recv, .count = all, .parts = call.parts.all()};
  if (!front.operations.plan(call, type, op)) return false;
  if (all == 0) return front.move_nothing(call);
  const auto me = static_cast<std::size_t>(call.rank);
  const bool mine = work.parts[me].count > 0;
  if ((mine && !lies_at(call, recv)) || !lies_at(call, send == front.native.in_place ? recv : send))
    return false;
  if (!may_receive(front, call, send, recv)) return false;
  if (send == front.native.in_place) work.send = recv;
  const bool replaces = work.send == recv;  // some MPIs allow that without MPI_IN_PLACE
  if (!place_operands(front, call, work.count, work.parts[me].count)) return false;
  if (!replaces || call.size == 1) return true;
  const bool packed = work.send != work.recv;  // operands with gaps are in a copy already
  // But the result, if it has none, as a single element, comes to where they were.
  work.in_place = work.operands != nullptr || (packed && mine && !call.in.is_special());
  // It would replace operands that others still read, if nobody may wait for them.
  if (work.operands != nullptr && !packed) {
    call.copy.reset(work.bytes());
    reduce::copy(call.copy.get(), work.send, work.bytes());
    work.send = call.copy.get();
  }
  return true;
}

template <class H>
bool prepare_scan(Front<H>& front, Call<H>& call, const void* send, void* recv, Count count, H type,
                  H op) {
  const auto bytes = [&] { return front.operations.bytes_of(count, type, op); };
  if (!front.find_team(call, bytes) || count < 0) return false;
  call.work.send = send == front.native.in_place ? recv : send;
  call.work.recv = recv;
  call.work.count = static_cast<std::size_t>(count);
  if (!front.operations.plan(call, type, op)) return false;
  if (count == 0) return front.move_nothing(call);
  const bool gets_result = call.collective == Collective::scan || call.rank > 0;
  const bool has_none = !gets_result && recv == front.native.in_place;
  if (has_none ? front.arguments.refuses_no_result() : !may_receive(front, call, send, recv))
    return false;
  if (!lies_at(call, call.work.send) || (gets_result && !lies_at(call, recv))) return false;
  return place_operands(front, call, call.work.count, gets_result ? call.work.count : 0);
}

template <class H>
int barrier(Word comm) {
  const int code = Front<H>::enter(Collective::barrier, comm, [](Front<H>& front, Call<H>& call) {
    return prepare_barrier(front, call);
  });
  if (code != left) return code;
  const choice::Turn turn;
  return turn.ends(Front<H>::self().native.barrier(handle_from<H>(comm)));
}

template <class H>
int ibarrier(Word comm, void* request) {
  const int code = Front<H>::enter(
      Collective::barrier, comm,
      [](Front<H>& front, Call<H>& call) { return prepare_barrier(front, call); }, request);
  return code != left ? code : Front<H>::self().native.ibarrier(handle_from<H>(comm), request);
}

template <class H, class N, class D, class... Request>
int bcast(void* buffer, N count, Word type, int root, Word comm, Request... request) {
  const auto prepare = [&](Front<H>& front, Call<H>& call) TUTTI_INLINE {
    return prepare_bcast(front, call, buffer, count, handle_from<H>(type), root);
  };
  if (const int code = Front<H>::enter(Collective::bcast, comm, prepare, request...); code != left)
    return code;
  return Front<H>::self().left_calls.template call_native<N, D, Request...>(
      &Forms<H, N, D, Request...>::bcast, &Forms<H, int, int, Request...>::bcast,
      handle_from<H>(comm), buffer, count, handle_from<H>(type), root, handle_from<H>(comm),
      request...);
}

template <class H, class N, class D, class... Request>
int reduce(const void* send, void* recv, N count, Word type, Word op, int root, Word comm,
           Request... request) {
  const auto prepare = [&](Front<H>& front, Call<H>& call) TUTTI_INLINE {
    return root >= 0 &&  // MPI_ROOT and MPI_PROC_NULL are for intercommunicators
           prepare_reduction(front, call, send, recv, count, handle_from<H>(type),
                             handle_from<H>(op), root);
  };
  if (const int code = Front<H>::enter(Collective::reduce, comm, prepare, request...); code != left)
    return code;
  return Front<H>::self().left_calls.template call_native<N, D, Request...>(
      &Forms<H, N, D, Request...>::reduce, &Forms<H, int, int, Request...>::reduce,
      handle_from<H>(comm), send, recv, count, handle_from<H>(type), handle_from<H>(op), root,
      handle_from<H>(comm), request...);
}

template <class H, class N, class D, class... Request>
int allreduce(const void* send, void* recv, N count, Word type, Word op, Word comm,
              Request... request) {
  const auto prepare = [&](Front<H>& front, Call<H>& call) TUTTI_INLINE {
    return prepare_reduction(front, call, send, recv, count, handle_from<H>(type),
                             handle_from<H>(op), everyone);
  };
  if (const int code = Front<H>::enter(Collective::allreduce, comm, prepare, request...);
      code != left)
    return code;
  return Front<H>::self().left_calls.template call_native<N, D, Request...>(
      &Forms<H, N, D, Request...>::allreduce, &Forms<H, int, int, Request...>::allreduce,
      handle_from<H>(comm), send, recv, count, handle_from<H>(type), handle_from<H>(op),
      handle_from<H>(comm), request...);
}

template <class H, class N, class D, class... Request>
int reduce_scatter(const void* send, void* recv, const N* counts, Word type, Word op, Word comm,
                   Request... request) {
  const auto prepare = [&](Front<H>& front, Call<H>& call) TUTTI_INLINE {
    return prepare_reduce_scatter(front, call, send, recv, counts, N{0}, handle_from<H>(type),
                                  handle_from<H>(op));
  };
  if (const int code = Front<H>::enter(Collective::reduce_scatter, comm, prepare, request...);
      code != left)
    return code;
  return Front<H>::self().left_calls.template call_native<N, D, Request...>(
      &Forms<H, N, D, Request...>::reduce_scatter, &Forms<H, int, int, Request...>::reduce_scatter,
      handle_from<H>(comm), send, recv, counts, handle_from<H>(type), handle_from<H>(op),
      handle_from<H>(comm), request...);
}

template <class H, class N, class D, class... Request>
int reduce_scatter_block(const void* send, void* recv, N count, Word type, Word op, Word comm,
                         Request... request) {
  const auto prepare = [&](Front<H>& front, Call<H>& call) TUTTI_INLINE {
    return prepare_reduce_scatter<H, N>(front, call, send, recv, nullptr, count,
                                        handle_from<H>(type), handle_from<H>(op));
  };
  if (const int code = Front<H>::enter(Collective::reduce_scatter_block, comm, prepare, request...);
      code != left)
    return code;
  return Front<H>::self().left_calls.template call_native<N, D, Request...>(
      &Forms<H, N, D, Request...>::reduce_scatter_block,
      &Forms<H, int, int, Request...>::reduce_scatter_block, handle_from<H>(comm), send, recv,
      count, handle_from<H>(type), handle_from<H>(op), handle_from<H>(comm), request...);
}

template <class H, class N, class D, class... Request>
int scan(const void* send, void* recv, N count, Word type, Word op, Word comm, Request... request) {
  const auto prepare = [&](Front<H>& front, Call<H>& call) TUTTI_INLINE {
    return prepare_scan(front, call, send, recv, count, handle_from<H>(type), handle_from<H>(op));
  };
  if (const int code = Front<H>::enter(Collective::scan, comm, prepare, request...); code != left)
    return code;
  return Front<H>::self().left_calls.template call_native<N, D, Request...>(
      &Forms<H, N, D, Request...>::scan, &Forms<H, int, int, Request...>::scan,
      handle_from<H>(comm), send, recv, count, handle_from<H>(type), handle_from<H>(op),
      handle_from<H>(comm), request...);
}

template <class H, class N, class D, class... Request>
int exscan(const void* send, void* recv, N count, Word type, Word op, Word comm,
           Request... request) {
  const auto prepare = [&](Front<H>& front, Call<H>& call) TUTTI_INLINE {
    return prepare_scan(front, call, send, recv, count, handle_from<H>(type), handle_from<H>(op));
  };
  if (const int code = Front<H>::enter(Collective::exscan, comm, prepare, request...); code != left)
    return code;
  return Front<H>::self().left_calls.template call_native<N, D, Request...>(
      &Forms<H, N, D, Request...>::exscan, &Forms<H, int, int, Request...>::exscan,
      handle_from<H>(comm), send, recv, count, handle_from<H>(type), handle_from<H>(op),
      handle_from<H>(comm), request...);
}

template <class H, class N, class D, class... Request>
void add_forms(Forms<Word, N, D, Request...>& forms) {
  forms.bcast = bcast<H, N, D, Request...>;
  forms.reduce = reduce<H, N, D, Request...>;
  forms.allreduce = allreduce<H, N, D, Request...>;
  forms.reduce_scatter = reduce_scatter<H, N, D, Request...>;
  forms.reduce_scatter_block = reduce_scatter_block<H, N, D, Request...>;
  forms.scan = scan<H, N, D, Request...>;
  forms.exscan = exscan<H, N, D, Request...>;
}

}  // namespace

template <class H>
void add_calls(Entries& entries) {
  entries.barrier = barrier<H>;
  entries.ibarrier = ibarrier<H>;
  add_forms<H, int, int>(entries);
  add_forms<H, Count, Aint>(entries.large);
  add_forms<H, int, int, void*>(entries.started);
  add_forms<H, Count, Aint, void*>(entries.large_started);
}

template void add_calls<int>(Entries&);
template void add_calls<void*>(Entries&);

}  // namespace tutti::mpi
