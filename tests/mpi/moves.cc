// SPDX-License-Identifier: BSD-3-Clause
// Gather to Exscan: random calls of MPI_X under Tutti against the same calls of the MPI itself, in
// one process. Ranks describe the same data by datatypes of their own choice, from the heap and
// from static memory. Compiled by each MPI's own mpicxx.
//
//   moves [--cases N] [--first N] [--large-reductions 0]
//
// Ends with a line "moves: N compared, N wrong".
#include <mpi.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "bare.h"
#include "compose.h"

namespace {

using Size = std::size_t;

Size mix(Size x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}
// A stream of numbers: the same on all ranks if its seed is.
struct Random {
  Size state;
  Size operator()(Size below) { return mix(state += 0x9e3779b97f4a7c15u) % below; }
};

// A way to describe `basics` basic elements. Blocks hold a multiple of six of them.
struct Element {
  MPI_Datatype type;
  Size basics;
  Size extent;  // in bytes
  bool derived;
};

std::vector<Element> elements_of(MPI_Datatype basic, Size bytes) {
  const MPI_Aint size = static_cast<MPI_Aint>(bytes);
  std::vector<Element> all = {{basic, 1, bytes, false}};
  MPI_Datatype type, other;
  MPI_Type_contiguous(2, basic, &type);
  all.push_back({type, 2, 2 * bytes, true});
  MPI_Type_create_resized(basic, 0, 3 * size, &type);
  all.push_back({type, 1, 3 * bytes, true});
  MPI_Type_vector(3, 1, 2, basic, &type);
  all.push_back({type, 3, 5 * bytes, true});
  const int backwards[] = {1, 0};
  MPI_Type_create_indexed_block(2, 1, backwards, basic, &type);
  all.push_back({type, 2, 2 * bytes, true});
  const int sizes[] = {4, 5}, part[] = {2, 3}, start[] = {1, 1};
  MPI_Type_create_subarray(2, sizes, part, start, MPI_ORDER_C, basic, &type);
  all.push_back({type, 6, 20 * bytes, true});
  const int lengths[] = {1, 2};
  const MPI_Aint places[] = {3 * size, 0};
  const MPI_Datatype types[] = {basic, basic};
  MPI_Type_create_struct(2, lengths, places, types, &other);
  MPI_Type_create_resized(other, 0, 5 * size, &type);
  MPI_Type_free(&other);
  all.push_back({type, 3, 5 * bytes, true});
  for (Element& element : all)
    if (element.derived) MPI_Type_commit(&element.type);
  return all;
}

struct Basic {
  const char* name;
  MPI_Datatype type;
  Size bytes;
  std::vector<Element> elements;
};

constexpr Size static_bytes = Size{6} << 20;
alignas(64) unsigned char g_static[2][static_bytes];

// A buffer of a call.
struct Buffer {
  std::vector<unsigned char> heap;
  unsigned char* data = nullptr;
  Size bytes = 0;
  void reset(Size size, bool on_heap, int index) {
    bytes = size;
    if (!on_heap && size <= static_bytes) {
      data = g_static[index];
    } else {
      heap.resize(size + 64);
      data = heap.data();
    }
  }
};

// Small numbers, whatever the type.
void fill(unsigned char* data, Size bytes, const Basic& basic, Size seed) {
  Random random{seed};
  std::memset(data, 0, bytes);
  for (Size at = 0; at + basic.bytes <= bytes; at += basic.bytes) {
    const int value = static_cast<int>(random(3)) + 1;
    if (basic.type == MPI_INT) {
      std::memcpy(data + at, &value, sizeof value);
    } else if (basic.type == MPI_BYTE) {
      data[at] = static_cast<unsigned char>(random(256));
    } else {
      const double real = value;
      std::memcpy(data + at, &real, sizeof real);
      if (basic.type == MPI_DOUBLE_INT) std::memcpy(data + at + 8, &value, sizeof value);
    }
  }
}

struct Comm {
  const char* name;
  MPI_Comm handle;
  int rank, size;
};

// One side of a call in the most general form: a count, a place and a type for each block.
struct Side {
  std::vector<int> counts, places;  // in elements
  std::vector<int> byte_places;     // for Alltoallw
  std::vector<MPI_Datatype> types;
  Element element;
  Size bytes = 0;  // of the buffer

