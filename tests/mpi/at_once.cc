// SPDX-License-Identifier: BSD-3-Clause
// Collectives that nobody needs to wait in: on communicators of one rank, and without data on one
// of all ranks. Each is called with Tutti and past it: the same results, the same error classes.
// Prints "at_once: N compared, W wrong"; with an argument, calls with errors too.
#include <mpi.h>

#include <cstdio>
#include <cstring>
#include <functional>
#include <vector>

#include "bare.h"

namespace {

constexpr int room = 64;  // ints
long g_compared = 0, g_wrong = 0;

struct Buffers {
  int send[room], recv[room];
};
struct Arguments {
  Buffers* at;
  const void* send;  // or MPI_IN_PLACE
  int count;
  MPI_Datatype type, to;  // elements of the same data
  int to_count;
  MPI_Comm comm;
  const int* counts;
  const int* to_counts;
  const int* places;
  const MPI_Datatype* types;
  const MPI_Datatype* to_types;
};
struct Collective {
  const char* name;
  int (*call[2])(const Arguments&);
};

// Some are waited for, some tested, some freed once they are over.
int finish(int code, MPI_Request* request) {
  static unsigned turn = 0;
  if (code != MPI_SUCCESS) return code;
  int done = 0;
  switch (turn++ % 3) {
    case 0:
      return MPI_Wait(request, MPI_STATUS_IGNORE);
    case 1:
      while (!done) code = MPI_Testall(1, request, &done, MPI_STATUSES_IGNORE);
      return code;
    default:
      while (!done) code = MPI_Request_get_status(*request, &done, MPI_STATUS_IGNORE);
      MPI_Request_free(request);
      return code;
  }
}
#define BOTH(Name, name, ...)                                                \
  {#Name,                                                                    \
   {[](const Arguments& a) { return MPI_##Name(__VA_ARGS__, a.comm); },      \
    [](const Arguments& a) { return BARE(Name)(__VA_ARGS__, a.comm); }}},    \
  {                                                                          \
    "I" #name, {                                                             \
      [](const Arguments& a) {                                               \
        MPI_Request request = MPI_REQUEST_NULL;                              \
        return finish(MPI_I##name(__VA_ARGS__, a.comm, &request), &request); \
      },                                                                     \
          [](const Arguments& a) { return BARE(Name)(__VA_ARGS__, a.comm); } \
    }                                                                        \
  }

// What computes takes integers, to where the sender's elements lie alike.
const Collective computing[] = {
    BOTH(Reduce, reduce, a.send, a.at->recv, a.count, MPI_INT, MPI_SUM, 0),
    BOTH(Allreduce, allreduce, a.send, a.at->recv, a.count, MPI_INT, MPI_SUM),
    BOTH(Reduce_scatter, reduce_scatter, a.send, a.at->recv, a.counts, MPI_INT, MPI_SUM),
    BOTH(Reduce_scatter_block, reduce_scatter_block, a.send, a.at->recv, a.count, MPI_INT, MPI_SUM),
    BOTH(Scan, scan, a.send, a.at->recv, a.count, MPI_INT, MPI_SUM),
};
const Collective moving[] = {
    BOTH(Bcast, bcast, a.at->recv, a.to_count, a.to, 0),
    BOTH(Gather, gather, a.send, a.count, a.type, a.at->recv, a.to_count, a.to, 0),
    BOTH(Scatter, scatter, a.at->send, a.count, a.type,
         a.send == MPI_IN_PLACE ? MPI_IN_PLACE : a.at->recv, a.to_count, a.to, 0),
    BOTH(Allgather, allgather, a.send, a.count, a.type, a.at->recv, a.to_count, a.to),
    BOTH(Allgatherv, allgatherv, a.send, a.count, a.type, a.at->recv, a.to_counts, a.places, a.to),
    BOTH(Alltoall, alltoall, a.send, a.count, a.type, a.at->recv, a.to_count, a.to),
};
const Collective listing[] = {
    BOTH(Gatherv, gatherv, a.send, a.count, a.type, a.at->recv, a.to_counts, a.places, a.to, 0),
    BOTH(Scatterv, scatterv, a.at->send, a.counts, a.places, a.type,
         a.send == MPI_IN_PLACE ? MPI_IN_PLACE : a.at->recv, a.to_count, a.to, 0),
    BOTH(Alltoallv, alltoallv, a.send, a.counts, a.places, a.type, a.at->recv, a.to_counts,
         a.places, a.to),
    BOTH(Alltoallw, alltoallw, a.send, a.counts, a.places, a.types, a.at->recv, a.to_counts,
         a.places, a.to_types),
};

void compare(const Collective& collective, const Arguments& arguments, const char* what) {
  Buffers filled[2];
  int classes[2];
  for (int which : {1, 0}) {
    Buffers& buffers = filled[which];
    for (int i = 0; i < room; ++i) buffers.send[i] = 1000 + i, buffers.recv[i] = -i;
    Arguments own = arguments;
    own.at = &buffers;
    if (own.send == nullptr) own.send = buffers.send;
    const int code = collective.call[which](own);
    MPI_Error_class(code, &classes[which]);
  }
  ++g_compared;
  const bool same = classes[0] != MPI_SUCCESS ||
                    std::memcmp(filled[0].recv, filled[1].recv, sizeof filled[0].recv) == 0;
  if (classes[0] == classes[1] && same) return;
  ++g_wrong;
  std::printf("WRONG: %s, %s: class %d, bare %d%s\n", collective.name, what, classes[0], classes[1],
              same ? "" : ", other data");
}

struct Shape {
  const char* name;
  MPI_Datatype type;
  int count;
};

// Six integers each.
std::vector<Shape> shapes() {
  std::vector<Shape> all = {{"integers", MPI_INT, 6}};
  MPI_Datatype pairs, far, dealt;
  MPI_Type_vector(3, 2, 5, MPI_INT, &pairs);
  MPI_Type_create_resized(MPI_INT, 0, 4 * sizeof(int), &far);
  // Every second of twelve, which only the MPI can pack.
  const int twelve = 12, cyclic = MPI_DISTRIBUTE_CYCLIC, one = 1, processes = 2;
  MPI_Type_create_darray(2, 0, 1, &twelve, &cyclic, &one, &processes, MPI_ORDER_C, MPI_INT, &dealt);
  MPI_Type_commit(&dealt);
  MPI_Type_commit(&pairs);
  MPI_Type_commit(&far);
  all.push_back({"pairs", pairs, 1});
  all.push_back({"far apart", far, 6});
  all.push_back({"dealt", dealt, 1});
  return all;
}

template <std::size_t N>
void compare_all(const Collective (&collectives)[N], const Arguments& arguments, const char* what) {
  for (const Collective& each : collectives) compare(each, arguments, what);
}

void alone(MPI_Comm comm, bool with_errors) {
  const int zero = 0, none = 0, six = 6;
  MPI_Barrier(comm);
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Ibarrier(comm, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  const std::vector<Shape> all = shapes();
  for (const Shape& from : all)
    for (const Shape& to : all) {
      Arguments arguments{nullptr, nullptr,     from.count, from.type, to.type,    to.count,
                          comm,    &from.count, &to.count,  &zero,     &from.type, &to.type};
      compare_all(moving, arguments, to.name);
      compare_all(listing, arguments, to.name);
      arguments.send = MPI_IN_PLACE;
      compare_all(moving, arguments, "in place");
      compare_all(listing, arguments, "in place");
      arguments.send = nullptr;
      arguments.count = arguments.to_count = 0;
      arguments.counts = arguments.to_counts = &none;
      compare_all(moving, arguments, "nothing");
      compare_all(listing, arguments, "nothing");
    }
  for (const void* send :
       {static_cast<const void*>(nullptr), static_cast<const void*>(MPI_IN_PLACE)})
    for (const int* count : {&six, &none})
      compare_all(computing,
                  {nullptr, send, *count, MPI_INT, MPI_INT, *count, comm, count, count, &zero,
                   nullptr, nullptr},
                  "computing");
  if (!with_errors) return;
  const int two = 2;
  const Arguments more{nullptr, nullptr, 6,    MPI_INT, MPI_INT, 2,
                       comm,    &six,    &two, &zero,   nullptr, nullptr};
  for (const Collective& each : moving)
    if (each.name[0] != 'I' && std::strcmp(each.name, "Bcast") != 0)
      compare(each, more, "too much");
}

// Without data, whatever the others do meanwhile.
void without_data() {
  int size = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const auto many = static_cast<std::size_t>(size);
  const std::vector<int> none(many, 0);
  const std::vector<MPI_Datatype> types(many, MPI_INT);
  MPI_Datatype empty;
  MPI_Type_contiguous(0, MPI_INT, &empty);
  MPI_Type_commit(&empty);
  for (const MPI_Datatype type : {MPI_INT, empty}) {
    const Arguments arguments{nullptr,        nullptr,      type == empty ? 3 : 0,
                              type,           type,         type == empty ? 3 : 0,
                              MPI_COMM_WORLD, none.data(),  none.data(),
                              none.data(),    types.data(), types.data()};
    compare_all(moving, arguments, "nothing, all ranks");
  }
  const Arguments arguments{
      nullptr,        nullptr,     0,           MPI_INT,     MPI_INT,      0,
      MPI_COMM_WORLD, none.data(), none.data(), none.data(), types.data(), types.data()};
  compare_all(listing, arguments, "nothing, all ranks");
  compare_all(computing, arguments, "nothing, all ranks");
  const Collective exscan[] = {BOTH(Exscan, exscan, a.send, a.at->recv, a.count, MPI_INT, MPI_SUM)};
  compare_all(exscan, arguments, "nothing, all ranks");
  MPI_Type_free(&empty);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  for (MPI_Comm comm : {MPI_COMM_WORLD, MPI_COMM_SELF})
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm copy, part;
  MPI_Comm_dup(MPI_COMM_SELF, &copy);
  MPI_Comm_split(MPI_COMM_WORLD, rank, 0, &part);
  for (MPI_Comm comm : {MPI_COMM_SELF, copy, part}) alone(comm, argc > 1);
  without_data();
  // They have not lost each other.
  int sum = 1;
  MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  int size = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  g_wrong += sum != size;
  long all[2] = {g_compared, g_wrong};
  BARE(Allreduce)(MPI_IN_PLACE, all, 2, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) std::printf("at_once: %ld compared, %ld wrong\n", all[0], all[1]);
  MPI_Comm_free(&copy);
  MPI_Comm_free(&part);
  MPI_Finalize();
  return all[1] != 0;
}
