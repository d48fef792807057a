// SPDX-License-Identifier: BSD-3-Clause
// Every predefined datatype, every predefined operation on it, and every collective that takes
// them, called with Tutti and past it: the same error class, the same calls of the error handler,
// the same results. Prints "matrix: N compared, M of them errors, W wrong".
#include <mpi.h>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <vector>

#include "bare.h"

namespace {

enum class Kind { integer, real, complex, logical, boolean, pair, bytes };
struct Type {
  const char* name;
  MPI_Datatype handle;
  Kind kind;
  int value_bytes;  // of a number, or of the value of a pair
};
#define TYPE(type, kind, bytes)          \
  {                                      \
#type, MPI_##type, Kind::kind, bytes \
  }
const std::vector<Type>& all_types() {
  static const std::vector<Type> types = {
      TYPE(PACKED, bytes, 1),
      TYPE(BYTE, bytes, 1),
      TYPE(CHAR, integer, 1),
      TYPE(SIGNED_CHAR, integer, 1),
      TYPE(UNSIGNED_CHAR, integer, 1),
      TYPE(SHORT, integer, 2),
      TYPE(UNSIGNED_SHORT, integer, 2),
      TYPE(INT, integer, 4),
      TYPE(UNSIGNED, integer, 4),
      TYPE(LONG, integer, 8),
      TYPE(UNSIGNED_LONG, integer, 8),
      TYPE(LONG_LONG, integer, 8),
      TYPE(UNSIGNED_LONG_LONG, integer, 8),
      TYPE(FLOAT, real, 4),
      TYPE(DOUBLE, real, 8),
      TYPE(LONG_DOUBLE, real, 16),
      TYPE(WCHAR, integer, 4),
      TYPE(INT8_T, integer, 1),
      TYPE(INT16_T, integer, 2),
      TYPE(INT32_T, integer, 4),
      TYPE(INT64_T, integer, 8),
      TYPE(UINT8_T, integer, 1),
      TYPE(UINT16_T, integer, 2),
      TYPE(UINT32_T, integer, 4),
      TYPE(UINT64_T, integer, 8),
      TYPE(AINT, integer, 8),
      TYPE(OFFSET, integer, 8),
      TYPE(COUNT, integer, 8),
      TYPE(C_BOOL, boolean, 1),
      TYPE(CXX_BOOL, boolean, 1),
      TYPE(C_FLOAT_COMPLEX, complex, 4),
      TYPE(C_DOUBLE_COMPLEX, complex, 8),
      TYPE(C_LONG_DOUBLE_COMPLEX, complex, 16),
      TYPE(CXX_FLOAT_COMPLEX, complex, 4),
      TYPE(CXX_DOUBLE_COMPLEX, complex, 8),
      TYPE(CXX_LONG_DOUBLE_COMPLEX, complex, 16),
      TYPE(FLOAT_INT, pair, 4),
      TYPE(DOUBLE_INT, pair, 8),
      TYPE(LONG_INT, pair, 8),
      TYPE(2INT, pair, 4),
      TYPE(SHORT_INT, pair, 2),
      TYPE(LONG_DOUBLE_INT, pair, 16),
      TYPE(CHARACTER, integer, 1),
      TYPE(LOGICAL, logical, 4),
      TYPE(INTEGER, integer, 4),
      TYPE(REAL, real, 4),
      TYPE(DOUBLE_PRECISION, real, 8),
      TYPE(COMPLEX, complex, 4),
      TYPE(DOUBLE_COMPLEX, complex, 8),
      TYPE(INTEGER1, integer, 1),
      TYPE(INTEGER2, integer, 2),
      TYPE(INTEGER4, integer, 4),
      TYPE(INTEGER8, integer, 8),
      TYPE(REAL4, real, 4),
      TYPE(REAL8, real, 8),
      TYPE(COMPLEX8, complex, 4),
      TYPE(COMPLEX16, complex, 8),
      TYPE(2REAL, pair, 4),
      TYPE(2DOUBLE_PRECISION, pair, 8),
      TYPE(2INTEGER, pair, 4),
#ifdef MPI_LOGICAL1
      TYPE(LOGICAL1, logical, 1),
      TYPE(LOGICAL2, logical, 2),
      TYPE(LOGICAL4, logical, 4),
      TYPE(LOGICAL8, logical, 8),
#endif
#ifdef MPI_LOGICAL16
      TYPE(LOGICAL16, logical, 16),
#endif
#ifdef MPI_INTEGER16
      TYPE(INTEGER16, integer, 16),
#endif
#ifdef MPI_REAL2
      TYPE(REAL2, real, 2),
#endif
#ifdef MPI_REAL16
      TYPE(REAL16, real, 16),
#endif
#ifdef MPI_COMPLEX32
      TYPE(COMPLEX32, complex, 16),
#endif
      TYPE(DATATYPE_NULL, bytes, 1),
  };
  return types;
}
struct Op {
  const char* name;
  MPI_Op handle;
};
#define OP(op)    \
  {               \
#op, MPI_##op \
  }
const std::vector<Op>& all_ops() {
  static const std::vector<Op> ops = {OP(MAX),    OP(MIN),    OP(SUM),     OP(PROD),  OP(LAND),
                                      OP(BAND),   OP(LOR),    OP(BOR),     OP(LXOR),  OP(BXOR),
                                      OP(MINLOC), OP(MAXLOC), OP(REPLACE), OP(NO_OP), OP(OP_NULL)};
  return ops;
}

constexpr int count = 6;        // elements of a block
constexpr int most_bytes = 32;  // of an element, with its padding
constexpr int most_ranks = 4;
constexpr int room = count * most_bytes * most_ranks;

int g_rank = 0, g_size = 0;
long g_compared = 0, g_errors = 0, g_wrong = 0;
MPI_Comm g_comm;

// Faults of the MPIs (docs/mpi.md): what would end the program is not called ...
bool is_deadly(const Type& type, const Op& op) {
#if !defined OMPI_MAJOR_VERSION && !defined I_MPI_VERSION
  if (type.handle == MPI_DATATYPE_NULL) return true;
#endif
#if defined MPICH_NUMVERSION && MPICH_NUMVERSION < 50000000 && !defined I_MPI_VERSION
  const bool logical = op.handle == MPI_LAND || op.handle == MPI_LOR || op.handle == MPI_LXOR;
  if (logical && (type.kind == Kind::real || type.kind == Kind::pair)) return true;
#endif
  (void)type, (void)op;
  return false;
}
// ... and where MPI_MIN and MPI_MAX mistake the sign, numbers have none.
bool has_wrong_order(const Type& type) {
  (void)type;
#if defined OMPI_MAJOR_VERSION
  return type.handle == MPI_OFFSET || (OMPI_MAJOR_VERSION < 5 && type.handle == MPI_UNSIGNED_LONG);
#elif defined MPICH_NUMVERSION && MPICH_NUMVERSION < 50000000 && !defined I_MPI_VERSION
  return type.name[0] == 'U';
#else
  return false;
#endif
}

// What the error handler was told during one call.
struct Told {
  int calls = 0, error_class = 0;
  bool on_comm = true;
} g_told;
void on_error(MPI_Comm* comm, int* code, ...) {
  ++g_told.calls;
  MPI_Error_class(*code, &g_told.error_class);
  g_told.on_comm = *comm == g_comm;
}

struct Result {
  int error_class = 0;
  Told told;
  std::vector<unsigned char> data;
  bool operator==(const Result& other) const {
    return error_class == other.error_class && told.calls == other.told.calls &&
           told.error_class == other.told.error_class && told.on_comm == other.told.on_comm &&
           data == other.data;
  }
};

void put_real(unsigned char* at, int bytes, double value) {
  const auto narrow = static_cast<float>(value);
  const auto wide = static_cast<long double>(value);
  if (bytes == 4) std::memcpy(at, &narrow, 4);
  if (bytes == 8) std::memcpy(at, &value, 8);
  if (bytes == 16) std::memcpy(at, &wide, 10);
}

// Values that any order of operands computes alike, and everything that is true.
void put(unsigned char* at, const Type& type, unsigned random) {
  static const long long integers[] = {0, 1, 2, 3, -1, -2, 255, -128, 65000, 0x123456789abcdef0};
  static const double reals[] = {0, 1, -1.5, 2, 0.25, -3, 4096, 1e30};
  const long long integer = integers[random % (has_wrong_order(type) ? 4 : 10)];
  switch (type.kind) {
    case Kind::real:
      return put_real(at, type.value_bytes, reals[random % 8]);
    case Kind::complex:
      put_real(at, type.value_bytes, static_cast<double>(random % 4));
      return put_real(at + type.value_bytes, type.value_bytes, static_cast<double>(random % 3) - 1);
    case Kind::boolean:
      *at = random % 2;
      return;
    case Kind::pair:
      if (std::strstr(type.name, "INT") == nullptr || type.name[0] == 'F' || type.name[0] == 'D' ||
          type.value_bytes == 16)
        put_real(at, type.value_bytes, reals[random % 3]);
      else
        std::memcpy(at, &integer, static_cast<std::size_t>(type.value_bytes));
      at += type.value_bytes < 4 ? 4 : type.value_bytes;
      if (std::strstr(type.name, "INT") == nullptr)
        return put_real(at, type.value_bytes, random % 7);
      *at = random % 7;
      return;
    default:
      std::memcpy(at, &integer,
                  static_cast<std::size_t>(type.value_bytes < 8 ? type.value_bytes : 8));
  }
}

// Padding is nobody's data: only what is written by put() of any value is compared.
std::vector<unsigned char> data_of(const Type& type, const unsigned char* at, int extent) {
  std::vector<unsigned char> data;
  const bool x87 = type.value_bytes == 16 && type.kind != Kind::integer &&
                   type.kind != Kind::logical && std::strstr(type.name, "LONG") != nullptr;
  for (int i = 0; i < room; ++i) {
    const int in_element = i % extent, index_at = type.value_bytes < 4 ? 4 : type.value_bytes;
    bool padding = x87 && in_element % 16 >= 10 && in_element < 2 * 16;
    if (type.kind == Kind::pair && std::strstr(type.name, "INT") != nullptr)
      padding = (in_element >= (x87 ? 10 : type.value_bytes) && in_element < index_at) ||
                in_element >= index_at + 4;
    data.push_back(padding ? 0 : at[i]);
  }
  return data;
}

struct Arguments {
  const unsigned char* send;
  unsigned char* recv;
  MPI_Datatype type;
  MPI_Op op;
  const int* counts;
  const int* places;
};
struct Collective {
  const char* name;
  bool computes;
  int (*call[2])(const Arguments&);
};
int wait(int code, MPI_Request* request) {
  return code != MPI_SUCCESS ? code : BARE(Wait)(request, MPI_STATUS_IGNORE);
}
int wait_with_tutti(int code, MPI_Request* request) {
  return code != MPI_SUCCESS ? code : MPI_Wait(request, MPI_STATUS_IGNORE);
}
#define BLOCKING(Name, computes, ...)                                        \
  {                                                                          \
#Name, computes, {                                                       \
      [](const Arguments& a) { return MPI_##Name(__VA_ARGS__, g_comm); },    \
          [](const Arguments& a) { return BARE(Name)(__VA_ARGS__, g_comm); } \
    }                                                                        \
  }
#define NONBLOCKING(Name, computes, ...)                                             \
  {                                                                                  \
#Name, computes, {                                                               \
      [](const Arguments& a) {                                                       \
        MPI_Request request = MPI_REQUEST_NULL;                                      \
        return wait_with_tutti(MPI_##Name(__VA_ARGS__, g_comm, &request), &request); \
      },                                                                             \
          [](const Arguments& a) {                                                   \
            MPI_Request request = MPI_REQUEST_NULL;                                  \
            return wait(BARE(Name)(__VA_ARGS__, g_comm, &request), &request);        \
          }                                                                          \
    }                                                                                \
  }
#define BOTH(Name, name, computes, ...) \
  BLOCKING(Name, computes, __VA_ARGS__), NONBLOCKING(I##name, computes, __VA_ARGS__)

const Collective collectives[] = {
    BOTH(Allreduce, allreduce, true, a.send, a.recv, count, a.type, a.op),
    BOTH(Reduce, reduce, true, a.send, a.recv, count, a.type, a.op, 0),
    BOTH(Reduce_scatter, reduce_scatter, true, a.send, a.recv, a.counts, a.type, a.op),
    BOTH(Reduce_scatter_block, reduce_scatter_block, true, a.send, a.recv, 1, a.type, a.op),
    BOTH(Scan, scan, true, a.send, a.recv, count, a.type, a.op),
    BOTH(Exscan, exscan, true, a.send, a.recv, count, a.type, a.op),
    BOTH(Bcast, bcast, false, a.recv, count, a.type, 0),
    BOTH(Gather, gather, false, a.send, count, a.type, a.recv, count, a.type, 0),
    BOTH(Gatherv, gatherv, false, a.send, count, a.type, a.recv, a.counts, a.places, a.type, 0),
    BOTH(Scatter, scatter, false, a.send, count, a.type, a.recv, count, a.type, 0),
    BOTH(Allgather, allgather, false, a.send, count, a.type, a.recv, count, a.type),
    BOTH(Allgatherv, allgatherv, false, a.send, count, a.type, a.recv, a.counts, a.places, a.type),
    BOTH(Alltoall, alltoall, false, a.send, count, a.type, a.recv, count, a.type),
    BOTH(Alltoallv, alltoallv, false, a.send, a.counts, a.places, a.type, a.recv, a.counts,
         a.places, a.type),
};

Result run(const Collective& collective, int which, const Type& type, const Op& op, int extent) {
  alignas(64) static unsigned char send[room], recv[room];
  unsigned random = static_cast<unsigned>(g_rank) * 7919 + 5;
  std::memset(send, 0, room);
  for (int at = 0; at + extent <= room; at += extent) {
    random = random * 1664525u + 1013904223u;
    put(send + at, type, random >> 9);
  }
  std::memset(recv, 0, room);
  if (std::strstr(collective.name, "cast") != nullptr && g_rank == 0) std::memcpy(recv, send, room);
  std::vector<int> counts(static_cast<std::size_t>(g_size), count), places;
  for (int i = 0; i < g_size; ++i) places.push_back(i * count);
  if (std::strstr(collective.name, "educe_scatter") != nullptr) counts.assign(counts.size(), 1);
  g_told = {};
  const Arguments arguments{send, recv, type.handle, op.handle, counts.data(), places.data()};
  const int code = collective.call[which](arguments);
  Result result;
  MPI_Error_class(code, &result.error_class);
  result.told = g_told;
  const bool gets = std::strstr(collective.name, "xscan") == nullptr || g_rank > 0;
  // A failed call leaves what it likes.
  if (code == MPI_SUCCESS && gets) result.data = data_of(type, recv, extent);
  return result;
}

void compare(const Collective& collective, const Type& type, const Op& op, int extent) {
  if (is_deadly(type, op)) return;
  const Result theirs = run(collective, 1, type, op, extent);
  const Result mine = run(collective, 0, type, op, extent);
  ++g_compared;
  g_errors += theirs.told.calls != 0;  // MPICH's calls return 0 after a handler that returns
  if (mine == theirs) return;
  ++g_wrong;
  std::printf("WRONG: rank %d %s %s %s: class %d (%d calls of %d%s), bare %d (%d of %d%s)%s\n",
              g_rank, collective.name, type.name, op.name, mine.error_class, mine.told.calls,
              mine.told.error_class, mine.told.on_comm ? "" : " elsewhere", theirs.error_class,
              theirs.told.calls, theirs.told.error_class, theirs.told.on_comm ? "" : " elsewhere",
              mine.data == theirs.data ? "" : ", other data");
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Errhandler handler;
  MPI_Comm_create_errhandler(on_error, &handler);
  MPI_Comm_dup(MPI_COMM_WORLD, &g_comm);
  for (MPI_Comm comm : {MPI_COMM_WORLD, MPI_COMM_SELF, g_comm})
    MPI_Comm_set_errhandler(comm, handler);
  MPI_Comm_rank(g_comm, &g_rank);
  MPI_Comm_size(g_comm, &g_size);
  if (g_size > most_ranks) MPI_Abort(MPI_COMM_WORLD, 2);
  for (const Type& type : all_types()) {
    MPI_Aint lower = 0, extent = 0;
    if (type.handle != MPI_DATATYPE_NULL) PMPI_Type_get_extent(type.handle, &lower, &extent);
    if (extent < 1 || extent > most_bytes) extent = most_bytes;
    for (const Collective& collective : collectives)
      for (const Op& op : all_ops()) {
        compare(collective, type, op, static_cast<int>(extent));
        if (!collective.computes) break;
      }
  }
  long all[3] = {g_compared, g_errors, g_wrong};
  BARE(Allreduce)(MPI_IN_PLACE, all, 3, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
  if (g_rank == 0)
    std::printf("matrix: %ld compared, %ld of them errors, %ld wrong\n", all[0], all[1], all[2]);
  MPI_Finalize();
  return all[2] != 0;
}
