// SPDX-License-Identifier: BSD-3-Clause
// Front: Barrier, Bcast and the collectives that compute.
#pragma once

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
  call.unpack();
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

// An operation of the user, which this thread computes. What is none, the MPI says.
template <class H>
bool Front<H>::make_user_plan(Call<H>& call, H type, H op) {
  if (!call.blocking() && call.team != nullptr)
    return leave(call, "user-defined operation, nonblocking");
  H& last = recent().operation;
  if (last != op || op == H{}) {
    int commutes = 0;
    for (const std::uint64_t none : no_operations_)
      if (key(op) == none) return leave(call, "no operation of a reduction");
    if (native_.op_commutative(op, &commutes) != 0) return leave(call, "no operation");
    last = op;
  }
  Described<H> element;
  if (!describe(type, element) || element.bytes == 0) return false;
  const bool solid =
      element.layout == nullptr || (element.layout->dense() && element.layout->first() == 0);
  if (!solid || element.opaque || element.extent != static_cast<Aint>(element.bytes) ||
      element.bytes > UserOperation<H>::most_element_bytes)
    return leave(call, "user-defined operation on elements with gaps, or large ones");
  UserOperation<H>::set({native_.reduce_local, type, op, element.bytes});
  call.work.kernel = &UserOperation<H>::kernel();
  call.work.element_bytes = element.bytes;
  call.work.op = coll::user_op;
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
  if (call.work.send == nullptr || (gets_result && recv == nullptr)) return false;
  return !devices::present() || stage_operands(call, call.work.bytes(), call.work.bytes());
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
  if ((mine && recv == nullptr) || (send == in_place() ? recv : send) == nullptr) return false;
  if (!may_receive(call, send, recv)) return false;
  if (send == in_place()) work.send = recv;
  if (devices::present()) [[unlikely]] {
    if (!stage_operands(call, work.bytes(), work.parts[me].count * work.element_bytes))
      return false;
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
  if (call.work.send == nullptr || (gets_result && recv == nullptr)) return false;
  return !devices::present() || stage_operands(call, call.work.bytes(), call.work.bytes());
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
