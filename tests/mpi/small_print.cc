// SPDX-License-Identifier: BSD-3-Clause
// What programs seldom do, and MPI allows: functions for attributes of MPI_COMM_SELF and of
// datatypes, buffers that are one another's gaps, gaps of pairs, buffers that do not count. Prints
// "small_print: N wrong". With "in place" or "null" also what MPI does not allow, and some MPIs
// crash in.
#include <mpi.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "bare.h"

namespace {

constexpr int room = 64;  // ints
constexpr int count_of_pairs = 3;
int g_wrong = 0, g_copied = 0;

void expect(bool right, const char* what) {
  if (right) return;
  ++g_wrong;
  std::printf("small_print: %s\n", what);
}

int count_copy(MPI_Datatype, int, void*, void*, void*, int* flag) {
  ++g_copied;
  *flag = 0;
  return MPI_SUCCESS;
}

// In MPI_Finalize, with what the program has set.
int at_the_end(MPI_Comm, int, void* memory, void*) {
  MPI_Errhandler handler;
  MPI_Comm_get_errhandler(MPI_COMM_WORLD, &handler);
  expect(handler == MPI_ERRORS_ARE_FATAL, "MPI_COMM_WORLD has another error handler at the end");
  auto* const calls = static_cast<int*>(memory);
  expect(++*calls == 1, "a function of MPI_COMM_SELF's is called twice");
  return MPI_SUCCESS;
}

// The odd elements become copies of the even ones, in place.
void fill_gaps() {
  MPI_Datatype even, odd;
  const MPI_Aint places[] = {sizeof(int), 3 * sizeof(int)};
  MPI_Type_vector(2, 1, 2, MPI_INT, &even);
  MPI_Type_create_hindexed_block(2, 1, places, MPI_INT, &odd);
  MPI_Type_commit(&even);
  MPI_Type_commit(&odd);
  int all[] = {1, 2, 3, 4};
  MPI_Allgather(all, 1, even, all, 1, odd, MPI_COMM_SELF);
  expect(all[0] == 1 && all[1] == 1 && all[2] == 3 && all[3] == 3, "gaps were not filled");
  int later[] = {5, 6, 7, 8};
  MPI_Request request;
  MPI_Ialltoall(later, 1, even, later, 1, odd, MPI_COMM_SELF, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  expect(later[1] == 5 && later[3] == 7, "gaps were not filled in the background");
  MPI_Type_free(&even);
  MPI_Type_free(&odd);
}

// Of a pair that C pads: nobody's bytes lie between value and index, and behind them.
template <class Value>
void keep_gaps(MPI_Datatype type, MPI_Comm comm, const char* name) {
  struct Pair {
    Value value;
    int index;
  };
  constexpr std::size_t used = sizeof(Value) < 16 ? sizeof(Value) : 10;  // of a long double
  constexpr int count = count_of_pairs;
  int rank, size;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  std::vector<unsigned char> sent(count * sizeof(Pair), static_cast<unsigned char>(rank + 1));
  for (int i = 0; i < count; ++i) {
    const Value value = static_cast<Value>(10 + rank);
    unsigned char* const at = &sent[i * sizeof(Pair)];
    std::memcpy(at, &value, sizeof value);
    std::memcpy(at + offsetof(Pair, index), &rank, sizeof rank);
  }
  constexpr unsigned char nobodys = 0x5a;
  std::vector<unsigned char> got;
  const auto check = [&](const char* what, int greatest, int last = count_of_pairs) {
    for (int i = 0; i < last; ++i) {
      const unsigned char* const at = &got[i * sizeof(Pair)];
      Value value = 0;
      int index;
      std::memcpy(&value, at, used);
      std::memcpy(&index, at + offsetof(Pair, index), sizeof index);
      bool right = value == static_cast<Value>(10 + greatest) && index == greatest;
      for (std::size_t b = sizeof(Value); b < sizeof(Pair); ++b)
        if (b < offsetof(Pair, index) || b >= offsetof(Pair, index) + sizeof(int))
          right = right && at[b] == nobodys;
      expect(right, (std::string(what) + " of " + name).c_str());
    }
  };
  const auto clear = [&] { got.assign(sent.size(), nobodys); };
  clear();
  MPI_Allreduce(sent.data(), got.data(), count, type, MPI_MAXLOC, comm);
  check("an Allreduce", size - 1);
  clear();
  MPI_Reduce(sent.data(), got.data(), count, type, MPI_MAXLOC, 0, comm);
  if (rank == 0) check("a Reduce", size - 1);
  clear();
  MPI_Scan(sent.data(), got.data(), count, type, MPI_MAXLOC, comm);
  check("a Scan", rank);
  clear();
  MPI_Request request;
  MPI_Iallreduce(sent.data(), got.data(), count, type, MPI_MAXLOC, comm, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  check("an Iallreduce", size - 1);
  if (size <= count) {
    std::vector<int> counts(size, 1);
    clear();
    MPI_Reduce_scatter(sent.data(), got.data(), counts.data(), type, MPI_MAXLOC, comm);
    check("a Reduce_scatter", size - 1, 1);
    const unsigned char untouched = got[sizeof(Pair)];
    expect(untouched == nobodys, "a Reduce_scatter writes behind its result");
  }
  // In place the gaps are the rank's own.
  got = sent;
  for (int i = 0; i < count; ++i)
    for (std::size_t b = sizeof(Value); b < sizeof(Pair); ++b)
      if (b < offsetof(Pair, index) || b >= offsetof(Pair, index) + sizeof(int))
        got[i * sizeof(Pair) + b] = nobodys;
  MPI_Allreduce(MPI_IN_PLACE, got.data(), count, type, MPI_MAXLOC, comm);
  check("an Allreduce in place", size - 1);
}

void keep_gaps_of_pairs() {
  for (const MPI_Comm comm : {MPI_COMM_WORLD, MPI_COMM_SELF}) {
    keep_gaps<double>(MPI_DOUBLE_INT, comm, "MPI_DOUBLE_INT");
    keep_gaps<long>(MPI_LONG_INT, comm, "MPI_LONG_INT");
    keep_gaps<short>(MPI_SHORT_INT, comm, "MPI_SHORT_INT");
    keep_gaps<long double>(MPI_LONG_DOUBLE_INT, comm, "MPI_LONG_DOUBLE_INT");
    keep_gaps<float>(MPI_FLOAT_INT, comm, "MPI_FLOAT_INT");
  }
}

#ifdef MPIX_EQUAL
// Whether all ranks give the same: the result is one int, whatever the count.
void compare(int rank, int size) {
  int same[4] = {1, 2, 3, 4}, others[4] = {1, 2, 3, rank}, equal[2] = {-1, -1};
  MPI_Allreduce(same, equal, 4, MPI_INT, MPIX_EQUAL, MPI_COMM_WORLD);
  expect(equal[0] == 1 && equal[1] == -1, "equal vectors");
  MPI_Allreduce(others, equal, 4, MPI_INT, MPIX_EQUAL, MPI_COMM_WORLD);
  expect(equal[0] == (size == 1) && equal[1] == -1, "vectors that are not equal");
}
#endif

// A type that only the MPI can read, with an attribute.
void keep_types(int rank, int size) {
  int keyval;
  MPI_Type_create_keyval(count_copy, MPI_TYPE_NULL_DELETE_FN, &keyval, nullptr);
  const int sizes[] = {8}, how[] = {MPI_DISTRIBUTE_CYCLIC}, with[] = {1}, of[] = {2};
  MPI_Datatype type;
  MPI_Type_create_darray(2, 0, 1, sizes, how, with, of, MPI_ORDER_C, MPI_INT, &type);
  MPI_Type_commit(&type);
  int value = 0;
  MPI_Type_set_attr(type, keyval, &value);
  int data[8] = {rank, rank, rank, rank, rank, rank, rank, rank};
  MPI_Request request;
  MPI_Ibcast(data, 1, type, size - 1, MPI_COMM_WORLD, &request);
  MPI_Type_free(&type);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  for (int i = 0; i < 8; ++i) expect(data[i] == (i % 2 == 0 ? size - 1 : rank), "a darray's data");
  expect(g_copied == 0, "a function for a datatype was called");
  MPI_Type_free_keyval(&keyval);
}

// The first rank has no result of an Exscan; some MPIs want a place for it all the same.
void leave_out_result(int rank) {
  int before = -1;
  const int mine = rank + 1;
  MPI_Comm comm;
  MPI_Comm_split(MPI_COMM_SELF, 0, 0, &comm);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  const int code = BARE(Exscan)(&mine, MPI_IN_PLACE, 1, MPI_INT, MPI_SUM, comm);
  MPI_Comm_free(&comm);
  if (code != MPI_SUCCESS) return;
  MPI_Exscan(&mine, rank == 0 ? MPI_IN_PLACE : static_cast<void*>(&before), 1, MPI_INT, MPI_SUM,
             MPI_COMM_WORLD);
  expect(rank == 0 || before == rank * (rank + 1) / 2, "an Exscan");
}

// An error of the MPI's, on all ranks.
void refuse(const char* what, int (*call)(MPI_Comm, bool bare)) {
  MPI_Comm comm;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  int code, native;
  MPI_Error_class(call(comm, false), &code);
  MPI_Error_class(call(comm, true), &native);
  expect(code != MPI_SUCCESS && code == native, what);
  MPI_Comm_free(&comm);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, size, keyval;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  static int calls = 0;
  MPI_Comm_create_keyval(MPI_COMM_DUP_FN, at_the_end, &keyval, nullptr);
  MPI_Comm_set_attr(MPI_COMM_SELF, keyval, &calls);

  fill_gaps();
  keep_types(rank, size);

  keep_gaps_of_pairs();
#ifdef MPIX_EQUAL
  compare(rank, size);
#endif
  leave_out_result(rank);
  const std::string wrong = argc > 1 ? argv[1] : "";
  if (wrong == "in place") {
    refuse("MPI_IN_PLACE in a Bcast", [](MPI_Comm comm, bool bare) {
      return (bare ? BARE(Bcast) : MPI_Bcast)(MPI_IN_PLACE, 1, MPI_INT, 0, comm);
    });
    refuse("MPI_IN_PLACE in a Bcast of a vector", [](MPI_Comm comm, bool bare) {
      MPI_Datatype type;
      MPI_Type_vector(2, 1, 2, MPI_INT, &type);
      MPI_Type_commit(&type);
      const int code = (bare ? BARE(Bcast) : MPI_Bcast)(MPI_IN_PLACE, 1, type, 0, comm);
      MPI_Type_free(&type);
      return code;
    });
  }
  if (wrong == "null") {
    refuse("null in an Allgather", [](MPI_Comm comm, bool bare) {
      int to[room];
      return (bare ? BARE(Allgather) : MPI_Allgather)(nullptr, 1, MPI_INT, to, 1, MPI_INT, comm);
    });
    refuse("null in an Alltoall", [](MPI_Comm comm, bool bare) {
      int from[room] = {};
      return (bare ? BARE(Alltoall) : MPI_Alltoall)(from, 1, MPI_INT, nullptr, 1, MPI_INT, comm);
    });
  }
  std::printf("small_print: %d wrong\n", g_wrong);
  std::fflush(stdout);  // launchers may lose what comes after MPI_Finalize
  MPI_Finalize();       // the exit code tells of what is wrong in it
  return g_wrong != 0;
}