  // basics(i): how many basic elements block i has.
  template <class Basics>
  Side(const Element& chosen, int blocks, bool gaps, Random& random, Basics basics)
      : element(chosen) {
    Size next = 0;
    for (int i = 0; i < blocks; ++i) {
      const int count = static_cast<int>(basics(i) / element.basics);
      if (gaps && blocks > 1) next += random(3);
      counts.push_back(count);
      places.push_back(static_cast<int>(next));
      byte_places.push_back(static_cast<int>(next * element.extent));
      types.push_back(element.type);
      next += static_cast<Size>(count);
    }
    bytes = next * element.extent;
  }
  // Dense bytes instead.
  explicit Side(const std::vector<int>& sizes) : counts(sizes), element{MPI_BYTE, 1, 1, false} {
    for (const int size : sizes) {
      places.push_back(static_cast<int>(bytes));
      types.push_back(MPI_BYTE);
      bytes += static_cast<Size>(size);
    }
    byte_places = places;
  }
  // How long the blocks are when they are packed.
  [[nodiscard]] std::vector<int> packed() const {
    int size = 0;
    MPI_Type_size(element.type, &size);
    std::vector<int> sizes;
    for (const int n : counts) sizes.push_back(n * size);
    return sizes;
  }
  [[nodiscard]] int count() const { return counts.empty() ? 0 : counts[0]; }
  [[nodiscard]] MPI_Datatype type() const { return element.type; }
};

constexpr const char* names[] = {"Gather",
                                 "Gatherv",
                                 "Scatter",
                                 "Scatterv",
                                 "Allgather",
                                 "Allgatherv",
                                 "Alltoall",
                                 "Alltoallv",
                                 "Alltoallw",
                                 "Reduce_scatter",
                                 "Reduce_scatter_block",
                                 "Scan",
                                 "Exscan"};
constexpr int kinds = 13;
bool g_verbose = false;

struct Case {
  int kind;
  int root;
  bool in_place;
  const Comm& comm;
  const Basic& basic;
  const Side& out;
  const Side& in;
  MPI_Op op;
};

// The same call under Tutti and of the bare MPI.
#define CALL(P, F)                                                                                \
  int call_##P(const Case& c, void* mine, void* theirs) {                                         \
    const bool root = c.comm.rank == c.root;                                                      \
    const MPI_Comm comm = c.comm.handle;                                                          \
    const Side &o = c.out, &i = c.in;                                                             \
    const bool rooted = c.in_place && root;                                                       \
    switch (c.kind) {                                                                             \
      case 0:                                                                                     \
        return F(Gather)(rooted ? MPI_IN_PLACE : mine, o.count(), o.type(), theirs, i.count(),    \
                         i.type(), c.root, comm);                                                 \
      case 1:                                                                                     \
        return F(Gatherv)(rooted ? MPI_IN_PLACE : mine, o.count(), o.type(), theirs,              \
                          root ? i.counts.data() : nullptr, root ? i.places.data() : nullptr,     \
                          i.type(), c.root, comm);                                                \
      case 2:                                                                                     \
        return F(Scatter)(mine, o.count(), o.type(), rooted ? MPI_IN_PLACE : theirs, i.count(),   \
                          i.type(), c.root, comm);                                                \
      case 3:                                                                                     \
        return F(Scatterv)(mine, root ? o.counts.data() : nullptr,                                \
                           root ? o.places.data() : nullptr, o.type(),                            \
                           rooted ? MPI_IN_PLACE : theirs, i.count(), i.type(), c.root, comm);    \
      case 4:                                                                                     \
        return F(Allgather)(c.in_place ? MPI_IN_PLACE : mine, o.count(), o.type(), theirs,        \
                            i.count(), i.type(), comm);                                           \
      case 5:                                                                                     \
        return F(Allgatherv)(c.in_place ? MPI_IN_PLACE : mine, o.count(), o.type(), theirs,       \
                             i.counts.data(), i.places.data(), i.type(), comm);                   \
      case 6:                                                                                     \
        return F(Alltoall)(c.in_place ? MPI_IN_PLACE : mine, o.count(), o.type(), theirs,         \
                           i.count(), i.type(), comm);                                            \
      case 7:                                                                                     \
        return F(Alltoallv)(c.in_place ? MPI_IN_PLACE : mine, o.counts.data(), o.places.data(),   \
                            o.type(), theirs, i.counts.data(), i.places.data(), i.type(), comm);  \
      case 8:                                                                                     \
        return F(Alltoallw)(c.in_place ? MPI_IN_PLACE : mine, o.counts.data(),                    \
                            o.byte_places.data(), o.types.data(), theirs, i.counts.data(),        \
                            i.byte_places.data(), i.types.data(), comm);                          \
      case 9:                                                                                     \
        return F(Reduce_scatter)(c.in_place ? MPI_IN_PLACE : mine, theirs, i.counts.data(),       \
                                 c.basic.type, c.op, comm);                                       \
      case 10:                                                                                    \
        return F(Reduce_scatter_block)(c.in_place ? MPI_IN_PLACE : mine, theirs, i.count(),       \
                                       c.basic.type, c.op, comm);                                 \
      case 11:                                                                                    \
        return F(Scan)(c.in_place ? MPI_IN_PLACE : mine, theirs, o.count(), c.basic.type, c.op,   \
                       comm);                                                                     \
      default:                                                                                    \
        return F(Exscan)(c.in_place ? MPI_IN_PLACE : mine, theirs, o.count(), c.basic.type, c.op, \
                         comm);                                                                   \
    }                                                                                             \
  }
