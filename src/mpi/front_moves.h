// SPDX-License-Identifier: BSD-3-Clause
// Front: the collectives that only move data.
#pragma once

#include "mpi/front.h"

namespace tutti::mpi {

// Blocks of `count` elements one after the other, one for each of `members`.
template <class H>
[[gnu::always_inline]] inline bool Front<H>::add_evenly(Side<H>& side, const void* base,
                                                        Count count, H type, int members) {
  if (count < 0) return false;
  const auto* slot = layouts_.predefined().slot_of(type);
  const std::size_t each = slot != nullptr ? slot->dense_bytes.load(std::memory_order_relaxed) : 0;
  if (each == 0) [[unlikely]]
    return add_others(side, base, count, type, members);
  side.add_row(base, static_cast<std::size_t>(count) * each, members);
  return true;
}

template <class H>
bool Front<H>::add_others(Side<H>& side, const void* base, Count count, H type, int members) {
  Described<H> element;
  if (!describe(type, element)) return false;
  for (int i = 0; i < members; ++i) side.add(base, i * count * element.extent, count, element);
  return true;
}

template <class H>
template <class N, class D>
bool Front<H>::add_listed(Side<H>& side, const void* base, const N* counts, const D* displacements,
                          H type, int members) {
  Described<H> element;
  if (!describe(type, element) || counts == nullptr || displacements == nullptr) return false;
  for (int i = 0; i < members; ++i) {
    if (counts[i] < 0) return false;
    side.add(base, displacements[i] * element.extent, counts[i], element);
  }
  return true;
}

// Alltoallw: a type for each member, and displacements in bytes.
template <class H>
template <class N, class D>
bool Front<H>::add_typed(Side<H>& side, const void* base, const N* counts, const D* displacements,
                         const H* types, int members) {
  if (counts == nullptr || displacements == nullptr || types == nullptr) return false;
  for (int i = 0; i < members; ++i) {
    Described<H> element;
    if (counts[i] < 0 || (counts[i] > 0 && !describe(types[i], element))) return false;
    side.add(base, displacements[i], counts[i], element);
  }
  return true;
}

// Whether what this rank sends itself lies where it is to be received.
template <class H>
[[gnu::always_inline]] inline bool Front<H>::stays(const Call<H>& call) {
  if (call.out.empty() || call.in.empty()) return false;
  const auto me = static_cast<std::size_t>(call.rank);
  const coll::Block &sent = call.out.block_of(me), &received = call.in.block_of(me);
  return sent.address == received.address && sent.bytes != 0;
}

template <class H>
[[gnu::always_inline]] inline bool Front<H>::move(Call<H>& call, int root, std::size_t bytes) {
  if (call.alike && stays(call) && refuses_alias(call.collective, false)) [[unlikely]]
    return false;
  call.work.root = root;
  const bool with_devices = devices::present();
  if (with_devices && !serves(call, call.out.is_on_device() || call.in.is_on_device())) [[unlikely]]
    return false;
  call.settle(with_devices);
  call.work.count = bytes;
  call.work.out = call.out.blocks();
  call.work.in = call.in.blocks();
  return true;
}

// For a collective in which every member says something of every other.
template <class H>
[[gnu::always_inline]] inline bool Front<H>::find_listing_team(Call<H>& call,
                                                               Collective collective) {
  if (!find_team(call, collective)) return false;
  if (call.size <= coll::exchange::most_listed) return true;
  return leave(call, "too many ranks for this collective");
}

template <class H>
template <class Add>
[[gnu::always_inline]] inline bool Front<H>::take_gather(Call<H>& call, Collective collective,
                                                         const void* send, Count send_count,
                                                         H send_type, const void* recv, int root,
                                                         Add add_in) {
  const bool even = collective == Collective::gather;
  if (!(even ? find_team(call, collective) : find_listing_team(call, collective))) return false;
  if (!is_member(call, root)) return false;
  const bool at_root = call.rank == root;
  if (at_root && (recv == in_place() || !add_in(call.in, call.size))) return false;
  if (!(at_root && send == in_place()) &&
      (send == in_place() || !add_evenly(call.out, send, send_count, send_type, 1)))
    return false;
  const std::size_t bytes = even ? (at_root ? call.in : call.out).blocks()[0].bytes : 0;
  if (even && bytes == 0) return move_nothing(call);
  return move(call, root, bytes);
}

template <class H>
template <class Add>
[[gnu::always_inline]] inline bool Front<H>::take_scatter(Call<H>& call, Collective collective,
                                                          Add add_out, const void* send, void* recv,
                                                          Count recv_count, H recv_type, int root) {
  const bool even = collective == Collective::scatter;
  if (!(even ? find_team(call, collective) : find_listing_team(call, collective))) return false;
  if (!is_member(call, root)) return false;
  const bool at_root = call.rank == root;
  if (at_root && (send == in_place() || !add_out(call.out, call.size))) return false;
  if (!(at_root && recv == in_place()) &&
      (recv == in_place() || !add_evenly(call.in, recv, recv_count, recv_type, 1)))
    return false;
  const std::size_t bytes = even ? (at_root ? call.out : call.in).blocks()[0].bytes : 0;
  if (even && bytes == 0) return move_nothing(call);
  return move(call, root, bytes);
}

template <class H>
template <class Add>
[[gnu::always_inline]] inline bool Front<H>::take_allgather(Call<H>& call, Collective collective,
                                                            const void* send, Count send_count,
                                                            H send_type, const void* recv,
                                                            Add add_in) {
  if (!find_team(call, collective) || recv == in_place()) return false;
  if (!add_in(call.in, call.size)) return false;
  const std::size_t bytes =
      collective == Collective::allgather ? call.in.blocks()[0].bytes : call.in.bytes();
  if (send != in_place() && !add_evenly(call.out, send, send_count, send_type, 1)) return false;
  if (bytes == 0) return move_nothing(call);
  if (send != in_place()) return move(call, 0, bytes);
  const bool with_devices = devices::present();
  if (with_devices && !serves(call, call.in.is_on_device())) [[unlikely]]
    return false;
  call.in.settle(true, with_devices);
  const auto me = static_cast<std::size_t>(call.rank);
  call.work = {.count = bytes, .out = call.in.blocks().subspan(me, 1), .in = call.in.blocks()};
  return true;
}

template <class H>
template <class AddOut, class AddIn>
[[gnu::always_inline]] inline bool Front<H>::take_alltoall(Call<H>& call, Collective collective,
                                                           AddOut add_out, AddIn add_in,
                                                           const void* send, const void* recv) {
  const bool even = collective == Collective::alltoall;
  if (!(even ? find_team(call, collective) : find_listing_team(call, collective))) return false;
  if (recv == in_place() || !add_in(call.in, call.size)) return false;
  const std::size_t bytes = even ? call.in.blocks()[0].bytes : 0;
  if (send != in_place() && !add_out(call.out, call.size)) return false;
  if (even && bytes == 0) return move_nothing(call);
  if (send != in_place()) return move(call, 0, bytes);
  const bool with_devices = devices::present();
  if (with_devices && !serves(call, call.in.is_on_device())) [[unlikely]]
    return false;
  call.in.settle(true, with_devices);
  if (call.size == 1) return true;  // and unpacks what it has packed
  call.work = {.count = bytes, .in_place = true, .out = call.in.blocks(), .in = call.in.blocks()};
  return true;
}

template <class H>
template <class N, class D, class... Request>
int Front<H>::gather(const void* send, N send_count, Word send_type, void* recv, N recv_count,
                     Word recv_type, int root, Word comm, Request... request) {
  const auto add_in = [&](Side<H>& in, int members) TUTTI_INLINE {
    return self_->add_evenly(in, recv, recv_count, handle(recv_type), members);
  };
  const auto prepare = [&](Call<H>& call) TUTTI_INLINE {
    call.alike = send_type == recv_type && send_count == recv_count;
    return self_->take_gather(call, Collective::gather, send, send_count, handle(send_type), recv,
                              root, add_in);
  };
  if (const int code = self_->enter(handle(comm), prepare, request...); code != left) return code;
  return self_->template call_native<N, D, Request...>(
      &Forms<H, N, D, Request...>::gather, &Forms<H, int, int, Request...>::gather, handle(comm),
      send, send_count, handle(send_type), recv, recv_count, handle(recv_type), root, handle(comm),
      request...);
}

template <class H>
template <class N, class D, class... Request>
int Front<H>::gatherv(const void* send, N send_count, Word send_type, void* recv, const N* counts,
                      const D* displacements, Word recv_type, int root, Word comm,
                      Request... request) {
  const auto add_in = [&](Side<H>& in, int members) TUTTI_INLINE {
    return self_->add_listed(in, recv, counts, displacements, handle(recv_type), members);
  };
  const auto prepare = [&](Call<H>& call) TUTTI_INLINE {
    call.alike = send_type == recv_type;
    return self_->take_gather(call, Collective::gatherv, send, send_count, handle(send_type), recv,
                              root, add_in);
  };
  if (const int code = self_->enter(handle(comm), prepare, request...); code != left) return code;
  const bool mine = self_->has_root_arguments(root, handle(comm));
  return self_->template call_native<N, D, Request...>(
      &Forms<H, N, D, Request...>::gatherv, &Forms<H, int, int, Request...>::gatherv, handle(comm),
      send, send_count, handle(send_type), recv, mine ? counts : nullptr,
      mine ? displacements : nullptr, handle(recv_type), root, handle(comm), request...);
}

template <class H>
template <class N, class D, class... Request>
int Front<H>::scatter(const void* send, N send_count, Word send_type, void* recv, N recv_count,
                      Word recv_type, int root, Word comm, Request... request) {
  const auto add_out = [&](Side<H>& out, int members) TUTTI_INLINE {
    return self_->add_evenly(out, send, send_count, handle(send_type), members);
  };
  const auto prepare = [&](Call<H>& call) TUTTI_INLINE {
    call.alike = send_type == recv_type && send_count == recv_count;
    return self_->take_scatter(call, Collective::scatter, add_out, send, recv, recv_count,
                               handle(recv_type), root);
  };
  if (const int code = self_->enter(handle(comm), prepare, request...); code != left) return code;
  return self_->template call_native<N, D, Request...>(
      &Forms<H, N, D, Request...>::scatter, &Forms<H, int, int, Request...>::scatter, handle(comm),
      send, send_count, handle(send_type), recv, recv_count, handle(recv_type), root, handle(comm),
      request...);
}

template <class H>
template <class N, class D, class... Request>
int Front<H>::scatterv(const void* send, const N* counts, const D* displacements, Word send_type,
                       void* recv, N recv_count, Word recv_type, int root, Word comm,
                       Request... request) {
  const auto add_out = [&](Side<H>& out, int members) TUTTI_INLINE {
    return self_->add_listed(out, send, counts, displacements, handle(send_type), members);
  };
  const auto prepare = [&](Call<H>& call) TUTTI_INLINE {
    call.alike = send_type == recv_type;
    return self_->take_scatter(call, Collective::scatterv, add_out, send, recv, recv_count,
                               handle(recv_type), root);
  };
  if (const int code = self_->enter(handle(comm), prepare, request...); code != left) return code;
  const bool mine = self_->has_root_arguments(root, handle(comm));
  return self_->template call_native<N, D, Request...>(
      &Forms<H, N, D, Request...>::scatterv, &Forms<H, int, int, Request...>::scatterv,
      handle(comm), send, mine ? counts : nullptr, mine ? displacements : nullptr,
      handle(send_type), recv, recv_count, handle(recv_type), root, handle(comm), request...);
}

template <class H>
template <class N, class D, class... Request>
int Front<H>::allgather(const void* send, N send_count, Word send_type, void* recv, N recv_count,
                        Word recv_type, Word comm, Request... request) {
  const auto add_in = [&](Side<H>& in, int members) TUTTI_INLINE {
    return self_->add_evenly(in, recv, recv_count, handle(recv_type), members);
  };
  const auto prepare = [&](Call<H>& call) TUTTI_INLINE {
    call.alike = send_type == recv_type && send_count == recv_count;
    return self_->take_allgather(call, Collective::allgather, send, send_count, handle(send_type),
                                 recv, add_in);
  };
  if (const int code = self_->enter(handle(comm), prepare, request...); code != left) return code;
  return self_->template call_native<N, D, Request...>(
      &Forms<H, N, D, Request...>::allgather, &Forms<H, int, int, Request...>::allgather,
      handle(comm), send, send_count, handle(send_type), recv, recv_count, handle(recv_type),
      handle(comm), request...);
}

template <class H>
template <class N, class D, class... Request>
int Front<H>::allgatherv(const void* send, N send_count, Word send_type, void* recv,
                         const N* counts, const D* displacements, Word recv_type, Word comm,
                         Request... request) {
  const auto add_in = [&](Side<H>& in, int members) TUTTI_INLINE {
    return self_->add_listed(in, recv, counts, displacements, handle(recv_type), members);
  };
  const auto prepare = [&](Call<H>& call) TUTTI_INLINE {
    call.alike = send_type == recv_type;
    return self_->take_allgather(call, Collective::allgatherv, send, send_count, handle(send_type),
                                 recv, add_in);
  };
  if (const int code = self_->enter(handle(comm), prepare, request...); code != left) return code;
  return self_->template call_native<N, D, Request...>(
      &Forms<H, N, D, Request...>::allgatherv, &Forms<H, int, int, Request...>::allgatherv,
      handle(comm), send, send_count, handle(send_type), recv, counts, displacements,
      handle(recv_type), handle(comm), request...);
}

template <class H>
template <class N, class D, class... Request>
int Front<H>::alltoall(const void* send, N send_count, Word send_type, void* recv, N recv_count,
                       Word recv_type, Word comm, Request... request) {
  const auto add_out = [&](Side<H>& out, int members) TUTTI_INLINE {
    return self_->add_evenly(out, send, send_count, handle(send_type), members);
  };
  const auto add_in = [&](Side<H>& in, int members) TUTTI_INLINE {
    return self_->add_evenly(in, recv, recv_count, handle(recv_type), members);
  };
  const auto prepare = [&](Call<H>& call) TUTTI_INLINE {
    call.alike = send_type == recv_type && send_count == recv_count;
    return self_->take_alltoall(call, Collective::alltoall, add_out, add_in, send, recv);
  };
  if (const int code = self_->enter(handle(comm), prepare, request...); code != left) return code;
  return self_->template call_native<N, D, Request...>(
      &Forms<H, N, D, Request...>::alltoall, &Forms<H, int, int, Request...>::alltoall,
      handle(comm), send, send_count, handle(send_type), recv, recv_count, handle(recv_type),
      handle(comm), request...);
}

template <class H>
template <class N, class D, class... Request>
int Front<H>::alltoallv(const void* send, const N* send_counts, const D* send_displacements,
                        Word send_type, void* recv, const N* recv_counts,
                        const D* recv_displacements, Word recv_type, Word comm,
                        Request... request) {
  const auto add_out = [&](Side<H>& out, int members) TUTTI_INLINE {
    return self_->add_listed(out, send, send_counts, send_displacements, handle(send_type),
                             members);
  };
  const auto add_in = [&](Side<H>& in, int members) TUTTI_INLINE {
    return self_->add_listed(in, recv, recv_counts, recv_displacements, handle(recv_type), members);
  };
  const auto prepare = [&](Call<H>& call) TUTTI_INLINE {
    call.alike = send_type == recv_type && send_counts == recv_counts;
    return self_->take_alltoall(call, Collective::alltoallv, add_out, add_in, send, recv);
  };
  if (const int code = self_->enter(handle(comm), prepare, request...); code != left) return code;
  const bool moves = send != self_->in_place();
  return self_->template call_native<N, D, Request...>(
      &Forms<H, N, D, Request...>::alltoallv, &Forms<H, int, int, Request...>::alltoallv,
      handle(comm), send, moves ? send_counts : nullptr, moves ? send_displacements : nullptr,
      handle(send_type), recv, recv_counts, recv_displacements, handle(recv_type), handle(comm),
      request...);
}

template <class H>
template <class N, class D, class... Request>
int Front<H>::alltoallw(const void* send, const N* send_counts, const D* send_displacements,
                        const Word* send_types, void* recv, const N* recv_counts,
                        const D* recv_displacements, const Word* recv_types, Word comm,
                        Request... request) {
  // Arrays of handles are the MPI's own, whatever the size of a word.
  const auto* send_handles = reinterpret_cast<const H*>(send_types);
  const auto* recv_handles = reinterpret_cast<const H*>(recv_types);
  const auto add_out = [&](Side<H>& out, int members) TUTTI_INLINE {
    return self_->add_typed(out, send, send_counts, send_displacements, send_handles, members);
  };
  const auto add_in = [&](Side<H>& in, int members) TUTTI_INLINE {
    return self_->add_typed(in, recv, recv_counts, recv_displacements, recv_handles, members);
  };
  const auto prepare = [&](Call<H>& call) TUTTI_INLINE {
    call.alike = send_types == recv_types && send_counts == recv_counts;
    return self_->take_alltoall(call, Collective::alltoallw, add_out, add_in, send, recv);
  };
  if (const int code = self_->enter(handle(comm), prepare, request...); code != left) return code;
  const bool moves = send != self_->in_place();
  return self_->template call_native<N, D, Request...>(
      &Forms<H, N, D, Request...>::alltoallw, &Forms<H, int, int, Request...>::alltoallw,
      handle(comm), send, moves ? send_counts : nullptr, moves ? send_displacements : nullptr,
      send_handles, recv, recv_counts, recv_displacements, recv_handles, handle(comm), request...);
}

}  // namespace tutti::mpi
