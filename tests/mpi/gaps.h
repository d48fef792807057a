// SPDX-License-Identifier: BSD-3-Clause
// Elements with gaps, and large ones, in reductions with an operation of the user: pairs of ints
// anywhere in an element, each pair a map x*a + b, one after the other, which does not commute.
// Neither the gaps between operands nor those between results may be touched.
#pragma once

#include <mpi.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <thread>
#include <vector>

inline int rank = 0, size = 0;
inline long wrong = 0, compared = 0;

// The function may be none that another thread may run.
inline const std::thread::id program = std::this_thread::get_id();
inline void look_at_the_thread() {
  if (std::this_thread::get_id() == program) return;
  ++wrong;
  std::printf("rank %d: the function runs on another thread\n", rank);
}

struct Shape {
  const char* name;
  MPI_Datatype type;
  std::ptrdiff_t extent;
  std::vector<std::ptrdiff_t> places;  // of the ints, in the order of the typemap
};
inline const Shape* shape = nullptr;  // of what is computed

inline void set(void* base, std::ptrdiff_t at, std::int32_t value) {
  std::memcpy(static_cast<char*>(base) + at, &value, sizeof value);
}
inline std::int32_t get(const void* base, std::ptrdiff_t at) {
  std::int32_t value;
  std::memcpy(&value, static_cast<const char*>(base) + at, sizeof value);
  return value;
}
struct Map {
  std::int32_t a, b;
};
// In their place sums, which commute, in blocking calls and of elements that are not large. The
// MPIs' own reductions of the others write behind memory where there are several hosts.
inline bool sums = false;
inline Map after(Map left, Map right) {
  constexpr std::int32_t prime = 251;
  if (sums) return {(left.a + right.a) % prime, (left.b + right.b) % prime};
  return {left.a * right.a % prime, (left.a * right.b + left.b) % prime};
}

inline void compose(void* in, void* in_out, int* length, MPI_Datatype* type) {
  look_at_the_thread();
  if (*type != shape->type) ++wrong;
  for (int i = 0; i < *length; ++i) {
    const std::ptrdiff_t at = i * shape->extent;
    for (std::size_t k = 0; k < shape->places.size(); k += 2) {
      const std::ptrdiff_t a = at + shape->places[k], b = at + shape->places[k + 1];
      const Map map = after({get(in, a), get(in, b)}, {get(in_out, a), get(in_out, b)});
      set(in_out, a, map.a);
      set(in_out, b, map.b);
    }
  }
}

// Elements of the shape in a buffer with room around them.
class Buffer {
 public:
  Buffer(int count, unsigned char filling) : count_(count) {
    const auto [low, high] = std::minmax_element(shape->places.begin(), shape->places.end());
    const std::ptrdiff_t last = (std::max(count, 1) - 1) * shape->extent;
    base_ = 64 + std::max<std::ptrdiff_t>(0, -(*low + std::min<std::ptrdiff_t>(0, last)));
    base_ = (base_ + 63) / 64 * 64;
    const std::ptrdiff_t end = base_ + *high + std::max<std::ptrdiff_t>(0, last) + 4 + 64;
    bytes_.assign(static_cast<std::size_t>(end), filling);
  }
  [[nodiscard]] char* base() { return reinterpret_cast<char*>(bytes_.data()) + base_; }
  void fill(int q, int first = 0) {
    for (int i = 0; i < count_; ++i)
      put(i, [&](std::size_t k) { return operand(q, first + i, k); });
  }
  // The maps of members [first, last), one after the other, from element `begin` on.
  void expect(int first, int last, int begin, int count) {
    for (int i = 0; i < count; ++i)
      put(i, [&](std::size_t k) {
        Map all = operand(first, begin + i, k);
        for (int q = first + 1; q < last; ++q) all = after(all, operand(q, begin + i, k));
        return all;
      });
  }
  bool operator==(const Buffer& other) const { return bytes_ == other.bytes_; }

 private:
  static Map operand(int q, int i, std::size_t k) {
    const auto pair = static_cast<int>(k);
    return {(q * 17 + i * 3 + pair + 1) % 251, (q * 29 + i * 7 + 5 * pair) % 251};
  }
  template <class Value>
  void put(int i, Value value) {
    for (std::size_t k = 0; k < shape->places.size(); k += 2) {
      const Map map = value(k);
      set(base(), i * shape->extent + shape->places[k], map.a);
      set(base(), i * shape->extent + shape->places[k + 1], map.b);
    }
  }
  int count_;
  std::ptrdiff_t base_ = 0;
  std::vector<unsigned char> bytes_;
};