#define SEEN(name) MPI_##name
CALL(MPI, SEEN)
CALL(bare, BARE)

// The same by the MPI with dense bytes on all ranks, packed before and unpacked after: there are
// MPIs that do not get it right when ranks describe the same data by different datatypes.
int call_reference(const Case& c, unsigned char* mine, unsigned char* theirs, Size bytes) {
  if (c.kind >= 9) {
    // Out of place: MPICH 5.0's own in-place Reduce_scatter ends the job at times.
    const Case separate{c.kind, c.root, false, c.comm, c.basic, c.out, c.in, c.op};
    const std::vector<unsigned char> operand(theirs, theirs + bytes);
    return call_bare(separate, c.in_place ? const_cast<unsigned char*>(operand.data()) : mine,
                     theirs);
  }
  const bool rooted = c.kind <= 3;
  const bool at_root = c.comm.rank == c.root;
  const bool here = c.in_place && (!rooted || at_root);
  const bool scatters = c.kind == 2 || c.kind == 3;
  const Size me = static_cast<Size>(c.comm.rank);
  const Side out(c.out.packed()), in(c.in.packed());
  std::vector<unsigned char> sent(out.bytes + 1), got(in.bytes + 1);
  for (Size i = 0; i < out.counts.size(); ++i) {
    // In place, what is sent lies where the result goes.
    const bool from_result = here && !scatters;
    const Size block = from_result && out.counts.size() == 1 ? me : i;
    const Side& side = from_result ? c.in : c.out;
    int position = out.places[i];
    PMPI_Pack((from_result ? theirs : mine) + side.byte_places[block], side.counts[block],
              side.types[block], sent.data(), static_cast<int>(sent.size()), &position,
              c.comm.handle);
  }
  const Case dense{c.kind, c.root, false, c.comm, c.basic, out, in, c.op};
  const int result = call_bare(dense, sent.data(), got.data());
  if ((here && scatters) || (c.kind <= 1 && !at_root)) return result;
  for (Size i = 0; i < in.counts.size(); ++i) {
    int position = in.places[i];
    PMPI_Unpack(got.data(), static_cast<int>(got.size()), &position, theirs + c.in.byte_places[i],
                c.in.counts[i], c.in.types[i], c.comm.handle);
  }
  return result;
}

