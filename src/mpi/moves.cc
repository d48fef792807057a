// SPDX-License-Identifier: BSD-3-Clause
// The collectives that only move data.
#include "mpi/front.h"

namespace tutti::mpi {
namespace {

template <class H>
bool add_others(Front<H>& front, CallBuffers<H>& buffers, const void* base, Count count, H type,
                int members) {
  Described<H> element;
  if (!front.datatypes.describe(type, element)) return false;
  for (int i = 0; i < members; ++i) buffers.add(base, i * count * element.extent, count, element);
  return true;
}

// Blocks of `count` elements one after the other, one for each of `members`.
template <class H>
[[gnu::always_inline]] inline bool add_evenly(Front<H>& front, CallBuffers<H>& buffers,
                                              const void* base, Count count, H type, int members) {
  if (count < 0) return false;
  const auto* slot = front.datatypes.predefined().slot_of(type);
  const std::size_t each = slot != nullptr ? slot->dense_bytes.load(std::memory_order_relaxed) : 0;
  if (each == 0) [[unlikely]]
    return add_others(front, buffers, base, count, type, members);
  buffers.add_row(base, static_cast<std::size_t>(count) * each, members);
  return true;
}

template <class H, class N, class D>
bool add_listed(Front<H>& front, CallBuffers<H>& buffers, const void* base, const N* counts,
                const D* displacements, H type, int members) {
  Described<H> element;
  if (!front.datatypes.describe(type, element) || counts == nullptr || displacements == nullptr)
    return false;
  for (int i = 0; i < members; ++i) {
    if (counts[i] < 0) return false;
    buffers.add(base, displacements[i] * element.extent, counts[i], element);
  }
  return true;
}

// Alltoallw: a type for each member, and displacements in bytes.
template <class H, class N, class D>
bool add_typed(Front<H>& front, CallBuffers<H>& buffers, const void* base, const N* counts,
               const D* displacements, const H* types, int members) {
  if (counts == nullptr || displacements == nullptr || types == nullptr) return false;
  for (int i = 0; i < members; ++i) {
    Described<H> element;
    if (counts[i] < 0 || (counts[i] > 0 && !front.datatypes.describe(types[i], element)))
      return false;
    buffers.add(base, displacements[i], counts[i], element);
  }
  return true;
}

// Whether an MPI that looks for it finds that what this rank sends itself lies where it is to be
// received: `one` is the buffer of that block alone, and it is `place(rank)` elements behind the
// beginning of `all`. MPICH takes it for this that elements have no gaps. Others do not see what
// this rank finds, so it may be found only where the MPI does, and refuses the call.
template <class H, class Place>
[[nodiscard, gnu::always_inline]] inline bool stays(const Call<H>& call, const CallBuffers<H>& own,
                                                    const void* one, Count count,
                                                    const CallBuffers<H>& others, const void* all,
                                                    Place place) {
  if (!call.alike || own.empty() || others.empty()) return false;
  const auto me = static_cast<std::size_t>(call.rank);
  const coll::Block &mine = own.blocks()[0], &other = others.block_of(me);
  if (mine.address != other.address || mine.bytes == 0 || other.bytes == 0) [[likely]]
    return false;
  const auto element_bytes = static_cast<Count>(mine.bytes) / count;
  return reinterpret_cast<Aint>(one) ==
         reinterpret_cast<Aint>(all) + place(call.rank) * element_bytes;
}

template <class H>
[[gnu::always_inline]] inline bool move(Front<H>& front, Call<H>& call, int root, std::size_t bytes,
                                        bool stays) {
  if (call.out.has_null() || call.in.has_null()) [[unlikely]]
    return false;
  if (stays && front.arguments.refuses_alias(call.collective, false)) [[unlikely]]
    return false;
  call.work.root = root;
  const bool with_devices = devices::present();
  if (with_devices && !front.serves(call, call.out.is_on_device() || call.in.is_on_device()))
      [[unlikely]]
    return false;
  call.settle(with_devices);
  call.work.count = bytes;
  call.work.out = call.out.blocks();
  call.work.in = call.in.blocks();
  return true;
}

// What is received lies where it is sent from.
template <class H>
[[gnu::always_inline]] inline bool settle_in_place(Front<H>& front, Call<H>& call) {
  if (call.in.has_null()) [[unlikely]]
    return false;
  const bool with_devices = devices::present();
  if (with_devices && !front.serves(call, call.in.is_on_device())) [[unlikely]]
    return false;
  call.in.settle(true, with_devices);
  return true;
}

// Handles may have upper halves that mean nothing.
template <class H>
bool are_same(Word one, Word other) {
  return handle_from<H>(one) == handle_from<H>(other);
}

template <class H, class Add, class Place>
[[gnu::always_inline]] inline bool prepare_gather(Front<H>& front, Call<H>& call, const void* send,
                                                  Count send_count, H send_type, const void* recv,
                                                  int root, Add add_in, Place place) {
  const bool even = call.collective == Collective::gather;
  if (!(even ? front.find_team(call) : front.find_listing_team(call))) return false;
  if (!front.is_member(call, root)) return false;
  const bool at_root = call.rank == root;
  if (at_root && (recv == front.native.in_place || !add_in(front, call.in, call.size)))
    return false;
  if (!(at_root && send == front.native.in_place) &&
      (send == front.native.in_place ||
       !add_evenly(front, call.out, send, send_count, send_type, 1)))
    return false;
  const std::size_t bytes = even ? (at_root ? call.in : call.out).blocks()[0].bytes : 0;
  if (even && bytes == 0) return front.move_nothing(call);
  return move(front, call, root, bytes,
              stays(call, call.out, send, send_count, call.in, recv, place));
}

template <class H, class Add, class Place>
[[gnu::always_inline]] inline bool prepare_scatter(Front<H>& front, Call<H>& call, Add add_out,
                                                   const void* send, void* recv, Count recv_count,
                                                   H recv_type, int root, Place place) {
  const bool even = call.collective == Collective::scatter;
  if (!(even ? front.find_team(call) : front.find_listing_team(call))) return false;
  if (!front.is_member(call, root)) return false;
  const bool at_root = call.rank == root;
  if (at_root && (send == front.native.in_place || !add_out(front, call.out, call.size)))
    return false;
  if (!(at_root && recv == front.native.in_place) &&
      (recv == front.native.in_place ||
       !add_evenly(front, call.in, recv, recv_count, recv_type, 1)))
    return false;
  const std::size_t bytes = even ? (at_root ? call.out : call.in).blocks()[0].bytes : 0;
  if (even && bytes == 0) return front.move_nothing(call);
  return move(front, call, root, bytes,
              stays(call, call.in, recv, recv_count, call.out, send, place));
}

template <class H, class Add, class Place>
[[gnu::always_inline]] inline bool prepare_allgather(Front<H>& front, Call<H>& call,
                                                     const void* send, Count send_count,
                                                     H send_type, const void* recv, Add add_in,
                                                     Place place) {
  const bool even = call.collective == Collective::allgather;
  if (!front.find_team(call) || recv == front.native.in_place) return false;
  if (!add_in(front, call.in, call.size)) return false;
  const std::size_t bytes = even ? call.in.blocks()[0].bytes : call.in.bytes();
  if (send != front.native.in_place && !add_evenly(front, call.out, send, send_count, send_type, 1))
    return false;
  if (bytes == 0) return front.move_nothing(call);
  if (send != front.native.in_place)
    return move(front, call, 0, bytes,
                stays(call, call.out, send, send_count, call.in, recv, place));
  if (!settle_in_place(front, call)) return false;
  const auto me = static_cast<std::size_t>(call.rank);
  call.work = {.count = bytes, .out = call.in.blocks().subspan(me, 1), .in = call.in.blocks()};
  return true;
}

template <class H, class AddOut, class AddIn>
[[gnu::always_inline]] inline bool prepare_alltoall(Front<H>& front, Call<H>& call, AddOut add_out,
                                                    AddIn add_in, const void* send,
                                                    const void* recv) {
  const bool even = call.collective == Collective::alltoall;
  if (!(even ? front.find_team(call) : front.find_listing_team(call))) return false;
  if (recv == front.native.in_place || !add_in(front, call.in, call.size)) return false;
  const std::size_t bytes = even ? call.in.blocks()[0].bytes : 0;
  if (send != front.native.in_place && !add_out(front, call.out, call.size)) return false;
  if (even && bytes == 0) return front.move_nothing(call);
  if (send != front.native.in_place) return move(front, call, 0, bytes, call.alike && send == recv);
  if (!settle_in_place(front, call)) return false;
  if (call.size == 1) return true;  // and unpacks what it has packed
  call.work = {.count = bytes, .in_place = true, .out = call.in.blocks(), .in = call.in.blocks()};
  return true;
}

template <class H, class N, class D, class... Request>
int gather(const void* send, N send_count, Word send_type, void* recv, N recv_count, Word recv_type,
           int root, Word comm, Request... request) {
  const auto add_in = [&](Front<H>& front, CallBuffers<H>& in, int members) TUTTI_INLINE {
    return add_evenly(front, in, recv, recv_count, handle_from<H>(recv_type), members);
  };
  const auto place = [&](int rank) { return Count{rank} * recv_count; };
  const auto prepare = [&](Front<H>& front, Call<H>& call) TUTTI_INLINE {
    call.alike = are_same<H>(send_type, recv_type) && send_count == recv_count;
    return prepare_gather(front, call, send, send_count, handle_from<H>(send_type), recv, root,
                          add_in, place);
  };
  if (const int code = Front<H>::enter(Collective::gather, comm, prepare, request...); code != left)
    return code;
  return Front<H>::self().left_calls.template call_native<N, D, Request...>(
      &Forms<H, N, D, Request...>::gather, &Forms<H, int, int, Request...>::gather,
      handle_from<H>(comm), send, send_count, handle_from<H>(send_type), recv, recv_count,
      handle_from<H>(recv_type), root, handle_from<H>(comm), request...);
}

template <class H, class N, class D, class... Request>
int gatherv(const void* send, N send_count, Word send_type, void* recv, const N* counts,
            const D* displacements, Word recv_type, int root, Word comm, Request... request) {
  const auto add_in = [&](Front<H>& front, CallBuffers<H>& in, int members) TUTTI_INLINE {
    return add_listed(front, in, recv, counts, displacements, handle_from<H>(recv_type), members);
  };
  const auto place = [&](int rank) -> Count { return displacements[rank]; };
  const auto prepare = [&](Front<H>& front, Call<H>& call) TUTTI_INLINE {
    call.alike = are_same<H>(send_type, recv_type);
    return prepare_gather(front, call, send, send_count, handle_from<H>(send_type), recv, root,
                          add_in, place);
  };
  if (const int code = Front<H>::enter(Collective::gatherv, comm, prepare, request...);
      code != left)
    return code;
  const bool mine = Front<H>::self().left_calls.has_root_arguments(root, handle_from<H>(comm));
  return Front<H>::self().left_calls.template call_native<N, D, Request...>(
      &Forms<H, N, D, Request...>::gatherv, &Forms<H, int, int, Request...>::gatherv,
      handle_from<H>(comm), send, send_count, handle_from<H>(send_type), recv,
      mine ? counts : nullptr, mine ? displacements : nullptr, handle_from<H>(recv_type), root,
      handle_from<H>(comm), request...);
}

template <class H, class N, class D, class... Request>
int scatter(const void* send, N send_count, Word send_type, void* recv, N recv_count,
            Word recv_type, int root, Word comm, Request... request) {
  const auto add_out = [&](Front<H>& front, CallBuffers<H>& out, int members) TUTTI_INLINE {
    return add_evenly(front, out, send, send_count, handle_from<H>(send_type), members);
  };
  const auto place = [&](int rank) { return Count{rank} * send_count; };
  const auto prepare = [&](Front<H>& front, Call<H>& call) TUTTI_INLINE {
    call.alike = are_same<H>(send_type, recv_type) && send_count == recv_count;
    return prepare_scatter(front, call, add_out, send, recv, recv_count, handle_from<H>(recv_type),
                           root, place);
  };
  if (const int code = Front<H>::enter(Collective::scatter, comm, prepare, request...);
      code != left)
    return code;
  return Front<H>::self().left_calls.template call_native<N, D, Request...>(
      &Forms<H, N, D, Request...>::scatter, &Forms<H, int, int, Request...>::scatter,
      handle_from<H>(comm), send, send_count, handle_from<H>(send_type), recv, recv_count,
      handle_from<H>(recv_type), root, handle_from<H>(comm), request...);
}

template <class H, class N, class D, class... Request>
int scatterv(const void* send, const N* counts, const D* displacements, Word send_type, void* recv,
             N recv_count, Word recv_type, int root, Word comm, Request... request) {
  const auto add_out = [&](Front<H>& front, CallBuffers<H>& out, int members) TUTTI_INLINE {
    return add_listed(front, out, send, counts, displacements, handle_from<H>(send_type), members);
  };
  const auto place = [&](int rank) -> Count { return displacements[rank]; };
  const auto prepare = [&](Front<H>& front, Call<H>& call) TUTTI_INLINE {
    call.alike = are_same<H>(send_type, recv_type);
    return prepare_scatter(front, call, add_out, send, recv, recv_count, handle_from<H>(recv_type),
                           root, place);
  };
  if (const int code = Front<H>::enter(Collective::scatterv, comm, prepare, request...);
      code != left)
    return code;
  const bool mine = Front<H>::self().left_calls.has_root_arguments(root, handle_from<H>(comm));
  return Front<H>::self().left_calls.template call_native<N, D, Request...>(
      &Forms<H, N, D, Request...>::scatterv, &Forms<H, int, int, Request...>::scatterv,
      handle_from<H>(comm), send, mine ? counts : nullptr, mine ? displacements : nullptr,
      handle_from<H>(send_type), recv, recv_count, handle_from<H>(recv_type), root,
      handle_from<H>(comm), request...);
}

template <class H, class N, class D, class... Request>
int allgather(const void* send, N send_count, Word send_type, void* recv, N recv_count,
              Word recv_type, Word comm, Request... request) {
  const auto add_in = [&](Front<H>& front, CallBuffers<H>& in, int members) TUTTI_INLINE {
    return add_evenly(front, in, recv, recv_count, handle_from<H>(recv_type), members);
  };
  const auto place = [&](int rank) { return Count{rank} * recv_count; };
  const auto prepare = [&](Front<H>& front, Call<H>& call) TUTTI_INLINE {
    call.alike = are_same<H>(send_type, recv_type) && send_count == recv_count;
    return prepare_allgather(front, call, send, send_count, handle_from<H>(send_type), recv, add_in,
                             place);
  };
  if (const int code = Front<H>::enter(Collective::allgather, comm, prepare, request...);
      code != left)
    return code;
  return Front<H>::self().left_calls.template call_native<N, D, Request...>(
      &Forms<H, N, D, Request...>::allgather, &Forms<H, int, int, Request...>::allgather,
      handle_from<H>(comm), send, send_count, handle_from<H>(send_type), recv, recv_count,
      handle_from<H>(recv_type), handle_from<H>(comm), request...);
}

template <class H, class N, class D, class... Request>
int allgatherv(const void* send, N send_count, Word send_type, void* recv, const N* counts,
               const D* displacements, Word recv_type, Word comm, Request... request) {
  const auto add_in = [&](Front<H>& front, CallBuffers<H>& in, int members) TUTTI_INLINE {
    return add_listed(front, in, recv, counts, displacements, handle_from<H>(recv_type), members);
  };
  const auto place = [&](int rank) -> Count { return displacements[rank]; };
  const auto prepare = [&](Front<H>& front, Call<H>& call) TUTTI_INLINE {
    call.alike = are_same<H>(send_type, recv_type);
    return prepare_allgather(front, call, send, send_count, handle_from<H>(send_type), recv, add_in,
                             place);
  };
  if (const int code = Front<H>::enter(Collective::allgatherv, comm, prepare, request...);
      code != left)
    return code;
  return Front<H>::self().left_calls.template call_native<N, D, Request...>(
      &Forms<H, N, D, Request...>::allgatherv, &Forms<H, int, int, Request...>::allgatherv,
      handle_from<H>(comm), send, send_count, handle_from<H>(send_type), recv, counts,
      displacements, handle_from<H>(recv_type), handle_from<H>(comm), request...);
}

template <class H, class N, class D, class... Request>
int alltoall(const void* send, N send_count, Word send_type, void* recv, N recv_count,
             Word recv_type, Word comm, Request... request) {
  const auto add_out = [&](Front<H>& front, CallBuffers<H>& out, int members) TUTTI_INLINE {
    return add_evenly(front, out, send, send_count, handle_from<H>(send_type), members);
  };
  const auto add_in = [&](Front<H>& front, CallBuffers<H>& in, int members) TUTTI_INLINE {
    return add_evenly(front, in, recv, recv_count, handle_from<H>(recv_type), members);
  };
  const auto prepare = [&](Front<H>& front, Call<H>& call) TUTTI_INLINE {
    call.alike = are_same<H>(send_type, recv_type) && send_count == recv_count;
    return prepare_alltoall(front, call, add_out, add_in, send, recv);
  };
  if (const int code = Front<H>::enter(Collective::alltoall, comm, prepare, request...);
      code != left)
    return code;
  return Front<H>::self().left_calls.template call_native<N, D, Request...>(
      &Forms<H, N, D, Request...>::alltoall, &Forms<H, int, int, Request...>::alltoall,
      handle_from<H>(comm), send, send_count, handle_from<H>(send_type), recv, recv_count,
      handle_from<H>(recv_type), handle_from<H>(comm), request...);
}

template <class H, class N, class D, class... Request>
int alltoallv(const void* send, const N* send_counts, const D* send_displacements, Word send_type,
              void* recv, const N* recv_counts, const D* recv_displacements, Word recv_type,
              Word comm, Request... request) {
  const auto add_out = [&](Front<H>& front, CallBuffers<H>& out, int members) TUTTI_INLINE {
    return add_listed(front, out, send, send_counts, send_displacements, handle_from<H>(send_type),
                      members);
  };
  const auto add_in = [&](Front<H>& front, CallBuffers<H>& in, int members) TUTTI_INLINE {
    return add_listed(front, in, recv, recv_counts, recv_displacements, handle_from<H>(recv_type),
                      members);
  };
  const auto prepare = [&](Front<H>& front, Call<H>& call) TUTTI_INLINE {
    call.alike = are_same<H>(send_type, recv_type) && send_counts == recv_counts;
    return prepare_alltoall(front, call, add_out, add_in, send, recv);
  };
  if (const int code = Front<H>::enter(Collective::alltoallv, comm, prepare, request...);
      code != left)
    return code;
  const bool moves = send != Front<H>::self().native.in_place;
  return Front<H>::self().left_calls.template call_native<N, D, Request...>(
      &Forms<H, N, D, Request...>::alltoallv, &Forms<H, int, int, Request...>::alltoallv,
      handle_from<H>(comm), send, moves ? send_counts : nullptr,
      moves ? send_displacements : nullptr, handle_from<H>(send_type), recv, recv_counts,
      recv_displacements, handle_from<H>(recv_type), handle_from<H>(comm), request...);
}

template <class H, class N, class D, class... Request>
int alltoallw(const void* send, const N* send_counts, const D* send_displacements,
              const Word* send_types, void* recv, const N* recv_counts, const D* recv_displacements,
              const Word* recv_types, Word comm, Request... request) {
  // Arrays of handles are the MPI's own, whatever the size of a word.
  const auto* send_handles = reinterpret_cast<const H*>(send_types);
  const auto* recv_handles = reinterpret_cast<const H*>(recv_types);
  const auto add_out = [&](Front<H>& front, CallBuffers<H>& out, int members) TUTTI_INLINE {
    return add_typed(front, out, send, send_counts, send_displacements, send_handles, members);
  };
  const auto add_in = [&](Front<H>& front, CallBuffers<H>& in, int members) TUTTI_INLINE {
    return add_typed(front, in, recv, recv_counts, recv_displacements, recv_handles, members);
  };
  const auto prepare = [&](Front<H>& front, Call<H>& call) TUTTI_INLINE {
    call.alike = send_types == recv_types && send_counts == recv_counts;
    return prepare_alltoall(front, call, add_out, add_in, send, recv);
  };
  if (const int code = Front<H>::enter(Collective::alltoallw, comm, prepare, request...);
      code != left)
    return code;
  const bool moves = send != Front<H>::self().native.in_place;
  return Front<H>::self().left_calls.template call_native<N, D, Request...>(
      &Forms<H, N, D, Request...>::alltoallw, &Forms<H, int, int, Request...>::alltoallw,
      handle_from<H>(comm), send, moves ? send_counts : nullptr,
      moves ? send_displacements : nullptr, send_handles, recv, recv_counts, recv_displacements,
      recv_handles, handle_from<H>(comm), request...);
}

template <class H, class N, class D, class... Request>
void add_forms(Forms<Word, N, D, Request...>& forms) {
  forms.gather = gather<H, N, D, Request...>;
  forms.gatherv = gatherv<H, N, D, Request...>;
  forms.scatter = scatter<H, N, D, Request...>;
  forms.scatterv = scatterv<H, N, D, Request...>;
  forms.allgather = allgather<H, N, D, Request...>;
  forms.allgatherv = allgatherv<H, N, D, Request...>;
  forms.alltoall = alltoall<H, N, D, Request...>;
  forms.alltoallv = alltoallv<H, N, D, Request...>;
  forms.alltoallw = alltoallw<H, N, D, Request...>;
}

}  // namespace

template <class H>
void add_moves(Entries& entries) {
  add_forms<H, int, int>(entries);
  add_forms<H, Count, Aint>(entries.large);
  add_forms<H, int, int, void*>(entries.started);
  add_forms<H, Count, Aint, void*>(entries.large_started);
}

template void add_moves<int>(Entries&);
template void add_moves<void*>(Entries&);

}  // namespace tutti::mpi
