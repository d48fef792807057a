// SPDX-License-Identifier: BSD-3-Clause
// Programs that are right, and hard for communicators of several nodes: spans WHAT [N].
// Prints "spans: N wrong".
#include <mpi.h>

#include <unistd.h>
#include <algorithm>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>

#include "../mpi/session.h"
#include "check.h"

namespace {

int rank = 0, size = 0;
const MPI_Comm world = MPI_COMM_WORLD;

MPI_Comm copy_of(MPI_Comm comm) {
  MPI_Comm copy;
  MPI_Comm_dup(comm, &copy);
  return copy;
}

// One of the MPI's own calls with one other rank; the way back is the same on both. Each sends 7
// plus its rank.
bool meet(int way, int other, MPI_Comm comm) {
  int mine[2] = {7 + rank, -1}, theirs[2] = {-1, -1}, count = -1;
  const bool first = rank == 0;
  MPI_Status status;
  MPI_Message message;
  const auto receive = [&] {
    MPI_Recv(theirs, 1, MPI_INT, other, 5, comm, &status);
    MPI_Get_count(&status, MPI_INT, &count);
  };
  const auto send = [&] { MPI_Send(mine, 1, MPI_INT, other, 5, comm); };
  switch (way % 8) {
    case 0:  // the first one waits for the last one to receive
      if (!first) receive();
      MPI_Ssend(mine, 1, MPI_INT, other, 5, comm);
      if (first) receive();
      break;
    case 1:
      if (first) receive();
      send();
      if (!first) receive();
      break;
    case 2:
      MPI_Sendrecv(mine, 1, MPI_INT, other, 5, theirs, 2, MPI_INT, other, 5, comm, &status);
      MPI_Get_count(&status, MPI_INT, &count);
      break;
    case 3:
      theirs[0] = mine[0];
      MPI_Sendrecv_replace(theirs, 1, MPI_INT, other, 5, other, 5, comm, &status);
      MPI_Get_count(&status, MPI_INT, &count);
      break;
    case 4:
      if (!first) send();
      MPI_Probe(other, 5, comm, &status);
      receive();
      if (first) send();
      break;
    case 5:
      if (!first) send();
      MPI_Mprobe(other, 5, comm, &message, &status);
      MPI_Mrecv(theirs, 1, MPI_INT, &message, &status);
      MPI_Get_count(&status, MPI_INT, &count);
      if (first) send();
      break;
    case 6:
      if (!first) send();
      for (int there = 0; !there;) MPI_Iprobe(other, 5, comm, &there, &status);
      receive();
      if (first) send();
      break;
    default:
      if (!first) send();
      for (int there = 0; !there;) MPI_Improbe(other, 5, comm, &there, &message, &status);
      MPI_Mrecv(theirs, 1, MPI_INT, &message, &status);
      MPI_Get_count(&status, MPI_INT, &count);
      if (first) send();
  }
  return theirs[0] == 7 + other && theirs[1] == -1 && count == 1 && status.MPI_SOURCE == other &&
         status.MPI_TAG == 5;
}

// What all members of a communicator do together that the MPI or Tutti waits for, of three ways:
// the first collective of a communicator, a copy of one on one node, and a window that the last
// rank opens for the one before it, which asks when that is done.
class Together {
 public:
  explicit Together(int way) : way_(way) {
    if (way == 0) comm_ = copy_of(world);
    if (way == 1) MPI_Comm_split_type(world, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &comm_);
    if (way == 2)
      MPI_Win_create(memory_, sizeof memory_, sizeof(int), MPI_INFO_NULL, world, &window_);
  }
  ~Together() {
    if (way_ == 2)
      MPI_Win_free(&window_);
    else
      MPI_Comm_free(&comm_);
  }
  int count_wrong() {
    if (way_ == 0) return check_sum(comm_, 3);
    if (way_ == 1) {
      MPI_Comm copy = copy_of(comm_);
      return MPI_Comm_free(&copy) != MPI_SUCCESS;
    }
    return rank < size - 2 ? 0 : exchange(rank == size - 1 ? size - 2 : size - 1);
  }

 private:
  int exchange(int other) {
    MPI_Group all, one;
    MPI_Comm_group(world, &all);
    MPI_Group_incl(all, 1, &other, &one);
    if (rank == size - 1) {
      const int sent = 9;
      MPI_Win_start(one, 0, window_);
      MPI_Put(&sent, 1, MPI_INT, other, 0, 1, MPI_INT, window_);
      MPI_Win_complete(window_);
    } else {
      MPI_Win_post(one, 0, window_);
      for (int over = 0; !over;) MPI_Win_test(window_, &over);
    }
    MPI_Group_free(&one);
    MPI_Group_free(&all);
    return rank == size - 2 && memory_[0] != 9;
  }