// run(in, out, request): nullptr as `in` is in place, as `request` blocking. `count`: of results.
template <class Run>
void check(const char* what, int all, int first, int last, int begin, int count, Run run) {
  for (const bool starts : {false, true}) {
    if (sums && starts) continue;
    for (const bool in_place : {false, true}) {
      Buffer in(all, static_cast<unsigned char>(0x40 + rank)), out(all, 0x5a), want(all, 0x5a);
      const Buffer before = [&] {
        in.fill(rank);
        return in;
      }();
      if (in_place) {
        out.fill(rank);
        want.fill(rank);
      }
      if (first < last) want.expect(first, last, begin, count);
      MPI_Request request = MPI_REQUEST_NULL;
      run(in_place ? nullptr : in.base(), out.base(), starts ? &request : nullptr);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
      ++compared;
      if (out == want && in == before) continue;
      ++wrong;
      std::printf("rank %d: %s%s%s of %d x %s is wrong\n", rank, starts ? "I" : "", what,
                  in_place ? " in place" : "", all, shape->name);
    }
  }
}

inline void check_all(MPI_Comm comm, int n, MPI_Op op) {
  int me = 0, members = 0;
  MPI_Comm_rank(comm, &me);
  MPI_Comm_size(comm, &members);
  const bool alone = members == 1;
  const int first = alone ? rank : 0, last = alone ? rank + 1 : size;
  const MPI_Datatype type = shape->type;
  const auto place = [](char* in) -> const void* { return in != nullptr ? in : MPI_IN_PLACE; };
  check("Allreduce", n, first, last, 0, n, [&](char* in, char* out, MPI_Request* r) {
    r ? MPI_Iallreduce(place(in), out, n, type, op, comm, r)
      : MPI_Allreduce(place(in), out, n, type, op, comm);
  });
  const int root = members - 1;
  check("Reduce", n, first, last, 0, me == root ? n : 0, [&](char* in, char* out, MPI_Request* r) {
    const void* from = in != nullptr ? in : me == root ? MPI_IN_PLACE : out;
    void* to = me == root ? out : nullptr;
    r ? MPI_Ireduce(from, to, n, type, op, root, comm, r)
      : MPI_Reduce(from, to, n, type, op, root, comm);
  });
  check("Scan", n, first, rank + 1, 0, n, [&](char* in, char* out, MPI_Request* r) {
    r ? MPI_Iscan(place(in), out, n, type, op, comm, r)
      : MPI_Scan(place(in), out, n, type, op, comm);
  });
  check("Exscan", n, first, me == 0 ? first : rank, 0, n, [&](char* in, char* out, MPI_Request* r) {
    r ? MPI_Iexscan(place(in), out, n, type, op, comm, r)
      : MPI_Exscan(place(in), out, n, type, op, comm);
  });
  const int each = n / members;
  if (each == 0) return;
  check("Reduce_scatter_block", n, first, last, me * each, each,
        [&](char* in, char* out, MPI_Request* r) {
          r ? MPI_Ireduce_scatter_block(place(in), out, each, type, op, comm, r)
            : MPI_Reduce_scatter_block(place(in), out, each, type, op, comm);
        });
  std::vector<int> counts(static_cast<std::size_t>(members), each);
  counts.back() += n % members;
  check("Reduce_scatter", n, first, last, me * each, counts[static_cast<std::size_t>(me)],
        [&](char* in, char* out, MPI_Request* r) {
          r ? MPI_Ireduce_scatter(place(in), out, counts.data(), type, op, comm, r)
            : MPI_Reduce_scatter(place(in), out, counts.data(), type, op, comm);
        });
}

