// SPDX-License-Identifier: BSD-3-Clause
// Front: Barrier, Bcast and the collectives that compute.
#pragma once

#include <utility>

#include "mpi/front.h"

namespace tutti::mpi {
namespace detail {

inline const reduce::Kernel* kernel_of(const DatatypeRow* type, const OpRow* op) {
  if (type == nullptr || op == nullptr || type->arithmetic == Arithmetic::none) return nullptr;
  using reduce::Op;
  const auto is = [op](Op a, Op b, Op c) { return op->op == a || op->op == b || op->op == c; };
  if (type->arithmetic == Arithmetic::bitwise && !is(Op::band, Op::bor, Op::bxor)) return nullptr;
  if (type->arithmetic == Arithmetic::logical && !is(Op::land, Op::lor, Op::lxor)) return nullptr;
  return reduce::find(op->op, type->type);
}

}  // namespace detail

template <class H>
int Front<H>::run(engine::Team& team, H comm, Collective collective, const coll::Work& work) {
  const engine::Trouble trouble = team.run(collective, work);
  if (trouble == engine::Trouble::none) [[likely]]
    return 0;
  const ErrorClasses classes = error_classes(library_.family);
  const int code = trouble == engine::Trouble::truncated ? classes.truncate : classes.other;
  native_.comm_call_errhandler(comm, code);
  return code;
}

template <class H>
int Front<H>::take_barrier(H comm) {
  engine::Team* team = team_for(Collective::barrier, comm);
  if (team == nullptr) return left;
  return run(*team, comm, Collective::barrier, {});
}

template <class H>
int Front<H>::take_bcast(void* buffer, Count count, H type, int root, H comm) {
  engine::Team* team = team_for(Collective::bcast, comm);
  if (team == nullptr || count <= 0 || root < 0 || root >= team->size()) return left;
  Described<H> element;
  if (!describe(type, element) || element.bytes == 0) return left;  // all see that alike
  Side<H> side(native_, comm, true);
  side.add(buffer, 0, count, element);
  side.settle(team->rank() == root);
  const coll::Block& block = side.blocks()[0];
  if (block.address == nullptr) return left;
  const int code = run(*team, comm, Collective::bcast,
                       {.recv = block.address, .count = block.bytes, .root = root});
  if (team->rank() != root) side.unpack();
  return code;
}

// The kernel for a reduction, with the size of its elements; without one the MPI computes.
template <class H>
bool Front<H>::plan(Collective collective, H type, H op, coll::Work& work) {
  const OpRow* operation = ops_.find(key(op));
  const DatatypeRow* row = types_.find(key(type));
  work.kernel = detail::kernel_of(row, operation);
  if (work.kernel == nullptr)
    return leave(collective, operation == nullptr ? "user-defined operation"
                             : row == nullptr     ? "derived datatype"
                                                  : "no kernel for this datatype") != nullptr;
  work.element_bytes = reduce::size_of(row->type);
  work.op = 1 + static_cast<int>(operation->op);
  return true;
}

template <class H>
int Front<H>::take_reduction(const void* send, void* recv, Count count, H type, H op, int root,
                             H comm) {
  const Collective collective = root == everyone ? Collective::allreduce : Collective::reduce;
  engine::Team* team = team_for(collective, comm);
  if (team == nullptr || count <= 0) return left;
  coll::Work work{.send = send, .count = static_cast<std::size_t>(count)};
  if (!plan(collective, type, op, work)) return left;
  const bool gets_result = root == everyone || root == team->rank();
  if (gets_result) work.recv = recv;
  if (send == in_place()) {
    if (!gets_result) return left;
    work.send = recv;
  }
  if (root != everyone) {
    if (root < 0 || root >= team->size()) return left;
    work.root = root;
  }
  if (work.send == nullptr || (gets_result && recv == nullptr)) return left;
  return run(*team, comm, collective, work);
}

template <class H>
template <class N>
int Front<H>::take_reduce_scatter(const void* send, void* recv, const N* counts, N count, H type,
                                  H op, H comm) {
  const Collective collective =
      counts != nullptr ? Collective::reduce_scatter : Collective::reduce_scatter_block;
  engine::Team* team = listing_team_for(collective, comm);
  if (team == nullptr) return left;
  thread_local std::vector<coll::Slice> parts;
  parts.clear();
  std::size_t all = 0;
  for (int i = 0; i < team->size(); ++i) {
    const N each = counts != nullptr ? counts[i] : count;
    if (each < 0) return left;
    parts.push_back({all, static_cast<std::size_t>(each)});
    all += static_cast<std::size_t>(each);
  }
  if (all == 0) return left;
  coll::Work work{.send = send, .recv = recv, .count = all, .parts = parts};
  if (!plan(collective, type, op, work)) return left;
  const bool mine = parts[static_cast<std::size_t>(team->rank())].count > 0;
  if ((mine && recv == nullptr) || (send == in_place() ? recv : send) == nullptr) return left;
  // In place the result would replace operands that others still read.
  Temporary copy;
  if (send == in_place()) {
    copy.reset(work.bytes());
    std::memcpy(copy.get(), recv, work.bytes());
    work.send = copy.get();
  }
  return run(*team, comm, collective, work);
}

template <class H>
int Front<H>::take_scan(Collective collective, const void* send, void* recv, Count count, H type,
                        H op, H comm) {
  engine::Team* team = team_for(collective, comm);
  if (team == nullptr || count <= 0) return left;
  coll::Work work{.send = send == in_place() ? recv : send,
                  .recv = recv,
                  .count = static_cast<std::size_t>(count)};
  if (!plan(collective, type, op, work)) return left;
  const bool gets_result = collective == Collective::scan || team->rank() > 0;
  if (work.send == nullptr || (gets_result && recv == nullptr)) return left;
  return run(*team, comm, collective, work);
}

template <class H>
int Front<H>::barrier(Word comm) {
  const int code = self_->take_barrier(handle(comm));
  return code != left ? code : self_->native_.barrier(handle(comm));
}

template <class H>
template <class N, class D>
int Front<H>::bcast(void* buffer, N count, Word type, int root, Word comm) {
  if (const int code = self_->take_bcast(buffer, count, handle(type), root, handle(comm));
      code != left)
    return code;
  return self_->template call_native<N, D>(&Forms<H, N, D>::bcast, &Forms<H, int, int>::bcast,
                                           handle(comm), buffer, count, handle(type), root,
                                           handle(comm));
}

template <class H>
template <class N, class D>
int Front<H>::reduce(const void* send, void* recv, N count, Word type, Word op, int root,
                     Word comm) {
  const bool rooted = root >= 0;  // MPI_ROOT and MPI_PROC_NULL are for intercommunicators
  if (const int code = rooted ? self_->take_reduction(send, recv, count, handle(type), handle(op),
                                                      root, handle(comm))
                              : left;
      code != left)
    return code;
  return self_->template call_native<N, D>(&Forms<H, N, D>::reduce, &Forms<H, int, int>::reduce,
                                           handle(comm), send, recv, count, handle(type),
                                           handle(op), root, handle(comm));
}

template <class H>
template <class N, class D>
int Front<H>::allreduce(const void* send, void* recv, N count, Word type, Word op, Word comm) {
  if (const int code = self_->take_reduction(send, recv, count, handle(type), handle(op), everyone,
                                             handle(comm));
      code != left)
    return code;
  return self_->template call_native<N, D>(&Forms<H, N, D>::allreduce,
                                           &Forms<H, int, int>::allreduce, handle(comm), send, recv,
                                           count, handle(type), handle(op), handle(comm));
}

template <class H>
template <class N, class D>
int Front<H>::reduce_scatter(const void* send, void* recv, const N* counts, Word type, Word op,
                             Word comm) {
  if (const int code = self_->take_reduce_scatter(send, recv, counts, N{0}, handle(type),
                                                  handle(op), handle(comm));
      code != left)
    return code;
  return self_->template call_native<N, D>(&Forms<H, N, D>::reduce_scatter,
                                           &Forms<H, int, int>::reduce_scatter, handle(comm), send,
                                           recv, counts, handle(type), handle(op), handle(comm));
}

template <class H>
template <class N, class D>
int Front<H>::reduce_scatter_block(const void* send, void* recv, N count, Word type, Word op,
                                   Word comm) {
  if (const int code = self_->template take_reduce_scatter<N>(
          send, recv, nullptr, count, handle(type), handle(op), handle(comm));
      code != left)
    return code;
  return self_->template call_native<N, D>(
      &Forms<H, N, D>::reduce_scatter_block, &Forms<H, int, int>::reduce_scatter_block,
      handle(comm), send, recv, count, handle(type), handle(op), handle(comm));
}

template <class H>
template <class N, class D>
int Front<H>::scan(const void* send, void* recv, N count, Word type, Word op, Word comm) {
  if (const int code = self_->take_scan(Collective::scan, send, recv, count, handle(type),
                                        handle(op), handle(comm));
      code != left)
    return code;
  return self_->template call_native<N, D>(&Forms<H, N, D>::scan, &Forms<H, int, int>::scan,
                                           handle(comm), send, recv, count, handle(type),
                                           handle(op), handle(comm));
}

template <class H>
template <class N, class D>
int Front<H>::exscan(const void* send, void* recv, N count, Word type, Word op, Word comm) {
  if (const int code = self_->take_scan(Collective::exscan, send, recv, count, handle(type),
                                        handle(op), handle(comm));
      code != left)
    return code;
  return self_->template call_native<N, D>(&Forms<H, N, D>::exscan, &Forms<H, int, int>::exscan,
                                           handle(comm), send, recv, count, handle(type),
                                           handle(op), handle(comm));
}

}  // namespace tutti::mpi
