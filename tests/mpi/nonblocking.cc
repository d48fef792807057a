// SPDX-License-Identifier: BSD-3-Clause
// Nonblocking collectives under Tutti against the same blocking calls of the MPI itself, in one
// process: random ones, many outstanding at once on several communicators, among blocking
// collectives and point-to-point messages, completed in random order by every function that
// completes requests. Datatypes and communicators are freed while they are in use. Compiled by each
// MPI's own mpicxx.
//
//   nonblocking [--cases N] [--first N] [--most-bytes N] [--in-place-reduce 0] [--forget 0]
//               [--meet 1]   a blocking collective of each communicator comes first
//
// Ends with a line "nonblocking: N compared, N wrong".
#include <mpi.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "bare.h"
#include "level.h"

namespace {

using Size = std::size_t;

Size mix(Size x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}
struct Random {
  Size state;
  int operator()(int below) {
    return static_cast<int>(mix(state += 0x9e3779b97f4a7c15u) % static_cast<Size>(below));
  }
};

constexpr const char* names[] = {
    "Ibarrier",  "Ibcast",     "Ireduce",    "Iallreduce",      "Igather",
    "Igatherv",  "Iscatter",   "Iscatterv",  "Iallgather",      "Iallgatherv",
    "Ialltoall", "Ialltoallv", "Ialltoallw", "Ireduce_scatter", "Ireduce_scatter_block",
    "Iscan",     "Iexscan"};
constexpr int kinds = 17;

bool in_place_reduce = true;  // Debian's MPICH 4.0 crashes in its own

// One call: its arguments, the buffers of the nonblocking call and those of the reference.
class Operation {
 public:
  Operation(int kind, MPI_Comm comm, Random& random, int most) : kind_(kind), comm_(comm) {
    MPI_Comm_rank(comm, &rank_);
    MPI_Comm_size(comm, &size_);
    root_ = random(size_);
    n_ = random(3) == 0 ? 1 + random(16) : 1 + random(most);
    in_place_ = random(4) == 0 && (kind != 2 || in_place_reduce);
    gaps_ = random(4) == 0;
    for (int q = 0; q < size_; ++q) {
      counts_.push_back(random(3) == 0 ? 0 : 1 + random(n_));
      offsets_.push_back(q * n_);
    }
    const Size room = 2 * static_cast<Size>(n_) * static_cast<Size>(size_) + 64;
    for (auto* buffer : {&send_, &recv_}) {
      buffer->resize(room);
      for (int& value : *buffer) value = random(1000) + rank_;
    }
    ref_send_ = send_;
    ref_recv_ = recv_;
  }

  // A type with gaps is the call's own, and freed at once.
  void start(MPI_Request* request) {
    MPI_Datatype type = make_type();
    call(type, request);
    if (type != MPI_INT) MPI_Type_free(&type);
  }
  void reference() {
    MPI_Datatype type = make_type();
    std::swap(send_, ref_send_);
    std::swap(recv_, ref_recv_);
    call(type, nullptr);
    std::swap(send_, ref_send_);
    std::swap(recv_, ref_recv_);
    if (type != MPI_INT) MPI_Type_free(&type);
  }
  [[nodiscard]] bool right() const {
    // In place MPICH may compute the blocks of a Reduce_scatter where its operands are.
    const bool block_only = in_place_ && (kind_ == 13 || kind_ == 14);
    const int block = kind_ == 13 ? counts_[static_cast<Size>(rank_)] : n_;
    return send_ == ref_send_ &&
           std::equal(recv_.begin(), block_only ? recv_.begin() + block : recv_.end(),
                      ref_recv_.begin());
  }
  [[nodiscard]] std::string describe() const {
    return std::string(names[kind_]) + " of " + std::to_string(n_) + " on " +
           std::to_string(size_) + " ranks, root " + std::to_string(root_) +
           (in_place_ ? ", in place" : "") + (gaps_ ? ", with gaps" : "");
  }

