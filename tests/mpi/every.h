// SPDX-License-Identifier: BSD-3-Clause
// The 17 collectives on one communicator, with data whose result is known in advance.
#pragma once

#include <mpi.h>

#include <cstdio>
#include <functional>
#include <vector>

class Every {
 public:
  static constexpr int kinds = 17;
  static constexpr const char* names[kinds] = {
      "Barrier",  "Bcast",     "Reduce",    "Allreduce",      "Gather",
      "Gatherv",  "Scatter",   "Scatterv",  "Allgather",      "Allgatherv",
      "Alltoall", "Alltoallv", "Alltoallw", "Reduce_scatter", "Reduce_scatter_block",
      "Scan",     "Exscan"};

  // With buffers of its own, on the heap, for blocks of up to `most` ints.
  Every(MPI_Comm comm, int most) : Every(comm, nullptr, nullptr) {
    heap_.resize(2 * ints(most));
    out_ = heap_.data();
    in_ = out_ + ints(most);
  }
  // With the caller's, of ints(most) each. `protect` is called with true when `out` has been
  // filled and is only read from then on, with false when the call is over.
  Every(MPI_Comm comm, int* out, int* in, std::function<void(bool)> protect = {})
      : comm_(comm), out_(out), in_(in), protect_(std::move(protect)) {
    MPI_Comm_rank(comm, &rank_);
    MPI_Comm_size(comm, &size_);
  }
  [[nodiscard]] std::size_t ints(int most) const {
    return static_cast<std::size_t>(most) * static_cast<std::size_t>(size_);
  }

  // How many elements are wrong after one collective on blocks of `n` ints. Collective; `seed` is
  // the same on all.
  int run(int kind, int n, unsigned seed) {
    seed_ = seed;
    n_ = n;
    const int root = static_cast<int>(seed % static_cast<unsigned>(size_));
    lay_out(kind);
    for (std::size_t i = 0; i < ints(n); ++i) in_[i] = -1;
    for (int to = 0; to < size_; ++to)
      for (int i = 0; i < out_counts_[to]; ++i) out_[out_places_[to] + i] = value(rank_, to, i);
    if (protect_) protect_(true);
    call(kind, root);
    if (protect_) protect_(false);
    const int wrong = count_wrong(kind, root);
    if (wrong > 0)
      std::printf("WRONG: %s of %d ints, rank %d of %d: %d\n", names[kind], n, rank_, size_, wrong);
    return wrong;
  }
  int all(int n, unsigned seed) {
    int wrong = 0;
    for (int kind = 0; kind < kinds; ++kind)
      wrong += run(kind, n, seed + static_cast<unsigned>(kind));
    return wrong;
  }

 private:
  [[nodiscard]] int value(int from, int to, int i) const {
    const unsigned mixed = static_cast<unsigned>(from) * 131 + static_cast<unsigned>(to) * 17 +
                           static_cast<unsigned>(i) * 5 + seed_ * 3;
    return static_cast<int>(mixed & 0xffff);
  }
  // The v-forms have blocks of two lengths.
  [[nodiscard]] int length(int kind, int from, int to) const {
    if (kind == 5 || kind == 9) return n_ - from % 2 * (n_ / 2);
    if (kind == 7 || kind == 13) return n_ - to % 2 * (n_ / 2);
    return kind == 11 || kind == 12 ? n_ - (from + to) % 2 * (n_ / 2) : n_;
  }
  void lay_out(int kind) {
    const auto members = static_cast<std::size_t>(size_);
    out_counts_.assign(members, 0);
    in_counts_ = out_places_ = in_places_ = out_counts_;
    for (int i = 0, next = 0; i < size_; ++i) {
      out_counts_[i] = length(kind, rank_, i);
      in_counts_[i] = length(kind, i, rank_);
      out_places_[i] = kind == 13 ? next : i * n_;
      in_places_[i] = i * n_;
      next += out_counts_[i];
    }
  }

