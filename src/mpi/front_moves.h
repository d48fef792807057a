// SPDX-License-Identifier: BSD-3-Clause
// Front: the collectives that only move data.
#pragma once

#include "mpi/front.h"

namespace tutti::mpi {

// Blocks of `count` elements one after the other, one for each of `members`.
template <class H>
bool Front<H>::add_evenly(Side<H>& side, const void* base, Count count, H type, int members) {
  Described<H> element;
  if (count < 0 || !describe(type, element)) return false;
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

template <class H>
int Front<H>::move(engine::Team& team, H comm, Collective collective, Side<H>& out, Side<H>& in,
                   int root, std::size_t bytes) {
  out.settle(true);
  in.settle(out.blocks().empty());  // in place, what is received leaves the own block as it was
  const int code = run(team, comm, collective,
                       {.count = bytes, .root = root, .out = out.blocks(), .in = in.blocks()});
  in.unpack();
  return code;
}

// The team for a collective in which every member says something of every other.
template <class H>
engine::Team* Front<H>::listing_team_for(Collective collective, H comm) {
  engine::Team* team = team_for(collective, comm);
  if (team == nullptr || team->size() <= coll::exchange::most_listed) return team;
  return leave(collective, "too many ranks for this collective");
}

template <class H>
template <class Add>
int Front<H>::take_gather(Collective collective, const void* send, Count send_count, H send_type,
                          const void* recv, int root, H comm, Add add_in) {
  engine::Team* team = collective == Collective::gather ? team_for(collective, comm)
                                                        : listing_team_for(collective, comm);
  if (team == nullptr || root < 0 || root >= team->size()) return left;
  const bool at_root = team->rank() == root;
  Side<H> out(native_, comm), in(native_, comm);
  if (at_root && (recv == in_place() || !add_in(in, team->size()))) return left;
  if (!(at_root && send == in_place()) &&
      (send == in_place() || !add_evenly(out, send, send_count, send_type, 1)))
    return left;
  std::size_t bytes = 0;
  if (collective == Collective::gather) {
    bytes = (at_root ? in : out).blocks()[0].bytes;
    if (bytes == 0) return left;
  }
  return move(*team, comm, collective, out, in, root, bytes);
}

template <class H>
template <class Add>
int Front<H>::take_scatter(Collective collective, Add add_out, const void* send, void* recv,
                           Count recv_count, H recv_type, int root, H comm) {
  engine::Team* team = collective == Collective::scatter ? team_for(collective, comm)
                                                         : listing_team_for(collective, comm);
  if (team == nullptr || root < 0 || root >= team->size()) return left;
  const bool at_root = team->rank() == root;
  Side<H> out(native_, comm), in(native_, comm);
  if (at_root && (send == in_place() || !add_out(out, team->size()))) return left;
  if (!(at_root && recv == in_place()) &&
      (recv == in_place() || !add_evenly(in, recv, recv_count, recv_type, 1)))
    return left;
  std::size_t bytes = 0;
  if (collective == Collective::scatter) {
    bytes = (at_root ? out : in).blocks()[0].bytes;
    if (bytes == 0) return left;
  }
  return move(*team, comm, collective, out, in, root, bytes);
}

template <class H>
template <class Add>
int Front<H>::take_allgather(Collective collective, const void* send, Count send_count, H send_type,
                             const void* recv, H comm, Add add_in) {
  engine::Team* team = team_for(collective, comm);
  if (team == nullptr || recv == in_place()) return left;
  Side<H> out(native_, comm), in(native_, comm);
  if (!add_in(in, team->size())) return left;
  const std::size_t bytes = collective == Collective::allgather ? in.blocks()[0].bytes : in.bytes();
  if (bytes == 0) return left;
  const auto me = static_cast<std::size_t>(team->rank());
  if (send != in_place()) {
    if (!add_evenly(out, send, send_count, send_type, 1)) return left;
    return move(*team, comm, collective, out, in, 0, bytes);
  }
  in.settle(true);
  const int code = run(*team, comm, collective,
                       {.count = bytes, .out = in.blocks().subspan(me, 1), .in = in.blocks()});
  in.unpack();
  return code;
}

template <class H>
template <class AddOut, class AddIn>
int Front<H>::take_alltoall(Collective collective, AddOut add_out, AddIn add_in, const void* send,
                            const void* recv, H comm) {
  engine::Team* team = collective == Collective::alltoall ? team_for(collective, comm)
                                                          : listing_team_for(collective, comm);
  if (team == nullptr || recv == in_place()) return left;
  Side<H> out(native_, comm), in(native_, comm);
  if (!add_in(in, team->size())) return left;
  std::size_t bytes = 0;
  if (collective == Collective::alltoall) {
    bytes = in.blocks()[0].bytes;
    if (bytes == 0) return left;
  }
  if (send != in_place()) {
    if (!add_out(out, team->size())) return left;
    return move(*team, comm, collective, out, in, 0, bytes);
  }
  // What is sent will be overwritten by what is received, so it is sent from a copy.
  in.settle(true);
  Temporary copy(std::max<std::size_t>(1, in.bytes()));
  std::byte* next = copy.get();
  const Described<H> byte{byte_, 1, 1};
  for (const coll::Block& block : in.blocks()) {
    coll::pack(next, block, 0, block.bytes);
    out.add(next, 0, static_cast<Count>(block.bytes), byte);
    next += block.bytes;
  }
  const int code =
      run(*team, comm, collective, {.count = bytes, .out = out.blocks(), .in = in.blocks()});
  in.unpack();
  return code;
}

template <class H>
template <class N, class D>
int Front<H>::gather(const void* send, N send_count, Word send_type, void* recv, N recv_count,
                     Word recv_type, int root, Word comm) {
  const auto add_in = [&](Side<H>& in, int members) {
    return self_->add_evenly(in, recv, recv_count, handle(recv_type), members);
  };
  if (const int code = self_->take_gather(Collective::gather, send, send_count, handle(send_type),
                                          recv, root, handle(comm), add_in);
      code != left)
    return code;
  return self_->template call_native<N, D>(&Forms<H, N, D>::gather, &Forms<H, int, int>::gather,
                                           handle(comm), send, send_count, handle(send_type), recv,
                                           recv_count, handle(recv_type), root, handle(comm));
}

template <class H>
template <class N, class D>
int Front<H>::gatherv(const void* send, N send_count, Word send_type, void* recv, const N* counts,
                      const D* displacements, Word recv_type, int root, Word comm) {
  const auto add_in = [&](Side<H>& in, int members) {
    return self_->add_listed(in, recv, counts, displacements, handle(recv_type), members);
  };
  if (const int code = self_->take_gather(Collective::gatherv, send, send_count, handle(send_type),
                                          recv, root, handle(comm), add_in);
      code != left)
    return code;
  const bool mine = self_->has_root_arguments(root, handle(comm));
  return self_->template call_native<N, D>(&Forms<H, N, D>::gatherv, &Forms<H, int, int>::gatherv,
                                           handle(comm), send, send_count, handle(send_type), recv,
                                           mine ? counts : nullptr, mine ? displacements : nullptr,
                                           handle(recv_type), root, handle(comm));
}

template <class H>
template <class N, class D>
int Front<H>::scatter(const void* send, N send_count, Word send_type, void* recv, N recv_count,
                      Word recv_type, int root, Word comm) {
  const auto add_out = [&](Side<H>& out, int members) {
    return self_->add_evenly(out, send, send_count, handle(send_type), members);
  };
  if (const int code = self_->take_scatter(Collective::scatter, add_out, send, recv, recv_count,
                                           handle(recv_type), root, handle(comm));
      code != left)
    return code;
  return self_->template call_native<N, D>(&Forms<H, N, D>::scatter, &Forms<H, int, int>::scatter,
                                           handle(comm), send, send_count, handle(send_type), recv,
                                           recv_count, handle(recv_type), root, handle(comm));
}

template <class H>
template <class N, class D>
int Front<H>::scatterv(const void* send, const N* counts, const D* displacements, Word send_type,
                       void* recv, N recv_count, Word recv_type, int root, Word comm) {
  const auto add_out = [&](Side<H>& out, int members) {
    return self_->add_listed(out, send, counts, displacements, handle(send_type), members);
  };
  if (const int code = self_->take_scatter(Collective::scatterv, add_out, send, recv, recv_count,
                                           handle(recv_type), root, handle(comm));
      code != left)
    return code;
  const bool mine = self_->has_root_arguments(root, handle(comm));
  return self_->template call_native<N, D>(&Forms<H, N, D>::scatterv, &Forms<H, int, int>::scatterv,
                                           handle(comm), send, mine ? counts : nullptr,
                                           mine ? displacements : nullptr, handle(send_type), recv,
                                           recv_count, handle(recv_type), root, handle(comm));
}

template <class H>
template <class N, class D>
int Front<H>::allgather(const void* send, N send_count, Word send_type, void* recv, N recv_count,
                        Word recv_type, Word comm) {
  const auto add_in = [&](Side<H>& in, int members) {
    return self_->add_evenly(in, recv, recv_count, handle(recv_type), members);
  };
  if (const int code = self_->take_allgather(Collective::allgather, send, send_count,
                                             handle(send_type), recv, handle(comm), add_in);
      code != left)
    return code;
  return self_->template call_native<N, D>(
      &Forms<H, N, D>::allgather, &Forms<H, int, int>::allgather, handle(comm), send, send_count,
      handle(send_type), recv, recv_count, handle(recv_type), handle(comm));
}

template <class H>
template <class N, class D>
int Front<H>::allgatherv(const void* send, N send_count, Word send_type, void* recv,
                         const N* counts, const D* displacements, Word recv_type, Word comm) {
  const auto add_in = [&](Side<H>& in, int members) {
    return self_->add_listed(in, recv, counts, displacements, handle(recv_type), members);
  };
  if (const int code = self_->take_allgather(Collective::allgatherv, send, send_count,
                                             handle(send_type), recv, handle(comm), add_in);
      code != left)
    return code;
  return self_->template call_native<N, D>(
      &Forms<H, N, D>::allgatherv, &Forms<H, int, int>::allgatherv, handle(comm), send, send_count,
      handle(send_type), recv, counts, displacements, handle(recv_type), handle(comm));
}

template <class H>
template <class N, class D>
int Front<H>::alltoall(const void* send, N send_count, Word send_type, void* recv, N recv_count,
                       Word recv_type, Word comm) {
  const auto add_out = [&](Side<H>& out, int members) {
    return self_->add_evenly(out, send, send_count, handle(send_type), members);
  };
  const auto add_in = [&](Side<H>& in, int members) {
    return self_->add_evenly(in, recv, recv_count, handle(recv_type), members);
  };
  if (const int code =
          self_->take_alltoall(Collective::alltoall, add_out, add_in, send, recv, handle(comm));
      code != left)
    return code;
  return self_->template call_native<N, D>(&Forms<H, N, D>::alltoall, &Forms<H, int, int>::alltoall,
                                           handle(comm), send, send_count, handle(send_type), recv,
                                           recv_count, handle(recv_type), handle(comm));
}

template <class H>
template <class N, class D>
int Front<H>::alltoallv(const void* send, const N* send_counts, const D* send_displacements,
                        Word send_type, void* recv, const N* recv_counts,
                        const D* recv_displacements, Word recv_type, Word comm) {
  const auto add_out = [&](Side<H>& out, int members) {
    return self_->add_listed(out, send, send_counts, send_displacements, handle(send_type),
                             members);
  };
  const auto add_in = [&](Side<H>& in, int members) {
    return self_->add_listed(in, recv, recv_counts, recv_displacements, handle(recv_type), members);
  };
  if (const int code =
          self_->take_alltoall(Collective::alltoallv, add_out, add_in, send, recv, handle(comm));
      code != left)
    return code;
  const bool moves = send != self_->in_place();
  return self_->template call_native<N, D>(
      &Forms<H, N, D>::alltoallv, &Forms<H, int, int>::alltoallv, handle(comm), send,
      moves ? send_counts : nullptr, moves ? send_displacements : nullptr, handle(send_type), recv,
      recv_counts, recv_displacements, handle(recv_type), handle(comm));
}

template <class H>
template <class N, class D>
int Front<H>::alltoallw(const void* send, const N* send_counts, const D* send_displacements,
                        const Word* send_types, void* recv, const N* recv_counts,
                        const D* recv_displacements, const Word* recv_types, Word comm) {
  // Arrays of handles are the MPI's own, whatever the size of a word.
  const auto* send_handles = reinterpret_cast<const H*>(send_types);
  const auto* recv_handles = reinterpret_cast<const H*>(recv_types);
  const auto add_out = [&](Side<H>& out, int members) {
    return self_->add_typed(out, send, send_counts, send_displacements, send_handles, members);
  };
  const auto add_in = [&](Side<H>& in, int members) {
    return self_->add_typed(in, recv, recv_counts, recv_displacements, recv_handles, members);
  };
  if (const int code =
          self_->take_alltoall(Collective::alltoallw, add_out, add_in, send, recv, handle(comm));
      code != left)
    return code;
  const bool moves = send != self_->in_place();
  return self_->template call_native<N, D>(
      &Forms<H, N, D>::alltoallw, &Forms<H, int, int>::alltoallw, handle(comm), send,
      moves ? send_counts : nullptr, moves ? send_displacements : nullptr, send_handles, recv,
      recv_counts, recv_displacements, recv_handles, handle(comm));
}

}  // namespace tutti::mpi
