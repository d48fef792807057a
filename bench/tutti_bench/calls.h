// SPDX-License-Identifier: BSD-3-Clause
// How each collective is called: a function a row of collectives.cc.
#pragma once

#include "tutti_bench/collectives.h"

namespace tutti::bench::calls {

using F = const Functions&;
using P = const Problem&;
using S = const Slot&;

// A rank's own entry of a list with one a rank.
inline int own(const std::vector<int>& list, P p) { return list[static_cast<std::size_t>(p.rank)]; }

inline void barrier(F f, P p, S) { f.barrier(p.comm); }
inline void bcast(F f, P p, S s) {
  f.bcast(p.rank == p.root ? s.send : s.recv, p.count, p.type, p.root, p.comm);
}
inline void reduce(F f, P p, S s) {
  f.reduce(s.send, s.recv, p.count, p.type, p.op, p.root, p.comm);
}
inline void allreduce(F f, P p, S s) { f.allreduce(s.send, s.recv, p.count, p.type, p.op, p.comm); }
inline void gather(F f, P p, S s) {
  f.gather(s.send, p.count, p.type, s.recv, p.count, p.type, p.root, p.comm);
}
inline void gatherv(F f, P p, S s) {
  const Layout& l = p.layout;
  f.gatherv(s.send, own(l.recv_counts, p), p.type, s.recv, l.recv_counts.data(),
            l.recv_displs.data(), p.type, p.root, p.comm);
}
inline void scatter(F f, P p, S s) {
  f.scatter(s.send, p.count, p.type, s.recv, p.count, p.type, p.root, p.comm);
}
inline void scatterv(F f, P p, S s) {
  const Layout& l = p.layout;
  f.scatterv(s.send, l.send_counts.data(), l.send_displs.data(), p.type, s.recv,
             own(l.send_counts, p), p.type, p.root, p.comm);
}
inline void allgather(F f, P p, S s) {
  f.allgather(s.send, p.count, p.type, s.recv, p.count, p.type, p.comm);
}
inline void allgatherv(F f, P p, S s) {
  const Layout& l = p.layout;
  f.allgatherv(s.send, own(l.recv_counts, p), p.type, s.recv, l.recv_counts.data(),
               l.recv_displs.data(), p.type, p.comm);
}
inline void alltoall(F f, P p, S s) {
  f.alltoall(s.send, p.count, p.type, s.recv, p.count, p.type, p.comm);
}
inline void alltoallv(F f, P p, S s) {
  const Layout& l = p.layout;
  f.alltoallv(s.send, l.send_counts.data(), l.send_displs.data(), l.send_type, s.recv,
              l.recv_counts.data(), l.recv_displs.data(), l.recv_type, p.comm);
}
inline void alltoallw(F f, P p, S s) {
  const Layout& l = p.layout;
  f.alltoallw(s.send, l.send_counts.data(), l.send_displs.data(), l.send_types.data(), s.recv,
              l.recv_counts.data(), l.recv_displs.data(), l.recv_types.data(), p.comm);
}
inline void reduce_scatter(F f, P p, S s) {
  f.reduce_scatter(s.send, s.recv, p.layout.recv_counts.data(), p.type, p.op, p.comm);
}
inline void reduce_scatter_block(F f, P p, S s) {
  f.reduce_scatter_block(s.send, s.recv, (p.count + p.ranks - 1) / p.ranks, p.type, p.op, p.comm);
}
inline void scan(F f, P p, S s) { f.scan(s.send, s.recv, p.count, p.type, p.op, p.comm); }
inline void exscan(F f, P p, S s) { f.exscan(s.send, s.recv, p.count, p.type, p.op, p.comm); }

}  // namespace tutti::bench::calls