  void call(int kind, int root) {
    const MPI_Datatype t = MPI_INT;
    const int *oc = out_counts_.data(), *op = out_places_.data();
    const int *ic = in_counts_.data(), *ip = in_places_.data();
    // clang-format off
    switch (kind) {
      case 0: MPI_Barrier(comm_); break;
      case 1: MPI_Bcast(rank_ == root ? out_ : in_, n_, t, root, comm_); break;
      case 2: MPI_Reduce(out_, in_, n_, t, MPI_SUM, root, comm_); break;
      case 3: MPI_Allreduce(out_, in_, n_, t, MPI_SUM, comm_); break;
      case 4: MPI_Gather(out_, n_, t, in_, n_, t, root, comm_); break;
      case 5: MPI_Gatherv(out_, oc[0], t, in_, ic, ip, t, root, comm_); break;
      case 6: MPI_Scatter(out_, n_, t, in_, n_, t, root, comm_); break;
      case 7: MPI_Scatterv(out_, oc, op, t, in_, ic[0], t, root, comm_); break;
      case 8: MPI_Allgather(out_, n_, t, in_, n_, t, comm_); break;
      case 9: MPI_Allgatherv(out_, oc[0], t, in_, ic, ip, t, comm_); break;
      case 10: MPI_Alltoall(out_, n_, t, in_, n_, t, comm_); break;
      case 11: MPI_Alltoallv(out_, oc, op, t, in_, ic, ip, t, comm_); break;
      case 12: call_alltoallw(); break;
      case 13: MPI_Reduce_scatter(out_, in_, oc, t, MPI_SUM, comm_); break;
      case 14: MPI_Reduce_scatter_block(out_, in_, n_, t, MPI_SUM, comm_); break;
      case 15: MPI_Scan(out_, in_, n_, t, MPI_SUM, comm_); break;
      case 16: MPI_Exscan(out_, in_, n_, t, MPI_SUM, comm_); break;
      default: break;
    }
    // clang-format on
  }
  void call_alltoallw() {
    std::vector<int> out = out_places_, in = in_places_;
    for (int& place : out) place *= static_cast<int>(sizeof(int));
    for (int& place : in) place *= static_cast<int>(sizeof(int));
    const std::vector<MPI_Datatype> types(out.size(), MPI_INT);
    MPI_Alltoallw(out_, out_counts_.data(), out.data(), types.data(), in_, in_counts_.data(),
                  in.data(), types.data(), comm_);
  }

  [[nodiscard]] int count_wrong(int kind, int root) const {
    int wrong = 0;
    // Block `block` of what was received: what `from` sent to `to`, or what many have, added up.
    const auto is_sent = [&](int block, int from, int to) {
      for (int i = 0; i < length(kind, from, to); ++i)
        wrong += in_[block * n_ + i] != value(from, to, i);
    };
    const auto is_sum = [&](int to, int members) {
      for (int i = 0; i < length(kind, 0, to); ++i) {
        int sum = 0;
        for (int from = 0; from < members; ++from) sum += value(from, to, i);
        wrong += in_[i] != sum;
      }
    };
    const bool is_root = rank_ == root;
    for (int from = 0; from < size_; ++from) {
      if ((kind == 4 || kind == 5) && is_root) is_sent(from, from, 0);
      if (kind == 8 || kind == 9) is_sent(from, from, 0);
      if (kind >= 10 && kind <= 12) is_sent(from, from, rank_);
    }
    if (kind == 1 && !is_root) is_sent(0, root, 0);
    if (kind == 6 || kind == 7) is_sent(0, root, rank_);
    if (kind == 3 || (kind == 2 && is_root)) is_sum(0, size_);
    if (kind == 13 || kind == 14) is_sum(rank_, size_);
    if (kind == 15) is_sum(0, rank_ + 1);
    if (kind == 16 && rank_ > 0) is_sum(0, rank_);
    return wrong;
  }

  MPI_Comm comm_;
  int rank_ = 0, size_ = 1, n_ = 0;
  unsigned seed_ = 0;
  int *out_, *in_;
  std::function<void(bool)> protect_;
  std::vector<int> heap_, out_counts_, in_counts_, out_places_, in_places_;
};

// Every collective with little, some and much data: how many results were wrong.
inline int try_out(MPI_Comm comm) {
  Every every(comm, 20000);
  return every.all(1, 1) + every.all(300, 2) + every.all(20000, 3);
}
inline int try_and_free(MPI_Comm comm) {
  if (comm == MPI_COMM_NULL) return 0;
  const int wrong = try_out(comm);
  MPI_Comm_free(&comm);
  return wrong;
}