 private:
  [[nodiscard]] bool computes() const { return kind_ == 2 || kind_ == 3 || kind_ >= 13; }
  MPI_Datatype make_type() const {
    if (!gaps_ || computes()) return MPI_INT;
    MPI_Datatype type;
    MPI_Type_create_resized(MPI_INT, 0, 8, &type);
    MPI_Type_commit(&type);
    return type;
  }

  void call(MPI_Datatype t, MPI_Request* r) {
    const bool at_root = rank_ == root_;
    int *s = send_.data(), *d = recv_.data();
    const void* in_place = MPI_IN_PLACE;
    const void* from = in_place_ ? in_place : s;
    const int me = counts_[static_cast<Size>(rank_)];
    const int *c = counts_.data(), *o = offsets_.data();
    std::vector<MPI_Datatype>& types = types_;  // to live as long as the call
    types.assign(static_cast<Size>(size_), t);
    bytes_.clear();
    for (int q = 0; q < size_; ++q) bytes_.push_back(o[q] * (t == MPI_INT ? 4 : 8));
    const int* b = bytes_.data();
    switch (kind_) {
      case 0:
        r ? MPI_Ibarrier(comm_, r) : BARE(Barrier)(comm_);
        break;
      case 1:
        r ? MPI_Ibcast(d, n_, t, root_, comm_, r) : BARE(Bcast)(d, n_, t, root_, comm_);
        break;
      case 2: {
        const void* mine = at_root && in_place_ ? in_place : s;
        r ? MPI_Ireduce(mine, d, n_, t, MPI_SUM, root_, comm_, r)
          : BARE(Reduce)(mine, d, n_, t, MPI_SUM, root_, comm_);
        break;
      }
      case 3:
        r ? MPI_Iallreduce(from, d, n_, t, MPI_SUM, comm_, r)
          : BARE(Allreduce)(from, d, n_, t, MPI_SUM, comm_);
        break;
      case 4: {
        const void* mine = at_root && in_place_ ? in_place : s;
        r ? MPI_Igather(mine, n_, t, d, n_, t, root_, comm_, r)
          : BARE(Gather)(mine, n_, t, d, n_, t, root_, comm_);
        break;
      }
      case 5: {
        const void* mine = at_root && in_place_ ? in_place : s;
        r ? MPI_Igatherv(mine, me, t, d, c, o, t, root_, comm_, r)
          : BARE(Gatherv)(mine, me, t, d, c, o, t, root_, comm_);
        break;
      }
      case 6: {
        void* mine = at_root && in_place_ ? MPI_IN_PLACE : d;
        r ? MPI_Iscatter(s, n_, t, mine, n_, t, root_, comm_, r)
          : BARE(Scatter)(s, n_, t, mine, n_, t, root_, comm_);
        break;
      }
      case 7: {
        void* mine = at_root && in_place_ ? MPI_IN_PLACE : d;
        r ? MPI_Iscatterv(s, c, o, t, mine, me, t, root_, comm_, r)
          : BARE(Scatterv)(s, c, o, t, mine, me, t, root_, comm_);
        break;
      }
      case 8:
        r ? MPI_Iallgather(from, n_, t, d, n_, t, comm_, r)
          : BARE(Allgather)(from, n_, t, d, n_, t, comm_);
        break;
      case 9:
        r ? MPI_Iallgatherv(from, me, t, d, c, o, t, comm_, r)
          : BARE(Allgatherv)(from, me, t, d, c, o, t, comm_);
        break;
      case 10:
        r ? MPI_Ialltoall(from, n_, t, d, n_, t, comm_, r)
          : BARE(Alltoall)(from, n_, t, d, n_, t, comm_);
        break;
      case 11: {
        // Everybody sends everybody as many as rank 0 would get.
        even_.assign(static_cast<Size>(size_), counts_[0]);
        const int* e = even_.data();
        r ? MPI_Ialltoallv(from, e, o, t, d, e, o, t, comm_, r)
          : BARE(Alltoallv)(from, e, o, t, d, e, o, t, comm_);
        break;
      }
      case 12: {
        even_.assign(static_cast<Size>(size_), counts_[0]);
        const int* e = even_.data();
        r ? MPI_Ialltoallw(from, e, b, types.data(), d, e, b, types.data(), comm_, r)
          : BARE(Alltoallw)(from, e, b, types.data(), d, e, b, types.data(), comm_);
        break;
      }
      case 13: {
        if (r) {
          MPI_Ireduce_scatter(from, d, c, t, MPI_SUM, comm_, r);
          break;
        }
        // Out of place: MPICH 5.0's own in-place Reduce_scatter ends the job at times.
        const std::vector<int> operand = recv_;
        BARE(Reduce_scatter)(in_place_ ? operand.data() : s, d, c, t, MPI_SUM, comm_);
        break;
      }
      case 14:
        r ? MPI_Ireduce_scatter_block(from, d, n_, t, MPI_SUM, comm_, r)
          : BARE(Reduce_scatter_block)(from, d, n_, t, MPI_SUM, comm_);
        break;
      case 15:
        r ? MPI_Iscan(from, d, n_, t, MPI_MAX, comm_, r)
          : BARE(Scan)(from, d, n_, t, MPI_MAX, comm_);
        break;
      case 16:
        r ? MPI_Iexscan(from, d, n_, t, MPI_SUM, comm_, r)
          : BARE(Exscan)(from, d, n_, t, MPI_SUM, comm_);
        break;
    }
  }

