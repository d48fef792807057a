// SPDX-License-Identifier: BSD-3-Clause
// How each collective is called: a function a row of collectives.cc, for MPI_X and, with a request
// behind the arguments, for MPI_IX.
#pragma once

#include "tutti_bench/collectives.h"

namespace tutti::bench::calls {

template <class... More>
using F = const Forms<More...>&;
using P = const Problem&;
using S = const Slot&;

// A rank's own entry of a list with one a rank.
inline int own(const std::vector<int>& list, P p) { return list[static_cast<std::size_t>(p.rank)]; }

template <class... More>
void barrier(F<More...> f, P p, S, More... more) {
  f.barrier(p.comm, more...);
}
template <class... More>
void bcast(F<More...> f, P p, S s, More... more) {
  f.bcast(p.rank == p.root ? s.send : s.recv, p.count, p.type, p.root, p.comm, more...);
}
template <class... More>
void reduce(F<More...> f, P p, S s, More... more) {
  f.reduce(s.send, s.recv, p.count, p.type, p.op, p.root, p.comm, more...);
}
template <class... More>
void allreduce(F<More...> f, P p, S s, More... more) {
  f.allreduce(s.send, s.recv, p.count, p.type, p.op, p.comm, more...);
}
template <class... More>
void gather(F<More...> f, P p, S s, More... more) {
  f.gather(s.send, p.count, p.type, s.recv, p.count, p.type, p.root, p.comm, more...);
}
template <class... More>
void gatherv(F<More...> f, P p, S s, More... more) {
  const Layout& l = p.layout;
  f.gatherv(s.send, own(l.recv_counts, p), p.type, s.recv, l.recv_counts.data(),
            l.recv_displs.data(), p.type, p.root, p.comm, more...);
}
template <class... More>
void scatter(F<More...> f, P p, S s, More... more) {
  f.scatter(s.send, p.count, p.type, s.recv, p.count, p.type, p.root, p.comm, more...);
}
template <class... More>
void scatterv(F<More...> f, P p, S s, More... more) {
  const Layout& l = p.layout;
  f.scatterv(s.send, l.send_counts.data(), l.send_displs.data(), p.type, s.recv,
             own(l.send_counts, p), p.type, p.root, p.comm, more...);
}
template <class... More>
void allgather(F<More...> f, P p, S s, More... more) {
  f.allgather(s.send, p.count, p.type, s.recv, p.count, p.type, p.comm, more...);
}
template <class... More>
void allgatherv(F<More...> f, P p, S s, More... more) {
  const Layout& l = p.layout;
  f.allgatherv(s.send, own(l.recv_counts, p), p.type, s.recv, l.recv_counts.data(),
               l.recv_displs.data(), p.type, p.comm, more...);
}
template <class... More>
void alltoall(F<More...> f, P p, S s, More... more) {
  f.alltoall(s.send, p.count, p.type, s.recv, p.count, p.type, p.comm, more...);
}
template <class... More>
void alltoallv(F<More...> f, P p, S s, More... more) {
  const Layout& l = p.layout;
  f.alltoallv(s.send, l.send_counts.data(), l.send_displs.data(), l.send_type, s.recv,
              l.recv_counts.data(), l.recv_displs.data(), l.recv_type, p.comm, more...);
}
template <class... More>
void alltoallw(F<More...> f, P p, S s, More... more) {
  const Layout& l = p.layout;
  const auto handles = [](const std::vector<std::byte>& array) {  // Mpi::array
    return reinterpret_cast<const Handle*>(array.data());
  };
  f.alltoallw(s.send, l.send_counts.data(), l.send_displs.data(), handles(l.send_types), s.recv,
              l.recv_counts.data(), l.recv_displs.data(), handles(l.recv_types), p.comm, more...);
}
template <class... More>
void reduce_scatter(F<More...> f, P p, S s, More... more) {
  f.reduce_scatter(s.send, s.recv, p.layout.recv_counts.data(), p.type, p.op, p.comm, more...);
}
template <class... More>
void reduce_scatter_block(F<More...> f, P p, S s, More... more) {
  f.reduce_scatter_block(s.send, s.recv, (p.count + p.ranks - 1) / p.ranks, p.type, p.op, p.comm,
                         more...);
}
template <class... More>
void scan(F<More...> f, P p, S s, More... more) {
  f.scan(s.send, s.recv, p.count, p.type, p.op, p.comm, more...);
}
template <class... More>
void exscan(F<More...> f, P p, S s, More... more) {
  f.exscan(s.send, s.recv, p.count, p.type, p.op, p.comm, more...);
}

}  // namespace tutti::bench::calls