inline std::vector<Shape> make_shapes() {
  std::vector<Shape> shapes;
  const auto add = [&](const char* name, MPI_Datatype made, std::ptrdiff_t lower,
                       std::ptrdiff_t extent, std::vector<std::ptrdiff_t> places) {
    MPI_Datatype type;
    MPI_Type_create_resized(made, lower, extent, &type);
    MPI_Type_commit(&type);
    MPI_Type_free(&made);
    shapes.push_back({name, type, extent, std::move(places)});
  };
  const auto places = [](int count, std::ptrdiff_t step) {
    std::vector<std::ptrdiff_t> list;
    for (int i = 0; i < count; ++i) list.push_back(i * step);
    return list;
  };
  MPI_Datatype made;
  MPI_Type_contiguous(2, MPI_INT, &made);
  add("pairs with a gap behind", made, 0, 12, {0, 4});
  const int ones[] = {1, 1, 1, 1};
  const MPI_Aint around[] = {16, -8, -4, 4};
  MPI_Type_create_hindexed(4, ones, around, MPI_INT, &made);
  add("pairs on both sides of their place", made, -12, 40, {16, -8, -4, 4});
  MPI_Type_vector(4, 1, 5, MPI_INT, &made);
  add("columns of a matrix", made, 0, 4, places(4, 20));
  MPI_Type_contiguous(2, MPI_INT, &made);
  add("pairs that go down", made, 0, -16, {0, 4});
  MPI_Type_vector(200, 1, 3, MPI_INT, &made);
  add("large elements with gaps", made, 0, 2400, places(200, 12));
  MPI_Type_contiguous(5000, MPI_INT, &made);
  add("large elements", made, 0, 20'000, places(5000, 4));
  // One that the MPI alone can pack.
  const int sizes[] = {16}, kinds[] = {MPI_DISTRIBUTE_CYCLIC}, blocks[] = {1}, grid[] = {2};
  MPI_Type_create_darray(2, 0, 1, sizes, kinds, blocks, grid, MPI_ORDER_C, MPI_INT, &made);
  add("every second of an array", made, 0, 64, places(8, 8));
  return shapes;
}

// A datatype with absolute addresses, which differ from rank to rank.
inline void at_bottom(MPI_Comm comm, MPI_Op op) {
  std::vector<std::int32_t> data(8, -1);
  const int ones[] = {1, 1};
  MPI_Aint at[2];
  for (const bool starts : {false, true}) {
    if (sums && starts) continue;
    MPI_Get_address(&data[1], &at[0]);
    MPI_Get_address(&data[4], &at[1]);
    Shape absolute{"addresses", MPI_DATATYPE_NULL, 0, {at[0], at[1]}};
    MPI_Type_create_hindexed(2, ones, at, MPI_INT, &absolute.type);
    MPI_Type_commit(&absolute.type);
    shape = &absolute;
    data[1] = rank + 2;
    data[4] = 3 * rank + 1;
    Map want{2, 1};
    for (int q = 1; q < size; ++q) want = after(want, {q + 2, 3 * q + 1});
    MPI_Request request = MPI_REQUEST_NULL;
    starts ? MPI_Iallreduce(MPI_IN_PLACE, MPI_BOTTOM, 1, absolute.type, op, comm, &request)
           : MPI_Allreduce(MPI_IN_PLACE, MPI_BOTTOM, 1, absolute.type, op, comm);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    ++compared;
    wrong += data[1] != want.a || data[4] != want.b || data[0] != -1 || data[2] != -1;
    MPI_Type_free(&absolute.type);
  }
}

// Of a structure only the key travels, but the function copies all of it.
struct Record {
  double key;
  char rest[40'000];
};
inline void greatest(void* in, void* in_out, int* length, MPI_Datatype*) {
  for (int i = 0; i < *length; ++i) {
    Record& right = static_cast<Record*>(in_out)[i];
    const Record& left = static_cast<const Record*>(in)[i];
    if (left.key > right.key) right = left;
  }
}
inline void whole_structures(MPI_Comm comm) {
  MPI_Datatype type;
  MPI_Type_create_resized(MPI_DOUBLE, 0, sizeof(Record), &type);
  MPI_Type_commit(&type);
  MPI_Op op;
  MPI_Op_create(greatest, 1, &op);
  for (const bool starts : {false, true}) {
    if (sums && starts) continue;
    constexpr int count = 3;
    std::vector<Record> mine(count), all(count);
    for (int i = 0; i < count; ++i) mine[static_cast<std::size_t>(i)].key = (rank * 7 + i) % size;
    MPI_Request request = MPI_REQUEST_NULL;
    starts ? MPI_Iallreduce(mine.data(), all.data(), count, type, op, comm, &request)
           : MPI_Allreduce(mine.data(), all.data(), count, type, op, comm);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    ++compared;
    for (int i = 0; i < count; ++i) {
      double want = 0;
      for (int q = 0; q < size; ++q) want = std::max(want, (q * 7 + i) % size * 1.0);
      wrong += all[static_cast<std::size_t>(i)].key != want;
    }
  }
  MPI_Op_free(&op);
  MPI_Type_free(&type);
}

inline void gaps(MPI_Comm comm) {
  MPI_Op op;
  MPI_Op_create(compose, sums, &op);
  for (Shape& each : make_shapes()) {
    shape = &each;
    if (sums && each.places.size() > 64) continue;
    for (const int count : {1, 2, 5, 300, 2000, 30'000}) {
      const bool columns = each.extent == 4;
      if (columns ? count > 5 : count * std::abs(each.extent) > 2'000'000) continue;
      check_all(comm, count, op);
    }
    check_all(MPI_COMM_SELF, 3, op);
    MPI_Type_free(&each.type);
  }
  at_bottom(comm, op);
  whole_structures(comm);
  MPI_Op_free(&op);
}