  int kind_;
  MPI_Comm comm_;
  int rank_ = 0, size_ = 0, root_ = 0, n_ = 0;
  bool in_place_ = false, gaps_ = false;
  std::vector<int> counts_, offsets_, bytes_, even_;
  std::vector<MPI_Datatype> types_;
  std::vector<int> send_, recv_, ref_send_, ref_recv_;
};

// Completes all of them, by a function drawn anew on each rank.
void complete(std::vector<MPI_Request>& requests, Random& random) {
  const int count = static_cast<int>(requests.size());
  const auto left = [&] {
    return std::any_of(requests.begin(), requests.end(),
                       [](MPI_Request each) { return each != MPI_REQUEST_NULL; });
  };
  std::vector<int> indices(requests.size());
  int flag = 0, index = 0;
  switch (random(8)) {
    case 0:
      MPI_Waitall(count, requests.data(), MPI_STATUSES_IGNORE);
      break;
    case 1:
      while (left()) MPI_Waitany(count, requests.data(), &index, MPI_STATUS_IGNORE);
      break;
    case 2:
      while (left())
        MPI_Waitsome(count, requests.data(), &index, indices.data(), MPI_STATUSES_IGNORE);
      break;
    case 3:
      while (!flag) MPI_Testall(count, requests.data(), &flag, MPI_STATUSES_IGNORE);
      break;
    case 4:
      while (left()) MPI_Testany(count, requests.data(), &index, &flag, MPI_STATUS_IGNORE);
      break;
    case 5:
      while (left())
        MPI_Testsome(count, requests.data(), &index, indices.data(), MPI_STATUSES_IGNORE);
      break;
    case 6:
      for (int i = 0; left(); i = random(count)) {
        MPI_Status status;
        if (requests[static_cast<Size>(i)] == MPI_REQUEST_NULL) continue;
        MPI_Request_get_status(requests[static_cast<Size>(i)], &flag, &status);
        if (flag) MPI_Test(&requests[static_cast<Size>(i)], &flag, &status);
      }
      break;
    default: {
      std::vector<Size> order(requests.size());
      for (Size i = 0; i < order.size(); ++i) order[i] = i;
      for (Size i = order.size(); i > 1; --i)
        std::swap(order[i - 1], order[static_cast<Size>(random(static_cast<int>(i)))]);
      for (Size i : order) MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  int cases = 100, first = 0, most = 1 << 20;
  bool forget = true;  // no MPI can free the request of a collective of its own
  bool meet = false;
  for (int i = 1; i + 1 < argc; i += 2) {
    const int value = std::atoi(argv[i + 1]);
    if (std::strcmp(argv[i], "--cases") == 0) cases = value;
    if (std::strcmp(argv[i], "--first") == 0) first = value;
    if (std::strcmp(argv[i], "--most-bytes") == 0) most = value;
    if (std::strcmp(argv[i], "--in-place-reduce") == 0) in_place_reduce = value != 0;
    if (std::strcmp(argv[i], "--forget") == 0) forget = value != 0;
    if (std::strcmp(argv[i], "--meet") == 0) meet = value != 0;
  }
  init_as_told(&argc, &argv);
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  int compared = 0, wrong = 0;
  for (int number = first; number < first + cases; ++number) {
    Random random{mix(static_cast<Size>(number) + 1)};
    Random own{mix(random.state + static_cast<Size>(rank) + 77)};
    MPI_Comm dup, part, idle;
    MPI_Comm_dup(MPI_COMM_WORLD, &dup);
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &part);
    MPI_Comm_dup(MPI_COMM_WORLD, &idle);
    const MPI_Comm comms[] = {MPI_COMM_WORLD, dup, part};
    for (MPI_Comm comm : {MPI_COMM_WORLD, dup, part, idle})
      if (meet) MPI_Barrier(comm);
    const int count = 1 + random(12);
    const int largest = random(3) == 0 ? most / 4 : 2000;
    std::vector<std::unique_ptr<Operation>> operations;
    std::vector<MPI_Request> requests;
    std::vector<int> sent, received(static_cast<Size>(count), -1);
    sent.reserve(static_cast<Size>(count));
    for (int k = 0; k < count; ++k) {
      const int which = random(3);
      // A communicator's own draws, so that different parts may differ.
      Random draws{mix(random.state + static_cast<Size>(which == 2 ? 1 + rank % 2 : 0))};
      operations.push_back(
          std::make_unique<Operation>(random(kinds), comms[which], draws, largest));
      requests.emplace_back(MPI_REQUEST_NULL);
      operations.back()->start(&requests.back());
      if (random(3) == 0) {
        sent.push_back(number * 100 + k);
        requests.emplace_back();
        MPI_Isend(&sent.back(), 1, MPI_INT, (rank + 1) % size, k, dup, &requests.back());
        requests.emplace_back();
        MPI_Irecv(&received[static_cast<Size>(k)], 1, MPI_INT, (rank + size - 1) % size, k, dup,
                  &requests.back());
      }
      if (random(6) == 0) {
        int one = 1, sum = 0;
        MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comms[which]);
        int members;
        MPI_Comm_size(comms[which], &members);
        wrong += sum != members;
      }
    }
    // A communicator that is freed with an operation on it, a request that nobody waits for.
    int token = rank, tokens = 0;
    requests.emplace_back();
    MPI_Iallreduce(&token, &tokens, 1, MPI_INT, MPI_SUM, idle, &requests.back());
    MPI_Request forgotten;
    MPI_Ibarrier(idle, &forgotten);
    if (forget)
      MPI_Request_free(&forgotten);
    else
      requests.push_back(forgotten);
    MPI_Comm_free(&idle);
    complete(requests, own);
    for (auto& operation : operations) operation->reference();
    for (auto& operation : operations) {
      ++compared;
      if (operation->right()) continue;
      ++wrong;
      std::printf("case %d, rank %d: %s is wrong\n", number, rank, operation->describe().c_str());
    }
    if (tokens != size * (size - 1) / 2) {
      ++wrong;
      std::printf("case %d, rank %d: on a freed communicator %d came out\n", number, rank, tokens);
    }
    for (int value : sent)
      if (received[static_cast<Size>(value % 100)] != value) ++wrong;
    MPI_Comm_free(&dup);
    MPI_Comm_free(&part);
  }
  int all[2] = {compared, wrong}, sums[2];
  BARE(Reduce)(all, sums, 2, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) std::printf("nonblocking: %d compared, %d wrong\n", sums[0], sums[1]);
  MPI_Finalize();
  return 0;
}