  int way_, memory_[1] = {0};
  MPI_Comm comm_ = MPI_COMM_NULL;
  MPI_Win window_ = MPI_WIN_NULL;
};

// The last rank has a nonblocking collective's result before it comes to what the others are in,
// one of which has to hand it on. The first rank sends it late.
int overlapped_together() {
  int wrong = 0;
  MPI_Comm comm = copy_of(world);
  wrong += check_sum(comm, 1);
  for (int round = 0; round < 12; ++round) {
    Together together(round % 3);
    const int count = round < 6 ? 1 : 300'000;
    std::vector<int> data = rank == 0 ? values_of(0, count) : std::vector<int>(count, -1);
    MPI_Request request;
    if (rank == 0) ::usleep(20'000);
    MPI_Ibcast(data.data(), count, MPI_INT, 0, comm, &request);
    if (rank == size - 1) MPI_Wait(&request, MPI_STATUS_IGNORE);
    wrong += together.count_wrong();
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    wrong += data != values_of(0, count);
  }
  MPI_Comm_free(&comm);
  return wrong;
}

// Does not commute.
void take_first(void* in, void* in_out, int* count, MPI_Datatype*) {
  std::copy_n(static_cast<int*>(in), *count, static_cast<int*>(in_out));
}

// The first rank is in a call that alone brings its nonblocking collective forward, until the last
// one has that one's result. First on a communicator that has had no blocking one. Then with a
// function that each rank calls by itself.
int overlapped() {
  int wrong = overlapped_together();
  MPI_Comm comm = copy_of(world);
  MPI_Op first;
  MPI_Op_create(take_first, 0, &first);
  for (int round = 0; round < 80; ++round) {
    const bool computes = round >= 40;
    const int count = round % 2 == 0 ? 1 : computes ? 2'000 : 300'000;
    std::vector<int> data = rank == 0 ? values_of(0, count) : std::vector<int>(count, -1);
    MPI_Request request;
    if (computes)
      MPI_Iallreduce(MPI_IN_PLACE, data.data(), count, MPI_INT, first, comm, &request);
    else
      MPI_Ibcast(data.data(), count, MPI_INT, 0, comm, &request);
    const int way = round / 2 % 10;
    if (way < 8) {
      if (rank == 0) wrong += !meet(way, size - 1, comm);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
      if (rank == size - 1) wrong += !meet(way, 0, comm);
    } else {  // all make a communicator, but after their collective
      MPI_Comm made;
      if (rank != 0) MPI_Wait(&request, MPI_STATUS_IGNORE);
      if (way == 8)
        made = copy_of(world);
      else
        MPI_Comm_split(world, 0, -rank, &made);
      MPI_Comm_free(&made);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    wrong += data != values_of(0, count);
    wrong += check_sum(comm, round + 1);
    if (round == 15) wrong += check_sum(world, 1);
  }
  MPI_Op_free(&first);
  MPI_Comm_free(&comm);
  return wrong;
}

// A nonblocking collective that ends only after the blocking ones in between.
int outlasted() {
  int wrong = 0;
  MPI_Comm comm = copy_of(world);
  for (int round = 0; round < 20; ++round) {
    const int count = 100'000;
    std::vector<int> mine = values_of(rank, count), sums(mine.size());
    MPI_Request request;
    MPI_Iallreduce(mine.data(), sums.data(), count, MPI_INT, MPI_SUM, comm, &request);
    wrong += check_all(comm, 100 * round, round % size);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    wrong += sums != sums_of(size, count);
  }
  MPI_Comm_free(&comm);
  return wrong;
}

// Long messages that nobody receives before the collectives are over.
int outstanding() {
  int wrong = 0;
  const int count = 1 << 20, to = (rank + 1) % size, from = (rank + size - 1) % size;
  for (int round = 0; round < 6; ++round) {
    const std::vector<int> mine = values_of(rank, count);
    std::vector<int> got(mine.size());
    MPI_Request sent, received;
    MPI_Isend(mine.data(), count, MPI_INT, to, 1, world, &sent);
    wrong += check_all(world, 1 + 5000 * round, round % size);
    MPI_Irecv(got.data(), count, MPI_INT, from, 1, world, &received);
    wrong += check_all(world, 1 + 5000 * round, round % size);
    MPI_Wait(&received, MPI_STATUS_IGNORE);
    MPI_Wait(&sent, MPI_STATUS_IGNORE);
    wrong += got != values_of(from, count);
  }
  return wrong;
}

// A message whose sender goes into a collective before it is done, and whose receiver comes to the
// collective only after it has got all.
int awaited() {
  int wrong = 0;
  const int count = 1 << 20;
  for (int round = 0; round < 10; ++round) {
    const int from = round % size, to = (from + 1 + round / size % (size - 1)) % size;
    std::vector<int> data = values_of(from, count);
    MPI_Request request = MPI_REQUEST_NULL;
    if (rank == from) MPI_Isend(data.data(), count, MPI_INT, to, 2, world, &request);
    if (rank == to) {
      data.assign(data.size(), -1);
      MPI_Recv(data.data(), count, MPI_INT, from, 2, world, MPI_STATUS_IGNORE);
      wrong += data != values_of(from, count);
    }
    MPI_Barrier(world);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
  return wrong;
}

// Each thread has a communicator of its own; all have their first collective at the same time.
int threads(int count) {
  std::atomic<int> wrong{0}, ready{0};
  std::vector<MPI_Comm> comms;
  for (int i = 0; i < count; ++i) comms.push_back(copy_of(world));
  std::vector<std::thread> all;
  for (int i = 0; i < count; ++i)
    // Ranks begin in different orders.
    all.emplace_back([&, i] {
      ++ready;
      while (ready < count) std::this_thread::yield();
      const MPI_Comm comm = comms[static_cast<std::size_t>((i + rank) % count)];
      for (int round = 0; round < 200; ++round) wrong += check_sum(comm, 1 + round % 50 * 20);
    });
  for (std::thread& each : all) each.join();
  for (MPI_Comm& comm : comms) MPI_Comm_free(&comm);
  return wrong;
}

int cycles(int count) {
  int wrong = 0;
  for (int i = 0; i < count; ++i) {
    MPI_Comm comm = copy_of(world);
    wrong += check_sum(comm, 1 + i % 7);
    MPI_Comm_free(&comm);
  }
  return wrong;
}

// The `kind`th way to make a communicator; null where this rank is no member.
MPI_Comm made(int kind, MPI_Comm node, int node_rank) {
  MPI_Comm comm = MPI_COMM_NULL;
  const bool odd = rank % 2 == 1;
  switch (kind % 8) {
    case 0:
      MPI_Comm_split(world, 0, -rank, &comm);
      break;
    case 1:
      MPI_Comm_split(world, rank % 2, odd ? rank : -rank, &comm);
      break;
    case 2:  // one rank a node
      MPI_Comm_split(world, node_rank == 0 ? 0 : MPI_UNDEFINED, -rank, &comm);
      break;
    case 3:  // on one node, in the other order
      MPI_Comm_split(node, 0, -rank, &comm);
      break;
    case 4: {
      MPI_Group all, reversed;
      MPI_Comm_group(world, &all);
      std::vector<int> ranks;
      for (int i = size; i-- > 0;) ranks.push_back(i);
      MPI_Group_incl(all, size, ranks.data(), &reversed);
      MPI_Comm_create(world, reversed, &comm);
      MPI_Group_free(&all);
      MPI_Group_free(&reversed);
      break;
    }
    case 5: {
      MPI_Group all, ends;
      const int ranks[] = {size - 1, 0};
      MPI_Comm_group(world, &all);
      MPI_Group_incl(all, 2, ranks, &ends);
      if (rank == 0 || rank == size - 1) MPI_Comm_create_group(world, ends, 9, &comm);
      MPI_Group_free(&all);
      MPI_Group_free(&ends);
      break;
    }
    case 6:  // the members of rank 0's node with those of the last one's, by turns
      MPI_Comm_split(world, node_rank, (rank * 5) % 7, &comm);
      break;
    default:
      MPI_Comm_dup(world, &comm);
  }
  return comm;
}

// Many that are alive at once, first used in another order than they were made in, and freed in yet
// another one.
int alive(int count) {
  int wrong = 0, node_rank = 0;
  MPI_Comm node;
  MPI_Comm_split_type(world, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
  MPI_Comm_rank(node, &node_rank);
  std::vector<MPI_Comm> comms;
  for (int i = 0; i < count; ++i) comms.push_back(made(i, node, node_rank));
  for (int round = 0; round < 2; ++round)
    for (int i = 0; i < count; ++i) {
      MPI_Comm comm = comms[static_cast<std::size_t>((count - 1 - i) * 7 % count)];
      int members = 0;
      if (comm == MPI_COMM_NULL) continue;
      MPI_Comm_size(comm, &members);
      wrong += i % 10 == 0 ? check_all(comm, i % 33, i % members) : check_sum(comm, 3);
    }
  for (int i = 0; i < count; ++i) {
    MPI_Comm& comm = comms[static_cast<std::size_t>(i * 11 % count)];
    if (comm != MPI_COMM_NULL) MPI_Comm_free(&comm);
  }
  MPI_Comm_free(&node);
  return wrong + check_all(world, 5, 0);
}

// All ranks, in an order that the two groups give: those of odd rank before or after the others.
MPI_Comm merged(int round) {
  const int odd = rank % 2, theirs = 1 - odd;
  const bool falls = round % 3 == 0;  // the highest rank of each group is its first member
  const int highest = size - ((size - 1) % 2 == theirs ? 1 : 2);
  MPI_Comm half, both, all;
  MPI_Comm_split(world, odd, falls ? -rank : rank, &half);
  MPI_Intercomm_create(half, 0, world, falls ? highest : theirs, 21, &both);
  MPI_Intercomm_merge(both, odd == round % 2, &all);
  MPI_Comm_free(&both);
  MPI_Comm_free(&half);
  return all;
}

// Communicators that not all members of another one make together, and what is made of them.
int others(int rounds) {
  int wrong = 0;
  MPI_Group everyone, ends;
  MPI_Comm_group(world, &everyone);
  const int ranks[] = {size - 1, 0};
  MPI_Group_incl(everyone, 2, ranks, &ends);
  for (int round = 0; round < rounds; ++round) {
    MPI_Comm comms[] = {merged(round), MPI_COMM_NULL, MPI_COMM_NULL};
    if (rank == 0 || rank == size - 1) MPI_Comm_create_group(world, ends, 9, &comms[1]);
    MPI_Request request;
    MPI_Comm_idup(world, &comms[2], &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    for (MPI_Comm& comm : comms) {
      if (comm == MPI_COMM_NULL) continue;
      int members = 0;
      MPI_Comm_size(comm, &members);
      MPI_Comm copy = round % 2 == 0 ? copy_of(comm) : MPI_COMM_NULL;
      wrong += check_all(comm, 1 + round, round % members);
      if (copy == MPI_COMM_NULL) copy = copy_of(comm);
      wrong += check_all(copy, 3, (round + 1) % members);
      MPI_Comm_free(&copy);
      MPI_Comm_free(&comm);
    }
  }
  MPI_Group_free(&ends);
  MPI_Group_free(&everyone);
  return wrong;
}

// As many duplicates at once as the MPI has, but at most `count`, each used once it is there.
int crowded(int count) {
  std::vector<MPI_Comm> comms;
  int wrong = 0;
  for (int i = 0; i < count; ++i) {
    comms.push_back(copy_of(world));
    wrong += check_sum(comms.back(), 2);
  }
  for (int i = 0; i < count; i += 97) wrong += check_all(comms[static_cast<std::size_t>(i)], 3, 0);
  for (MPI_Comm& comm : comms) MPI_Comm_free(&comm);
  MPI_Comm comm = copy_of(world);
  wrong += check_sum(comm, 2);
  MPI_Comm_free(&comm);
  return wrong;
}

// Every root, from nothing to several MiB.
int roots(int most) {
  int wrong = 0;
  MPI_Comm reversed = made(4, MPI_COMM_NULL, 0);
  for (const int count : {0, 1, 2, 63, 1000, 5000, 20'000, 70'001, 400'000, 1'500'000})
    if (count <= most)
      for (int root = 0; root < (count > 100'000 ? 2 : size); ++root) {
        wrong += check_all(world, count, root);
        wrong += check_all(reversed, count, root);
      }
  MPI_Comm_free(&reversed);
  return wrong;
}

void add(void* in, void* sum, int* count, MPI_Datatype*) {
  for (int i = 0; i < *count; ++i) static_cast<int*>(sum)[i] += static_cast<int*>(in)[i];
}

// Tutti takes those that do not commute up to a length, and leaves others to the MPI.
int operations() {
  int wrong = 0;
  MPI_Op commuting, not_commuting, first;
  MPI_Op_create(take_first, 0, &first);
  MPI_Op_create(add, 1, &commuting);
  MPI_Op_create(add, 0, &not_commuting);
  MPI_Comm comm = copy_of(world);
  for (int round = 0; round < 10; ++round)
    for (MPI_Op op : {commuting, not_commuting, MPI_SUM}) {
      const int count = 1 + round * 900;
      std::vector<int> mine = values_of(rank, count), sums(mine.size());
      MPI_Allreduce(mine.data(), sums.data(), count, MPI_INT, op, comm);
      wrong += sums != sums_of(size, count);
      MPI_Reduce(mine.data(), sums.data(), count, MPI_INT, op, round % size, comm);
      wrong += rank == round % size && sums != sums_of(size, count);
      MPI_Scan(mine.data(), sums.data(), count, MPI_INT, op, comm);
      wrong += sums != sums_of(rank + 1, count);
    }
  for (const int count : {1, 900, 40'000, 300'000}) {
    std::vector<int> mine = values_of(rank, count), found(mine.size());
    MPI_Request request;
    MPI_Allreduce(mine.data(), found.data(), count, MPI_INT, first, comm);
    wrong += found != values_of(0, count);
    MPI_Iallreduce(mine.data(), found.data(), count, MPI_INT, first, comm, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    wrong += found != values_of(0, count);
    MPI_Ireduce(mine.data(), found.data(), count, MPI_INT, first, size - 1, comm, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    wrong += rank == size - 1 && found != values_of(0, count);
  }
  MPI_Op_free(&first);
  MPI_Comm_free(&comm);
  MPI_Op_free(&commuting);
  MPI_Op_free(&not_commuting);
  return wrong;
}

// Some free a communicator, and make and use the next one, while others still are in it.
int freed(int rounds) {
  int wrong = 0;
  for (int round = 0; round < rounds; ++round) {
    MPI_Comm comm = copy_of(world);
    const int root = round % size;
    std::vector<int> data = rank == root ? values_of(root, 9) : std::vector<int>(9, -1);
    if (rank == (root + 1) % size && round % 10 == 0) usleep(5'000);
    wrong += round % 3 == 0 ? check_sum(comm, 5) : 0;
    MPI_Bcast(data.data(), 9, MPI_INT, root, comm);
    wrong += data != values_of(root, 9);
    MPI_Comm_free(&comm);
    MPI_Comm half;
    MPI_Comm_split(world, (rank + round) % 2, rank * (round % 2 == 0 ? 1 : -1), &half);
    wrong += check_sum(half, 4);
    MPI_Comm_free(&half);
  }
  return wrong;
}

// Members that only send run ahead of the others, by many calls.
int ahead(int calls) {
  int wrong = 0;
  for (int call = 0; call < calls; ++call) {
    int told = rank == 0 ? call : -1;
    MPI_Bcast(&told, 1, MPI_INT, 0, world);
    wrong += told != call;
    int sum = 0;
    MPI_Reduce(&told, &sum, 1, MPI_INT, MPI_SUM, size - 1, world);
    wrong += rank == size - 1 && sum != size * call;
  }
  return wrong;
}

#if HAS_SESSIONS
// The same while one rank has a session open, whose communicators would outlive the world's.
int beside(int rounds) {
  MPI_Session session = MPI_SESSION_NULL;
  if (rank == 1) MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
  int wrong = others(rounds);
  if (rank == 1) MPI_Session_finalize(&session);
  return wrong + others(1);
}
#endif

}  // namespace

int main(int count, char** words) {
  const std::string what = words[1];
  const int n = count > 2 ? std::atoi(words[2]) : 0;
  const int level = what == "overlapped" ? n : what == "threads" ? 3 : 0;
  constexpr int levels[] = {MPI_THREAD_SINGLE, MPI_THREAD_FUNNELED, MPI_THREAD_SERIALIZED,
                            MPI_THREAD_MULTIPLE};
  int provided = 0, wrong = -1;
  MPI_Init_thread(nullptr, nullptr, levels[level], &provided);
  MPI_Comm_rank(world, &rank);
  MPI_Comm_size(world, &size);
  if (what == "overlapped") wrong = overlapped();
  if (what == "outlasted") wrong = outlasted();
  if (what == "outstanding") wrong = outstanding();
  if (what == "awaited") wrong = awaited();
  if (what == "threads") wrong = threads(n);
  if (what == "cycles") wrong = cycles(n);
  if (what == "alive") wrong = alive(n);
  if (what == "others") wrong = others(n);
#if HAS_SESSIONS
  if (what == "beside") wrong = beside(n);
#endif
  if (what == "crowded") wrong = crowded(n);
  if (what == "roots") wrong = roots(n);
  if (what == "operations") wrong = operations();
  if (what == "freed") wrong = freed(n);
  if (what == "ahead") wrong = ahead(n);
  wrong += 1000 * (provided < levels[level]);
  MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_SUM, world);
  if (rank == 0) std::printf("spans: %d wrong\n", wrong);
  MPI_Finalize();
  return wrong != 0;
}