// How many basic elements `from` sends to `to`.
struct Matrix {
  Size seed, basics;
  bool varies, by_source, by_target, symmetric;
  Size operator()(int from, int to) const {
    if (!varies) return basics;
    if (symmetric && from > to) std::swap(from, to);
    const Size draw = mix(mix(seed + (by_source ? static_cast<Size>(from) + 1 : 0)) +
                          (by_target ? static_cast<Size>(to) + 1 : 0));
    return draw % 4 == 0 ? 0 : draw % 4 == 1 ? basics : (draw >> 8) % (basics / 6 + 1) * 6;
  }
};

// True when both calls left the same.
bool try_case(Size seed, const Comm& comm, const std::vector<Basic>& basics, MPI_Op user,
              std::string& what) {
  Random common{mix(seed)};
  Random own{mix(seed) ^ mix(static_cast<Size>(comm.rank) + 77)};
  const int kind = static_cast<int>(common(kinds));
  const bool computes = kind >= 9;
  const Basic& basic = basics[common(computes ? 3 : basics.size())];
  constexpr Size counts[] = {1, 2, 5, 20, 100, 600, 2000, 6000, 30000, 60000};
  const bool all_to_all = kind >= 6 && kind <= 8;
  const Size basics_each = 6 * counts[common(all_to_all ? 9 : 10)] / (all_to_all ? 2 : 1) / 6 * 6;
  const int root = static_cast<int>(common(static_cast<Size>(comm.size)));
  const bool varies = kind == 1 || kind == 3 || kind == 5 || kind == 7 || kind == 8 || kind == 9;
  const bool in_place = common(4) == 0;
  const Matrix matrix{common(1u << 30),
                      std::max<Size>(6, basics_each),
                      varies,
                      kind != 3 && kind != 9,
                      kind == 3 || kind == 7 || kind == 8 || kind == 9,
                      in_place && all_to_all};
  const Size ops = common(4);
  const Element& out_element =
      computes ? basic.elements[0] : basic.elements[own(basic.elements.size())];
  const Element& in_element =
      computes ? basic.elements[0] : basic.elements[own(basic.elements.size())];
  // Open MPI 5.0's own Alltoallw among one takes displacements for elements instead of bytes.
  const bool gaps = varies && !computes && comm.size > 1;
  const int me = comm.rank;
  const int outs = kind <= 1 || kind == 4 || kind == 5 || kind >= 11 ? 1 : comm.size;
  const int ins = kind == 2 || kind == 3 || kind >= 11 ? 1 : comm.size;
  const Side out(out_element, outs, gaps, own,
                 [&](int to) { return matrix(me, outs == 1 ? root : to); });
  const Side in(in_element, ins, gaps, own, [&](int from) {
    return kind == 9 ? matrix(0, from) : matrix(ins == 1 ? root : from, me);
  });
  Size out_bytes = out.bytes, in_bytes = in.bytes;
  if (kind == 9 || kind == 10) out_bytes = in.bytes;
  if (kind >= 11) in_bytes = out_bytes;
  Buffer send, recv;
  send.reset(out_bytes, own(3) != 0, 0);
  recv.reset(in_bytes, own(3) != 0, 1);
  std::vector<unsigned char> before(recv.bytes + 64), mine;
  fill(send.data, send.bytes, basic, seed * 31 + static_cast<Size>(me));
  fill(before.data(), recv.bytes, basic, seed * 37 + static_cast<Size>(me));
  const std::vector<unsigned char> sent(send.data, send.data + send.bytes);
  MPI_Op op = basic.type == MPI_DOUBLE_INT ? MPI_MAXLOC : ops == 0 ? MPI_MAX : MPI_SUM;
  if (ops == 1 && basic.type == MPI_INT && !in_place && user != MPI_OP_NULL) op = user;
  const Case c{kind, root, in_place, comm, basic, out, in, op};

  char text[256];
  std::snprintf(text, sizeof text,
                "case %zu: %s of %zu %s on %s, rank %d of %d, root %d%s, types %d %d", seed,
                names[kind], basics_each, basic.name, comm.name, me, comm.size, root,
                in_place ? ", in place" : "", int(&out_element - basic.elements.data()),
                int(&in_element - basic.elements.data()));
  what = text;
  if (g_verbose) std::fprintf(stderr, "%s\n", text);

  std::memcpy(recv.data, before.data(), recv.bytes);
  const int first = call_MPI(c, send.data, recv.data);
  mine.assign(recv.data, recv.data + recv.bytes);
  std::memcpy(recv.data, before.data(), recv.bytes);
  const int second = call_reference(c, send.data, recv.data, recv.bytes);
  // What an in-place Reduce_scatter leaves behind the result is anybody's.
  Size compared = recv.bytes;
  if (in_place && kind == 9)
    compared = static_cast<Size>(in.counts[static_cast<Size>(me)]) * basic.bytes;
  if (in_place && kind == 10) compared = static_cast<Size>(in.count()) * basic.bytes;
  if (kind == 9 || kind == 10) {
    const Size part = static_cast<Size>(in.counts[static_cast<Size>(me)]) * basic.bytes;
    compared = std::min(compared, part);
  }
  if (kind == 12 && me == 0) compared = 0;
  const bool right = first == second && std::memcmp(mine.data(), recv.data, compared) == 0 &&
                     std::memcmp(sent.data(), send.data, send.bytes) == 0;
  return right;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  Size cases = 400, first = 0;
  for (int i = 1; i + 1 < argc; i += 2) {
    if (std::strcmp(argv[i], "--cases") == 0) cases = std::strtoul(argv[i + 1], nullptr, 10);
    if (std::strcmp(argv[i], "--first") == 0) first = std::strtoul(argv[i + 1], nullptr, 10);
    if (std::strcmp(argv[i], "--verbose") == 0) g_verbose = argv[i + 1][0] != '0';
  }
  int rank = 0, size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm reversed, halves;
  MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &reversed);
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &halves);
  std::vector<Comm> comms = {
      {"world", MPI_COMM_WORLD, 0, 0}, {"reversed", reversed, 0, 0}, {"halves", halves, 0, 0}};
  for (Comm& comm : comms) {
    MPI_Comm_rank(comm.handle, &comm.rank);
    MPI_Comm_size(comm.handle, &comm.size);
  }
  std::vector<Basic> basics = {{"ints", MPI_INT, 4, elements_of(MPI_INT, 4)},
                               {"doubles", MPI_DOUBLE, 8, elements_of(MPI_DOUBLE, 8)},
                               {"pairs", MPI_DOUBLE_INT, 16, elements_of(MPI_DOUBLE_INT, 16)},
                               {"bytes", MPI_BYTE, 1, elements_of(MPI_BYTE, 1)}};
  MPI_Op user;
  MPI_Op_create(compose, 0, &user);
  long counts[2] = {0, 0};
  for (Size seed = first; seed < first + cases; ++seed) {
    const Comm& comm = comms[mix(seed * 3) % 8 < 5 ? 0 : 1 + mix(seed * 3) % 2];
    std::string what;

    const bool right = try_case(seed, comm, basics, user, what);
    ++counts[0];
    if (right) continue;
    ++counts[1];
    std::printf("WRONG: %s\n", what.c_str());
  }
  for (Basic& basic : basics)
    for (Element& element : basic.elements)
      if (element.derived) MPI_Type_free(&element.type);
  MPI_Op_free(&user);
  MPI_Comm_free(&reversed);
  MPI_Comm_free(&halves);
  long all[2] = {0, 0};
  BARE(Allreduce)(counts, all, 2, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) std::printf("moves: %ld compared, %ld wrong\n", all[0], all[1]);
  MPI_Finalize();
  return all[1] != 0;
}
