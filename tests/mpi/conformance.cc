// SPDX-License-Identifier: BSD-3-Clause
// Every result of MPI_X under Tutti against the MPI's own, in one process: collective x datatype x
// operation x count x root x in place x communicator. Compiled by each MPI's own mpicxx.
//
//   conformance [--stride N] [--expect WAY] [--reduce-in-place 0] [--reduce-to-null 0]
//
// --stride N tries every Nth case (the same ones on all ranks): where ranks share cores, a PMPI
// call can take a hundred milliseconds. --expect says which way large heap buffers must have gone.
// --reduce-in-place 0 is for an MPI whose own MPI_Reduce crashes in place, --reduce-to-null 0 for
// one that crashes where ranks that get no result have no place for one. Ends with a line
// "conformance: N compared, N wrong".
#include <dlfcn.h>
#include <mpi.h>

#include <complex>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "bare.h"
#include "compose.h"

namespace {

long g_compared = 0, g_wrong = 0;
long g_stride = 1, g_case = 0;
int g_world_rank = 0;
bool g_reduce_in_place = true;
bool g_reduce_to_null = true;
std::string g_expect;
const char* (*g_last_way)() = nullptr;

constexpr std::size_t buffer_bytes = 4u << 20;
constexpr std::size_t guard_bytes = 64;
// Two results and one operand, as heap blocks and as static memory.
struct Buffers {
  unsigned char *send, *mine, *theirs;
};
alignas(64) unsigned char g_static[3][buffer_bytes + guard_bytes];
Buffers g_heap;

// Which memory this rank uses in this case: ranks differ on purpose.
Buffers buffers(bool all_heap) {
  const bool heap = all_heap || (g_case * 7 + g_world_rank * 3) % 5 < 3;
  return heap ? g_heap : Buffers{g_static[0], g_static[1], g_static[2]};
}

unsigned next_random(unsigned& state) {
  state = state * 1664525u + 1013904223u;
  return state >> 8;
}

enum class Class { integer, real, complex, logical, pair };

struct Type {
  const char* name;
  MPI_Datatype handle;
  std::size_t extent;
  Class kind;
  // Writes element i: a small value, so that sums and products of a few ranks are exact.
  void (*put)(unsigned char* at, unsigned value);
  std::size_t compared;  // bytes of an element that carry data (pairs: see `pair_value`)
  std::size_t index_at;  // pairs: offset of the index
};

template <class T>
void put(unsigned char* at, unsigned value) {
  const T v = static_cast<T>(value % 3 + 1);
  std::memcpy(at, &v, sizeof v);
}
template <class T>
void put_complex(unsigned char* at, unsigned value) {
  const T parts[2] = {static_cast<T>(value % 3), static_cast<T>(value / 3 % 2)};
  std::memcpy(at, parts, sizeof parts);
}
void put_bool(unsigned char* at, unsigned value) { *at = value % 2; }
// Everything but 0 is true.
void put_logical(unsigned char* at, unsigned value) {
  static const int values[] = {0, 1, 0, 1, 2, -1};
  std::memcpy(at, &values[value % 6], sizeof(int));
}
// Where an MPI was built without Fortran it may know the type and do nothing with it.
bool has_logical() {
  int one = 1, sum = 0;
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  return MPI_LOGICAL != MPI_DATATYPE_NULL &&
         MPI_Reduce_local(&one, &sum, 1, MPI_LOGICAL, MPI_LOR) == MPI_SUCCESS && sum == 1;
}
template <class V, class I>
struct Pair {
  V value;
  I index;
};
template <class V, class I>
void put_pair(unsigned char* at, unsigned value) {
  Pair<V, I> pair;
  std::memset(static_cast<void*>(&pair), 0, sizeof pair);
  pair.value = static_cast<V>(value % 3);
  pair.index = static_cast<I>(value / 3 % 50);
  std::memcpy(at, &pair, sizeof pair);
}

template <class T>
Type plain(const char* name, MPI_Datatype handle, Class kind) {
  return {name, handle, sizeof(T), kind, put<T>, sizeof(T), 0};
}
template <class V, class I>
Type pair(const char* name, MPI_Datatype handle) {
  using Element = Pair<V, I>;
  return {name,           handle,    sizeof(Pair<V, I>),      Class::pair,
          put_pair<V, I>, sizeof(V), offsetof(Element, index)};
}

std::vector<Type> all_types() {
  const Class i = Class::integer, r = Class::real;
  std::vector<Type> types = {
      plain<float>("FLOAT", MPI_FLOAT, r),
      plain<double>("DOUBLE", MPI_DOUBLE, r),
      plain<int>("INT", MPI_INT, i),
      plain<long double>("LONG_DOUBLE", MPI_LONG_DOUBLE, r),
      plain<signed char>("SIGNED_CHAR", MPI_SIGNED_CHAR, i),
      plain<unsigned char>("UNSIGNED_CHAR", MPI_UNSIGNED_CHAR, i),
      plain<short>("SHORT", MPI_SHORT, i),
      plain<unsigned short>("UNSIGNED_SHORT", MPI_UNSIGNED_SHORT, i),
      plain<unsigned>("UNSIGNED", MPI_UNSIGNED, i),
      plain<long>("LONG", MPI_LONG, i),
      plain<unsigned long>("UNSIGNED_LONG", MPI_UNSIGNED_LONG, i),
      plain<long long>("LONG_LONG", MPI_LONG_LONG, i),
      plain<unsigned long long>("UNSIGNED_LONG_LONG", MPI_UNSIGNED_LONG_LONG, i),
      plain<std::int8_t>("INT8_T", MPI_INT8_T, i),
      plain<std::int16_t>("INT16_T", MPI_INT16_T, i),
      plain<std::int32_t>("INT32_T", MPI_INT32_T, i),
      plain<std::int64_t>("INT64_T", MPI_INT64_T, i),
      plain<std::uint8_t>("UINT8_T", MPI_UINT8_T, i),
      plain<std::uint16_t>("UINT16_T", MPI_UINT16_T, i),
      plain<std::uint32_t>("UINT32_T", MPI_UINT32_T, i),
      plain<std::uint64_t>("UINT64_T", MPI_UINT64_T, i),
      plain<MPI_Aint>("AINT", MPI_AINT, i),
      plain<MPI_Offset>("OFFSET", MPI_OFFSET, i),
      plain<MPI_Count>("COUNT", MPI_COUNT, i),
      pair<float, int>("FLOAT_INT", MPI_FLOAT_INT),
      pair<double, int>("DOUBLE_INT", MPI_DOUBLE_INT),
      pair<long, int>("LONG_INT", MPI_LONG_INT),
      pair<int, int>("2INT", MPI_2INT),
      pair<short, int>("SHORT_INT", MPI_SHORT_INT),
      pair<long double, int>("LONG_DOUBLE_INT", MPI_LONG_DOUBLE_INT),
  };
  static const bool with_fortran = has_logical();
  if (with_fortran) types.push_back({"LOGICAL", MPI_LOGICAL, 4, Class::logical, put_logical, 4, 0});
  types.push_back({"C_BOOL", MPI_C_BOOL, 1, Class::logical, put_bool, 1, 0});
  types.push_back(
      {"C_FLOAT_COMPLEX", MPI_C_FLOAT_COMPLEX, 8, Class::complex, put_complex<float>, 8, 0});
  types.push_back(
      {"C_DOUBLE_COMPLEX", MPI_C_DOUBLE_COMPLEX, 16, Class::complex, put_complex<double>, 16, 0});
  types.push_back({"C_LONG_DOUBLE_COMPLEX", MPI_C_LONG_DOUBLE_COMPLEX, 32, Class::complex,
                   put_complex<long double>, 32, 0});
  return types;
}

struct Op {
  const char* name;
  MPI_Op handle;
};

std::vector<Op> ops_for(Class kind) {
  switch (kind) {
    case Class::integer:
      return {{"SUM", MPI_SUM},   {"PROD", MPI_PROD}, {"MIN", MPI_MIN},   {"MAX", MPI_MAX},
              {"LAND", MPI_LAND}, {"LOR", MPI_LOR},   {"LXOR", MPI_LXOR}, {"BAND", MPI_BAND},
              {"BOR", MPI_BOR},   {"BXOR", MPI_BXOR}};
    case Class::real:
      return {{"SUM", MPI_SUM}, {"PROD", MPI_PROD}, {"MIN", MPI_MIN}, {"MAX", MPI_MAX}};
    case Class::complex:
      return {{"SUM", MPI_SUM}, {"PROD", MPI_PROD}};
    case Class::logical:
      return {{"LAND", MPI_LAND}, {"LOR", MPI_LOR}, {"LXOR", MPI_LXOR}};
    case Class::pair:
      return {{"MINLOC", MPI_MINLOC}, {"MAXLOC", MPI_MAXLOC}};
  }
  return {};
}

void fill(unsigned char* at, const Type& type, std::size_t count, int rank) {
  unsigned state = static_cast<unsigned>(g_case * 2654435761u) + static_cast<unsigned>(rank) * 97u;
  for (std::size_t i = 0; i < count; ++i) type.put(at + i * type.extent, next_random(state));
}

template <class T>
bool same_values(const unsigned char* a, const unsigned char* b, std::size_t values) {
  for (std::size_t i = 0; i < values; ++i) {
    T x, y;
    std::memcpy(&x, a + i * sizeof x, sizeof x);
    std::memcpy(&y, b + i * sizeof y, sizeof y);
    if (x != y) return false;
  }
  return true;
}

bool same(const Type& type, const unsigned char* a, const unsigned char* b, std::size_t count) {
  // The sign of a zero depends on the order of the factors.
  if (type.kind == Class::complex && type.extent == 8) return same_values<float>(a, b, 2 * count);
  if (type.kind == Class::complex && type.extent == 16) return same_values<double>(a, b, 2 * count);
  if (type.kind != Class::pair && std::strncmp(type.name, "LONG_DOUBLE", 11) != 0 &&
      std::strncmp(type.name, "C_LONG", 6) != 0)
    return std::memcmp(a, b, count * type.extent) == 0;
  // 80-bit numbers carry 10 bytes of data, pairs a gap.
  const bool long_double = std::strstr(type.name, "LONG_DOUBLE") != nullptr;
  for (std::size_t i = 0; i < count; ++i, a += type.extent, b += type.extent) {
    if (std::memcmp(a, b, long_double ? 10 : type.compared) != 0) return false;
    if (type.kind == Class::complex && std::memcmp(a + 16, b + 16, 10) != 0) return false;
    if (type.kind == Class::pair && std::memcmp(a + type.index_at, b + type.index_at, 4) != 0)
      return false;
  }
  return true;
}

struct Comm {
  const char* name;
  MPI_Comm handle;
  int rank, size;
};

void verdict(bool right, const char* collective, const Comm& comm, const Type& type, const char* op,
             std::size_t count, int root, bool in_place) {
  ++g_compared;
  if (right) return;
  ++g_wrong;
  std::printf("WRONG: rank %d of %s (%d): %s %s %s count %zu root %d%s, way %s\n", comm.rank,
              comm.name, comm.size, collective, type.name, op, count, root,
              in_place ? " in place" : "", g_last_way ? g_last_way() : "-");
}

// Large buffers that everyone has on the heap must have gone the expected way.
void check_way(bool large, const char* collective, std::size_t bytes) {
  if (g_last_way == nullptr || !large || g_expect.empty() || g_expect == g_last_way()) return;
  ++g_wrong;
  std::printf("WRONG WAY: %s of %zu bytes went by %s, not %s\n", collective, bytes, g_last_way(),
              g_expect.c_str());
}

// Scattered, so that no stride falls into step with the loops over collectives and operations.
bool skip() { return (++g_case * 2654435761u >> 13) % static_cast<unsigned long>(g_stride) != 0; }

void guard(unsigned char* buffer, std::size_t bytes) {
  std::memset(buffer + bytes, 0xa5, guard_bytes);
}
bool guarded(const unsigned char* buffer, std::size_t bytes) {
  for (std::size_t i = 0; i < guard_bytes; ++i)
    if (buffer[bytes + i] != 0xa5) return false;
  return true;
}

void try_bcast(const Comm& comm, const Type& type, std::size_t count, int root) {
  if (skip()) return;
  const std::size_t bytes = count * type.extent;
  const bool large = bytes >= (128u << 10);
  const Buffers b = buffers(large);
  for (unsigned char* buffer : {b.mine, b.theirs}) {
    std::memset(buffer, 0, bytes);
    guard(buffer, bytes);
    if (comm.rank == root) fill(buffer, type, count, root);
  }
  const int n = static_cast<int>(count);
  MPI_Bcast(b.mine, n, type.handle, root, comm.handle);
  if (comm.size > 1) check_way(large && type.kind != Class::pair, "Bcast", bytes);
  BARE(Bcast)(b.theirs, n, type.handle, root, comm.handle);
  verdict(same(type, b.mine, b.theirs, count) && guarded(b.mine, bytes), "Bcast", comm, type, "",
          count, root, false);
}

void try_reduction(const Comm& comm, const Type& type, const Op& op, std::size_t count, int root,
                   bool in_place) {
  const bool all = root < 0;
  if (skip() || (in_place && !all && !g_reduce_in_place)) return;
  const std::size_t bytes = count * type.extent;
  const bool large = bytes >= (128u << 10);
  const Buffers b = buffers(large);
  const bool gets = all || comm.rank == root;
  const bool here = in_place && gets;
  fill(b.send, type, count, comm.rank);
  for (unsigned char* buffer : {b.mine, b.theirs}) {
    if (here)
      std::memcpy(buffer, b.send, bytes);
    else
      std::memset(buffer, 0x11, bytes);
    guard(buffer, bytes);
  }
  const int n = static_cast<int>(count);
  const void* send = here ? MPI_IN_PLACE : static_cast<const void*>(b.send);
  if (all) {
    MPI_Allreduce(send, b.mine, n, type.handle, op.handle, comm.handle);
    if (comm.size > 1) check_way(large, "Allreduce", bytes);
    BARE(Allreduce)(send, b.theirs, n, type.handle, op.handle, comm.handle);
  } else {
    const bool has = gets || !g_reduce_to_null;
    MPI_Reduce(send, has ? b.mine : nullptr, n, type.handle, op.handle, root, comm.handle);
    if (comm.size > 1) check_way(large, "Reduce", bytes);
    BARE(Reduce)(send, has ? b.theirs : nullptr, n, type.handle, op.handle, root, comm.handle);
  }
  if (gets)
    verdict(same(type, b.mine, b.theirs, count) && guarded(b.mine, bytes),
            all ? "Allreduce" : "Reduce", comm, type, op.name, count, root, in_place);
}

// An operation of the user, and what only some ranks describe by a derived type.
void try_others(const Comm& comm) {
  static const Type int_type = plain<int>("INT", MPI_INT, Class::integer);
  MPI_Op user;
  MPI_Op_create(compose, 0, &user);
  try_reduction(comm, int_type, {"user, not commutative", user}, 5000, -1, false);
  try_reduction(comm, int_type, {"user, not commutative", user}, 50, 0, false);
  MPI_Op_free(&user);

  for (int count : {3, 30, 3000, 30000}) {
    if (skip()) continue;
    MPI_Datatype strided;
    MPI_Type_vector(count, 1, 2, MPI_INT, &strided);
    MPI_Type_commit(&strided);
    std::vector<int> mine(2 * static_cast<std::size_t>(count), -1), theirs(mine);
    const int root = comm.size - 1;
    // Even ranks see every second int, odd ones a dense array of the same signature.
    const bool dense = comm.rank % 2 == 1;
    for (int i = 0; comm.rank == root && i < 2 * count; ++i) mine[i] = theirs[i] = i * 5 + 1;
    MPI_Bcast(mine.data(), dense ? count : 1, dense ? MPI_INT : strided, root, comm.handle);
    BARE(Bcast)(theirs.data(), dense ? count : 1, dense ? MPI_INT : strided, root, comm.handle);
    verdict(mine == theirs, "Bcast", comm, int_type, "derived", static_cast<std::size_t>(count),
            root, false);
    MPI_Type_free(&strided);
  }
  MPI_Barrier(comm.handle);
}

void try_communicator(const Comm& comm, bool thorough) {
  const std::vector<Type> types = all_types();
  const std::vector<std::size_t> few = {1, 7, 1000};
  const std::vector<std::size_t> many = {2, 14, 15, 28, 29, 513, 4095, 4096, 8193, 20000, 100001};
  for (std::size_t t = 0; t < types.size(); ++t) {
    const Type& type = types[t];
    const bool principal = t < 4 || std::strcmp(type.name, "DOUBLE_INT") == 0;
    std::vector<std::size_t> counts = few;
    if (principal && thorough) counts.insert(counts.end(), many.begin(), many.end());
    for (std::size_t count : counts) {
      try_bcast(comm, type, count, static_cast<int>(count + t) % comm.size);
      for (const Op& op : ops_for(type.kind)) {
        const int root = static_cast<int>(g_case) % comm.size;
        for (bool in_place : {false, true}) {
          try_reduction(comm, type, op, count, -1, in_place);
          try_reduction(comm, type, op, count, root, in_place);
        }
      }
    }
  }
  try_others(comm);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  for (int i = 1; i + 1 < argc; i += 2) {
    if (std::strcmp(argv[i], "--stride") == 0) g_stride = std::atol(argv[i + 1]);
    if (std::strcmp(argv[i], "--expect") == 0) g_expect = argv[i + 1];
    if (std::strcmp(argv[i], "--reduce-in-place") == 0) g_reduce_in_place = argv[i + 1][0] != '0';
    if (std::strcmp(argv[i], "--reduce-to-null") == 0) g_reduce_to_null = argv[i + 1][0] != '0';
  }
  g_last_way = reinterpret_cast<const char* (*)()>(dlsym(RTLD_DEFAULT, "tutti_last_way"));
  auto allocate = [] {
    return static_cast<unsigned char*>(std::malloc(buffer_bytes + guard_bytes));
  };
  g_heap = {allocate(), allocate(), allocate()};

  int size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &g_world_rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm halves, copy, reversed;
  MPI_Comm_split(MPI_COMM_WORLD, g_world_rank % 2, g_world_rank, &halves);
  MPI_Comm_dup(MPI_COMM_WORLD, &copy);
  MPI_Comm_split(MPI_COMM_WORLD, 0, -g_world_rank, &reversed);
  const struct {
    const char* name;
    MPI_Comm comm;
    bool thorough;
  } comms[] = {{"world", MPI_COMM_WORLD, true},
               {"halves", halves, false},
               {"dup", copy, false},
               {"self", MPI_COMM_SELF, false},
               {"reversed", reversed, true}};
  for (const auto& [name, comm, thorough] : comms) {
    Comm c{name, comm, 0, 0};
    MPI_Comm_rank(comm, &c.rank);
    MPI_Comm_size(comm, &c.size);
    g_case = 0;  // halves may differ in size and so in cases; all meet again here
    try_communicator(c, thorough);
  }
  MPI_Comm_free(&halves);
  MPI_Comm_free(&copy);
  MPI_Comm_free(&reversed);

  long mine[2] = {g_compared, g_wrong}, all[2] = {0, 0};
  BARE(Reduce)(mine, all, 2, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
  if (g_world_rank == 0) std::printf("conformance: %ld compared, %ld wrong\n", all[0], all[1]);
  long wrong = g_wrong;
  BARE(Allreduce)(MPI_IN_PLACE, &wrong, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
  MPI_Finalize();
  return wrong != 0;
}
