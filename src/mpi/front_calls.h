// SPDX-License-Identifier: BSD-3-Clause
// Front: Barrier, Bcast and the collectives that compute.
#pragma once

#include <algorithm>
#include <utility>

#include "mpi/front.h"
#include "mpi/user_operation.h"

namespace tutti::mpi {
namespace detail {

// nullptr: MPI does not define the operation on the type, or there is no kernel.
inline const reduce::Kernel* kernel_of(const Known& type, const OpRow& op) {
  using reduce::Op;
  const auto is = [&op](Op a, Op b, Op c) { return op.op == a || op.op == b || op.op == c; };
  const bool logical = is(Op::land, Op::lor, Op::lxor), bitwise = is(Op::band, Op::bor, Op::bxor);
  switch (type.arithmetic) {
    case Arithmetic::none:
      return nullptr;
    case Arithmetic::numbers:
      if (logical) return nullptr;
      break;
    case Arithmetic::bitwise:
      if (!bitwise) return nullptr;
      break;
    case Arithmetic::logical:
      if (!logical) return nullptr;
      break;
    case Arithmetic::full:
      break;
  }
  return reduce::find(op.op, type.type);
}

// Larger elements fit no slot, in which a Reduce_scatter has one of each member's part.
template <class H>
std::size_t most_element_bytes(const Call<H>& call) {
  const bool in_parts = call.collective == coll::Collective::reduce_scatter ||
                        call.collective == coll::Collective::reduce_scatter_block;
  const std::size_t parts = in_parts ? static_cast<std::size_t>(call.size) : 1;
  return std::min(coll::most_slot_element_bytes, segment::staging_bytes / parts);
}

}  // namespace detail

// `prepare` fills in the call. What is returned is what MPI_X returns, or `left`.
template <class H>
template <class Prepare>
[[gnu::always_inline]] inline int Front<H>::enter(H comm, Prepare prepare) {
  Call<H> call(native_, comm);
  if (!prepare(call)) return left;
  if (call.at_once) [[unlikely]]
    return answer(call);
  const engine::Trouble trouble = call.team->run(call.collective, call.work);
  if (trouble != engine::Trouble::none) [[unlikely]]
    return fail(call, trouble);
  call.conclude(call.work);
  fabric::Upkeep::after_call(call.team->calls());
  return 0;
}

template <class H>
int Front<H>::fail(const Call<H>& call, engine::Trouble trouble) {
  const bool was_revoked = trouble == engine::Trouble::told && call.team->revoked();
  if (was_revoked || trouble == engine::Trouble::left) {
    (void)leave(call, was_revoked ? revoked : "an earlier call on the communicator failed");
    return left;
  }
  const int code = code_of(trouble);
  native_.comm_call_errhandler(call.site.comm, code);
  return code;
}

template <class H>
bool Front<H>::take_barrier(Call<H>& call) {
  return find_team(call, Collective::barrier);
}

template <class H>
bool Front<H>::take_bcast(Call<H>& call, void* buffer, Count count, H type, int root) {
  if (!find_team(call, Collective::bcast) || count < 0 || !is_member(call, root)) return false;
  Described<H> element;
  if (!describe(type, element)) return false;
  if (count == 0 || element.bytes == 0) return move_nothing(call);  // all see that alike
  if (element.layout == nullptr && !element.opaque && !devices::present()) [[likely]] {
    call.work.recv = buffer;
    call.work.count = static_cast<std::size_t>(count) * element.bytes;
    call.work.root = root;
    return buffer != nullptr;
  }
  return take_odd_bcast(call, buffer, count, element, root);
}

// Of elements that are not bytes in a row, or where memory may be a device's.
template <class H>
[[gnu::noinline]] bool Front<H>::take_odd_bcast(Call<H>& call, void* buffer, Count count,
                                                const Described<H>& element, int root) {
  const bool with_devices = devices::present();
  const bool sends = call.rank == root;
  Side<H>& side = sends ? call.out : call.in;
  side.flatten();
  side.add(buffer, 0, count, element);
  if (with_devices) {
    call.work.root = root;
    if (!serves(call, side.is_on_device())) return false;
  }
  side.settle(sends, with_devices);
  const coll::Block& block = side.blocks()[0];
  call.work = {.recv = block.address, .count = block.bytes, .root = root};
  return block.address != nullptr;
}

// False: to receive there is an error that the MPI tells.
template <class H>
[[gnu::always_inline]] inline bool Front<H>::may_receive(const Call<H>& call, const void* send,
                                                         const void* recv) {
  if (send != recv && recv != in_place()) [[likely]]
    return true;
  return recv != in_place() && !refuses_alias(call.collective, call.work.count == 1);
}

// The kernel for a reduction, with the size of its elements; without one the MPI computes.
template <class H>
bool Front<H>::plan(Call<H>& call, H type, H op) {
  auto& last = recent().plan;
  if (last.kernel == nullptr || last.type != type || last.op != op) [[unlikely]]
    return make_plan(call, type, op);
  call.work.kernel = last.kernel;
  call.work.element_bytes = last.element_bytes;
  call.work.op = last.work_op;
  return true;
}

template <class H>
bool Front<H>::make_plan(Call<H>& call, H type, H op) {
  const OpRow* operation = ops_.find(key(op));
  if (operation == nullptr) return make_user_plan(call, type, op);
  PredefinedTypes<H>& predefined = layouts_.predefined();
  auto* slot = predefined.slot_of(type);
  if (slot == nullptr) return leave(call, "derived datatype");
  const Known& known = predefined.known(*slot, type);
  const reduce::Kernel* kernel = detail::kernel_of(known, *operation);
  call.work.element_bytes = reduce::size_of(known.type);
  const bool whole = known.sort == Known::Sort::dense && reduce::is_integer(known.type);
  if (kernel == nullptr && whole && call.team != nullptr && predefined.is_final(*slot)) {
    kernel = kernel_as_computed(call.site.comm, type, op, operation->op, known.bytes);
    call.work.element_bytes = known.bytes;
  }
  if (kernel == nullptr) return leave(call, "no kernel for this datatype");
  call.work.kernel = kernel;
  call.work.op = 1 + static_cast<int>(operation->op);
  if (predefined.is_final(*slot))
    recent().plan = {type, op, kernel, call.work.element_bytes, call.work.op};
  return true;
}

// Whether it is one of the user's; else the MPI says the error.
template <class H>
bool Front<H>::find_user_operation(Call<H>& call, H op) {
  H& last = recent().operation;
  if (last == op && op != H{}) return true;
  int commutes = 0;
  for (const std::uint64_t none : no_operations_)
    if (key(op) == none) return leave(call, "no operation of a reduction");
  if (native_.op_commutative(op, &commutes) != 0) return leave(call, "no operation");
  last = op;
  return true;
}

// How elements with gaps lie. False: the MPI does not say.
template <class H>
bool Front<H>::spread_of(Call<H>& call, const Described<H>& element, Spread<H>& spread) {
  Count first = 0, span = 0, lower = 0, extent = 0;
  if (native_.type_get_true_extent_x(element.type, &first, &span) != 0) return false;
  if (native_.type_get_extent_x(element.type, &lower, &extent) != 0) return false;
  // A function may copy whole elements, with what they begin and end with. But bounds may be
  // anything: those apart from the data are none of a structure's.
  if (lower < first + span && first < lower + extent) {
    const Count end = std::max(first + span, lower + extent);
    first = std::min(first, lower);
    span = end - first;
  }
  const Site<H>& site = call.site;
  spread = {&native_,
            element.layout,
            element.type,
            site.keeper != nullptr && element.opaque ? site.keeper->packs_on(site.comm) : site.comm,
            element.bytes,
            element.extent,
            first,
            span};
  return true;
}

// An operation of the user, which this rank's threads compute: in a blocking call this one, else
// whichever completes the request.
template <class H>
bool Front<H>::make_user_plan(Call<H>& call, H type, H op) {
  if (!find_user_operation(call, op)) return false;
  Described<H> element;
  if (!describe(type, element) || element.bytes == 0) return false;
  const bool solid =
      element.layout == nullptr || (element.layout->dense() && element.layout->first() == 0);
  const bool gapped =
      !solid || element.opaque || element.extent != static_cast<Aint>(element.bytes);
  const bool late = !call.blocking() || element.bytes > detail::most_element_bytes(call);
  Spread<H> spread;
  if (late || gapped) call.reduction = std::make_unique<Reduction<H>>(type, op);
  if (gapped) {
    if (!call.blocking()) call.site.keeper->keep(element);
    if (!spread_of(call, element, spread)) return false;
    call.reduction->element = element;
    call.reduction->gapped = true;
  }
  const UserOperation<H> operation(native_, type, op, element.bytes, gapped ? &spread : nullptr);
  if (late) {
    call.reduction->operation = operation;
    call.work.operands = &call.reduction->operands;
  }
  if (call.blocking()) UserOperation<H>::set(operation);
  call.work.kernel = &UserOperation<H>::kernel();
  call.work.element_bytes = element.bytes;
  call.work.op = coll::user_op;
  return true;
}

// Whether a buffer may be there: where elements lie elsewhere, at MPI_BOTTOM, too.
template <class H>
bool Front<H>::lies_at(const Call<H>& call, const void* buffer) {
  if (buffer != nullptr) [[likely]]
    return true;
  if (call.reduction == nullptr || !call.reduction->gapped) return false;
  const layout::Layout* layout = call.reduction->element.layout;
  return layout == nullptr || layout->first() != 0;
}

// Operands, and the place of the result, that others can read and write. 0: of no such.
template <class H>
[[gnu::always_inline]] inline bool Front<H>::place_operands(Call<H>& call, std::size_t send_count,
                                                            std::size_t recv_count) {
  if (call.reduction != nullptr && call.reduction->gapped) [[unlikely]]
    return pack_operands(call, send_count, recv_count);
  const std::size_t element = call.work.element_bytes;
  return !devices::present() || stage_operands(call, send_count * element, recv_count * element);
}

// Elements with gaps travel packed. What lies between those of the result stays as it is.
template <class H>
[[gnu::noinline]] bool Front<H>::pack_operands(Call<H>& call, std::size_t send_count,
                                               std::size_t recv_count) {
  coll::Work& work = call.work;
  const Described<H>& element = call.reduction->element;
  const bool with_devices = devices::present();
  const bool in_place = work.send == work.recv && recv_count == send_count;
  call.out.flatten();
  call.in.flatten();
  if (!in_place) call.out.add(work.send, 0, static_cast<Count>(send_count), element);
  if (recv_count > 0) call.in.add(work.recv, 0, static_cast<Count>(recv_count), element);
  if (with_devices && !serves(call, call.out.is_on_device() || call.in.is_on_device()))
    return false;
  call.out.settle(true, with_devices);
  call.in.settle(in_place, with_devices);
  work.recv = recv_count > 0 ? call.in.blocks()[0].address : nullptr;
  work.send = in_place ? work.recv : call.out.blocks()[0].address;
  return true;
}

template <class H>
bool Front<H>::take_reduction(Call<H>& call, const void* send, void* recv, Count count, H type,
                              H op, int root) {
  const bool all = root == everyone;
  if (!find_team(call, all ? Collective::allreduce : Collective::reduce) || count < 0) return false;
  call.work.send = send;
  call.work.count = static_cast<std::size_t>(count);
  if (!plan(call, type, op)) return false;
  if (!all && !is_member(call, root)) return false;
  if (count == 0) return move_nothing(call);
  const bool gets_result = all || root == call.rank;
  if (gets_result) {
    if (!may_receive(call, send, recv)) [[unlikely]]
      return false;
    call.work.recv = recv;
  }
  if (send == in_place()) {
    if (!gets_result) return false;
    call.work.send = recv;
  }
  if (!all) call.work.root = root;
  if (!lies_at(call, call.work.send) || (gets_result && !lies_at(call, recv))) return false;
  return place_operands(call, call.work.count, gets_result ? call.work.count : 0);
}

template <class H>
template <class N>
bool Front<H>::take_reduce_scatter(Call<H>& call, const void* send, void* recv, const N* counts,
                                   N count, H type, H op) {
  if (!find_listing_team(
          call, counts != nullptr ? Collective::reduce_scatter : Collective::reduce_scatter_block))
    return false;
  std::size_t all = 0;
  for (int i = 0; i < call.size; ++i) {
    const N each = counts != nullptr ? counts[i] : count;
    if (each < 0) return false;
    call.parts.push_back({all, static_cast<std::size_t>(each)});
    all += static_cast<std::size_t>(each);
  }
  coll::Work& work = call.work;
  work = {.send = send, .recv = recv, .count = all, .parts = call.parts.all()};
  if (!plan(call, type, op)) return false;
  if (all == 0) return move_nothing(call);
  const auto me = static_cast<std::size_t>(call.rank);
  const bool mine = work.parts[me].count > 0;
  if ((mine && !lies_at(call, recv)) || !lies_at(call, send == in_place() ? recv : send))
    return false;
  if (!may_receive(call, send, recv)) return false;
  if (send == in_place()) work.send = recv;
  const bool replaces = work.send == recv;  // some MPIs allow that without MPI_IN_PLACE
  if (!place_operands(call, work.count, work.parts[me].count)) return false;
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

// Where a device runtime is loaded: whether Tutti serves a call in which buffers of this rank are a
// device's, or not. Where all members know of a runtime they agree, and leave a blocking call
// of which any buffer is a device's to the MPI. Otherwise nobody may leave: the others cannot know.
template <class H>
bool Front<H>::serves(Call<H>& call, bool on_device) {
  if (call.team == nullptr) return !on_device || leave(call, on_a_device);
  if (!call.blocking() || !call.team->has_devices()) return true;
  if (!call.team->any(call.collective, call.work, on_device)) return true;
  return leave(call, on_a_device);
}

// The operands, and the place of the result, in memory of the host. In place they are the same.
template <class H>
bool Front<H>::stage_operands(Call<H>& call, std::size_t send_bytes, std::size_t recv_bytes) {
  coll::Work& work = call.work;
  const bool in_place = work.send == work.recv;
  const bool on_device = devices::owns(work.send) || (recv_bytes > 0 && devices::owns(work.recv));
  if (!serves(call, on_device)) return false;
  if (!on_device) return true;
  if (!in_place) work.send = call.out.stage(const_cast<void*>(work.send), send_bytes, true);
  if (work.recv == nullptr) return true;
  work.recv = call.in.stage(work.recv, in_place ? send_bytes : recv_bytes, in_place);
  if (in_place) work.send = work.recv;
  return true;
}

template <class H>
bool Front<H>::take_scan(Call<H>& call, Collective collective, const void* send, void* recv,
                         Count count, H type, H op) {
  if (!find_team(call, collective) || count < 0) return false;
  call.work.send = send == in_place() ? recv : send;
  call.work.recv = recv;
  call.work.count = static_cast<std::size_t>(count);
  if (!plan(call, type, op)) return false;
  if (count == 0) return move_nothing(call);
  if (!may_receive(call, send, recv)) return false;
  const bool gets_result = collective == Collective::scan || call.rank > 0;
  if (!lies_at(call, call.work.send) || (gets_result && !lies_at(call, recv))) return false;
  return place_operands(call, call.work.count, gets_result ? call.work.count : 0);
}

template <class H>
int Front<H>::barrier(Word comm) {
  const int code =
      self_->enter(handle(comm), [](Call<H>& call) { return self_->take_barrier(call); });
  return code != left ? code : self_->native_.barrier(handle(comm));
}

template <class H>
int Front<H>::ibarrier(Word comm, void* request) {
  const int code = self_->enter(
      handle(comm), [](Call<H>& call) { return self_->take_barrier(call); }, request);
  return code != left ? code : self_->native_.ibarrier(handle(comm), request);
}

template <class H>
template <class N, class D, class... Request>
int Front<H>::bcast(void* buffer, N count, Word type, int root, Word comm, Request... request) {
  const auto prepare = [&](Call<H>& call) TUTTI_INLINE {
    return self_->take_bcast(call, buffer, count, handle(type), root);
  };
  if (const int code = self_->enter(handle(comm), prepare, request...); code != left) return code;
  return self_->template call_native<N, D, Request...>(
      &Forms<H, N, D, Request...>::bcast, &Forms<H, int, int, Request...>::bcast, handle(comm),
      buffer, count, handle(type), root, handle(comm), request...);
}

template <class H>
template <class N, class D, class... Request>
int Front<H>::reduce(const void* send, void* recv, N count, Word type, Word op, int root, Word comm,
                     Request... request) {
  const auto prepare = [&](Call<H>& call) TUTTI_INLINE {
    return root >= 0 &&  // MPI_ROOT and MPI_PROC_NULL are for intercommunicators
           self_->take_reduction(call, send, recv, count, handle(type), handle(op), root);
  };
  if (const int code = self_->enter(handle(comm), prepare, request...); code != left) return code;
  return self_->template call_native<N, D, Request...>(
      &Forms<H, N, D, Request...>::reduce, &Forms<H, int, int, Request...>::reduce, handle(comm),
      send, recv, count, handle(type), handle(op), root, handle(comm), request...);
}

template <class H>
template <class N, class D, class... Request>
int Front<H>::allreduce(const void* send, void* recv, N count, Word type, Word op, Word comm,
                        Request... request) {
  const auto prepare = [&](Call<H>& call) TUTTI_INLINE {
    return self_->take_reduction(call, send, recv, count, handle(type), handle(op), everyone);
  };
  if (const int code = self_->enter(handle(comm), prepare, request...); code != left) return code;
  return self_->template call_native<N, D, Request...>(
      &Forms<H, N, D, Request...>::allreduce, &Forms<H, int, int, Request...>::allreduce,
      handle(comm), send, recv, count, handle(type), handle(op), handle(comm), request...);
}

template <class H>
template <class N, class D, class... Request>
int Front<H>::reduce_scatter(const void* send, void* recv, const N* counts, Word type, Word op,
                             Word comm, Request... request) {
  const auto prepare = [&](Call<H>& call) TUTTI_INLINE {
    return self_->take_reduce_scatter(call, send, recv, counts, N{0}, handle(type), handle(op));
  };
  if (const int code = self_->enter(handle(comm), prepare, request...); code != left) return code;
  return self_->template call_native<N, D, Request...>(
      &Forms<H, N, D, Request...>::reduce_scatter, &Forms<H, int, int, Request...>::reduce_scatter,
      handle(comm), send, recv, counts, handle(type), handle(op), handle(comm), request...);
}

template <class H>
template <class N, class D, class... Request>
int Front<H>::reduce_scatter_block(const void* send, void* recv, N count, Word type, Word op,
                                   Word comm, Request... request) {
  const auto prepare = [&](Call<H>& call) TUTTI_INLINE {
    return self_->template take_reduce_scatter<N>(call, send, recv, nullptr, count, handle(type),
                                                  handle(op));
  };
  if (const int code = self_->enter(handle(comm), prepare, request...); code != left) return code;
  return self_->template call_native<N, D, Request...>(
      &Forms<H, N, D, Request...>::reduce_scatter_block,
      &Forms<H, int, int, Request...>::reduce_scatter_block, handle(comm), send, recv, count,
      handle(type), handle(op), handle(comm), request...);
}

template <class H>
template <class N, class D, class... Request>
int Front<H>::scan(const void* send, void* recv, N count, Word type, Word op, Word comm,
                   Request... request) {
  const auto prepare = [&](Call<H>& call) TUTTI_INLINE {
    return self_->take_scan(call, Collective::scan, send, recv, count, handle(type), handle(op));
  };
  if (const int code = self_->enter(handle(comm), prepare, request...); code != left) return code;
  return self_->template call_native<N, D, Request...>(
      &Forms<H, N, D, Request...>::scan, &Forms<H, int, int, Request...>::scan, handle(comm), send,
      recv, count, handle(type), handle(op), handle(comm), request...);
}

template <class H>
template <class N, class D, class... Request>
int Front<H>::exscan(const void* send, void* recv, N count, Word type, Word op, Word comm,
                     Request... request) {
  const auto prepare = [&](Call<H>& call) TUTTI_INLINE {
    return self_->take_scan(call, Collective::exscan, send, recv, count, handle(type), handle(op));
  };
  if (const int code = self_->enter(handle(comm), prepare, request...); code != left) return code;
  return self_->template call_native<N, D, Request...>(
      &Forms<H, N, D, Request...>::exscan, &Forms<H, int, int, Request...>::exscan, handle(comm),
      send, recv, count, handle(type), handle(op), handle(comm), request...);
}

}  // namespace tutti::mpi
