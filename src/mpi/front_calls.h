// SPDX-License-Identifier: BSD-3-Clause
// Front: the collectives.
#pragma once

#include <cstdlib>
#include <utility>

#include "mpi/front.h"
#include "mpi/packing.h"

namespace tutti::mpi {
namespace detail {

// A temporary for packed data.
class Temporary {
 public:
  explicit Temporary(std::size_t bytes) : memory_(static_cast<std::byte*>(std::malloc(bytes))) {
    if (memory_ != nullptr) return;
    log::fatal("out of memory: %zu bytes to pack a derived datatype", bytes);
    std::abort();
  }
  ~Temporary() { std::free(memory_); }
  Temporary(const Temporary&) = delete;
  Temporary& operator=(const Temporary&) = delete;
  [[nodiscard]] std::byte* get() const { return memory_; }

 private:
  std::byte* memory_;
};

// Whether elements lie without gaps, as MPI_Type_size counts them.
inline bool dense(const DatatypeRow& row) {
  return row.arithmetic == Arithmetic::none || row.bytes == reduce::size_of(row.type);
}

inline const reduce::Kernel* kernel_of(const DatatypeRow* type, const OpRow* op) {
  if (type == nullptr || op == nullptr || type->arithmetic == Arithmetic::none) return nullptr;
  using reduce::Op;
  if (type->arithmetic == Arithmetic::bitwise && op->op != Op::band && op->op != Op::bor &&
      op->op != Op::bxor)
    return nullptr;
  return reduce::find(op->op, type->type);
}

}  // namespace detail

template <class H>
bool Front<H>::take_barrier(H comm) {
  engine::Team* team = team_for(Collective::barrier, comm);
  if (team == nullptr) return false;
  team->run(Collective::barrier, {});
  return true;
}

template <class H>
bool Front<H>::take_bcast(void* buffer, Count count, H type, int root, H comm) {
  engine::Team* team = team_for(Collective::bcast, comm);
  if (team == nullptr || count <= 0 || root < 0 || root >= team->size()) return false;
  const DatatypeRow* row = types_.find(key(type));
  // Members may describe the same data differently, so those with a derived type must come along.
  if (row == nullptr || !detail::dense(*row))
    return take_packed_bcast(*team, buffer, count, type, root, comm);
  if (buffer == nullptr) return false;
  team->run(Collective::bcast,
            {.recv = buffer, .count = static_cast<std::size_t>(count) * row->bytes, .root = root});
  return true;
}

template <class H>
bool Front<H>::take_packed_bcast(engine::Team& team, void* buffer, Count count, H type, int root,
                                 H comm) {
  int size = 0;
  Aint lower_bound = 0, extent = 0;
  if (native_.type_size(type, &size) != 0 || size < 0) return false;
  if (size == 0) return false;  // nobody has data to send: all see that alike
  if (native_.type_get_extent(type, &lower_bound, &extent) != 0) return false;
  const std::size_t bytes = static_cast<std::size_t>(count) * static_cast<std::size_t>(size);
  const detail::Temporary packed(bytes);
  // The MPI's own packing, in pieces whose sizes fit its int.
  const auto each = std::max<Count>(1, (1 << 30) / size);
  const auto for_pieces = [&](auto body) {
    for (Count done = 0; done < count; done += each) {
      const int piece = static_cast<int>(std::min(each, count - done));
      body(static_cast<std::byte*>(buffer) + done * extent, piece,
           packed.get() + static_cast<std::size_t>(done) * static_cast<std::size_t>(size),
           piece * size);
    }
  };
  if (team.rank() == root)
    for_pieces([&](std::byte* user, int piece, std::byte* raw, int raw_bytes) {
      Packable<H>(native_, user, piece, type, raw).pack(raw, raw_bytes, comm);
    });
  team.run(Collective::bcast, {.recv = packed.get(), .count = bytes, .root = root});
  if (team.rank() != root)
    for_pieces([&](std::byte* user, int piece, std::byte* raw, int raw_bytes) {
      Packable<H>(native_, user, piece, type, raw).unpack(raw, raw_bytes, comm);
    });
  return true;
}

template <class H>
bool Front<H>::take_reduction(const void* send, void* recv, Count count, H type, H op, int root,
                              H comm) {
  const Collective collective = root == everyone ? Collective::allreduce : Collective::reduce;
  engine::Team* team = team_for(collective, comm);
  if (team == nullptr || count <= 0) return false;
  const OpRow* operation = ops_.find(key(op));
  const DatatypeRow* row = types_.find(key(type));
  const reduce::Kernel* kernel = detail::kernel_of(row, operation);
  if (kernel == nullptr)
    return leave(collective, operation == nullptr ? "user-defined operation"
                             : row == nullptr     ? "derived datatype"
                                                  : "no kernel for this datatype") != nullptr;
  coll::Work work{.send = send,
                  .count = static_cast<std::size_t>(count),
                  .element_bytes = reduce::size_of(row->type),
                  .kernel = kernel};
  const bool gets_result = root == everyone || root == team->rank();
  if (gets_result) work.recv = recv;
  if (send == in_place()) {
    if (!gets_result) return false;
    work.send = recv;
  }
  if (root != everyone) {
    if (root < 0 || root >= team->size()) return false;
    work.root = root;
  }
  if (work.send == nullptr || (gets_result && recv == nullptr)) return false;
  team->run(collective, work);
  return true;
}

template <class H>
template <class Body>
int Front<H>::in_pieces(Count count, H type, Body body) {
  if (count <= INT_MAX) return body(0, static_cast<int>(count));
  Aint lower_bound = 0, extent = 0;
  if (const int result = native_.type_get_extent(type, &lower_bound, &extent)) return result;
  constexpr Count each = 1 << 30;
  for (Count done = 0; done < count; done += each)
    if (const int result = body(done * extent, static_cast<int>(std::min(each, count - done))))
      return result;
  return 0;
}

template <class H>
int Front<H>::barrier(Word comm) {
  return self_->take_barrier(handle(comm)) ? 0 : self_->native_.barrier(handle(comm));
}

template <class H>
int Front<H>::bcast(void* buffer, int count, Word type, int root, Word comm) {
  if (self_->take_bcast(buffer, count, handle(type), root, handle(comm))) return 0;
  return self_->native_.bcast(buffer, count, handle(type), root, handle(comm));
}

template <class H>
int Front<H>::bcast_c(void* buffer, Count count, Word type, int root, Word comm) {
  const Native<H>& native = self_->native_;
  if (self_->take_bcast(buffer, count, handle(type), root, handle(comm))) return 0;
  if (native.bcast_c != nullptr)
    return native.bcast_c(buffer, count, handle(type), root, handle(comm));
  return self_->in_pieces(count, handle(type), [&](Aint offset, int piece) {
    return native.bcast(static_cast<std::byte*>(buffer) + offset, piece, handle(type), root,
                        handle(comm));
  });
}

template <class H>
int Front<H>::reduce(const void* send, void* recv, int count, Word type, Word op, int root,
                     Word comm) {
  const bool rooted = root >= 0;  // MPI_ROOT and MPI_PROC_NULL are for intercommunicators
  if (rooted &&
      self_->take_reduction(send, recv, count, handle(type), handle(op), root, handle(comm)))
    return 0;
  return self_->native_.reduce(send, recv, count, handle(type), handle(op), root, handle(comm));
}

template <class H>
int Front<H>::reduce_c(const void* send, void* recv, Count count, Word type, Word op, int root,
                       Word comm) {
  const Native<H>& native = self_->native_;
  const bool rooted = root >= 0;
  if (rooted &&
      self_->take_reduction(send, recv, count, handle(type), handle(op), root, handle(comm)))
    return 0;
  if (native.reduce_c != nullptr)
    return native.reduce_c(send, recv, count, handle(type), handle(op), root, handle(comm));
  return self_->in_pieces(count, handle(type), [&](Aint offset, int piece) {
    const bool moves = send != self_->in_place();
    return native.reduce(moves ? static_cast<const std::byte*>(send) + offset : send,
                         static_cast<std::byte*>(recv) + offset, piece, handle(type), handle(op),
                         root, handle(comm));
  });
}

template <class H>
int Front<H>::allreduce(const void* send, void* recv, int count, Word type, Word op, Word comm) {
  if (self_->take_reduction(send, recv, count, handle(type), handle(op), everyone, handle(comm)))
    return 0;
  return self_->native_.allreduce(send, recv, count, handle(type), handle(op), handle(comm));
}

template <class H>
int Front<H>::allreduce_c(const void* send, void* recv, Count count, Word type, Word op,
                          Word comm) {
  const Native<H>& native = self_->native_;
  if (self_->take_reduction(send, recv, count, handle(type), handle(op), everyone, handle(comm)))
    return 0;
  if (native.allreduce_c != nullptr)
    return native.allreduce_c(send, recv, count, handle(type), handle(op), handle(comm));
  return self_->in_pieces(count, handle(type), [&](Aint offset, int piece) {
    const bool moves = send != self_->in_place();
    return native.allreduce(moves ? static_cast<const std::byte*>(send) + offset : send,
                            static_cast<std::byte*>(recv) + offset, piece, handle(type), handle(op),
                            handle(comm));
  });
}

}  // namespace tutti::mpi
