// SPDX-License-Identifier: BSD-3-Clause
// Random nested datatypes by every constructor of MPI, its large-count forms where it has them.
#pragma once

#include <dlfcn.h>
#include <mpi.h>

#include <cstdint>
#include <random>
#include <vector>

namespace tutti::test {

class RandomTypes {
 public:
  explicit RandomTypes(std::uint64_t seed) : random_(seed) {}

  int number(int low, int high) { return std::uniform_int_distribution<int>(low, high)(random_); }

  // The caller frees it, unless depth is 0.
  MPI_Datatype make(int depth) {
    if (depth == 0) return leaf();
    MPI_Datatype child = make(depth - 1);
    MPI_Datatype made = MPI_DATATYPE_NULL;
    int size = 0;
    MPI_Type_size(child, &size);
    const int kind = size > 3000 ? 0 : number(0, 10);
    if (!large(kind, child, depth, &made)) small(kind, child, depth, &made);
    // Of no bytes: the bounds of what is made of such a type are infinite in Open MPI, and some
    // versions of MPICH divide by zero.
    MPI_Type_size(made, &size);
    if (size == 0) {
      MPI_Type_free(&made);
      MPI_Type_dup(child, &made);
    }
    if (depth > 1) MPI_Type_free(&child);
    return made;
  }

 private:
  using C = MPI_Count;

  MPI_Datatype leaf() {
    // No long double: the MPIs do not copy its padding, so that one pack differs from the other.
    const MPI_Datatype leaves[] = {
        MPI_CHAR,       MPI_SHORT,     MPI_INT,  MPI_DOUBLE,   MPI_UINT64_T, MPI_C_DOUBLE_COMPLEX,
        MPI_DOUBLE_INT, MPI_SHORT_INT, MPI_2INT, MPI_LONG_INT, MPI_FLOAT,    MPI_BYTE};
    return leaves[number(0, 11)];
  }

  MPI_Aint extent_of(MPI_Datatype type) {
    MPI_Aint lower = 0, extent = 0;
    MPI_Type_get_extent(type, &lower, &extent);
    return extent;
  }

  // The numbers of one constructor, drawn before anybody knows which form takes them.
  struct Numbers {
    int count = 0, length = 0;
    std::vector<int> lengths, places;
    std::vector<MPI_Aint> at;
    std::vector<int> sizes, subsizes, starts;
    int order = MPI_ORDER_C;
  };
  Numbers draw(MPI_Datatype child) {
    Numbers n;
    n.count = number(0, 6);
    n.length = number(0, 3);
    n.order = number(0, 1) ? MPI_ORDER_C : MPI_ORDER_FORTRAN;
    const bool regular = number(0, 1);
    int place = number(-10, 10);
    const int direction = number(0, 3) ? 1 : -1;
    for (int i = 0; i < n.count; ++i) {
      n.lengths.push_back(number(0, 3));
      n.places.push_back(place);
      n.at.push_back(place * extent_of(child) + (regular ? 0 : number(0, 9)));
      place += direction * (regular ? 4 : number(3, 9));
    }
    for (int d = number(1, 4); d > 0; --d) {
      n.sizes.push_back(number(1, 4));
      n.subsizes.push_back(number(1, n.sizes.back()));
      n.starts.push_back(number(0, n.sizes.back() - n.subsizes.back()));
    }
    return n;
  }
  // Elements may interleave, but blocks without gaps may not overlap: that Open MPI reads as if
  // they lay one behind the other.
  MPI_Aint new_extent(MPI_Datatype child) {
    MPI_Aint lower = 0, extent = 0;
    int size = 0;
    MPI_Type_size(child, &size);
    MPI_Type_get_true_extent(child, &lower, &extent);
    return number(0, 1) && size < extent ? 8 : extent + number(0, 40);
  }
  MPI_Aint stride(MPI_Datatype child, int length) {
    return (number(0, 3) ? 1 : -1) * (length + number(0, 3)) * extent_of(child);
  }

  // The other types of a struct.
  std::vector<MPI_Datatype> others(MPI_Datatype child, int count, int depth) {
    std::vector<MPI_Datatype> types;
    for (int i = 0; i < count; ++i)
      types.push_back(number(0, 1) ? child : make(number(0, 1) * (depth - 1)));
    return types;
  }
  void release(std::vector<MPI_Datatype>& types, MPI_Datatype child) {
    for (MPI_Datatype& type : types) {
      int i, a, d, combiner;
      if (type == child) continue;
      MPI_Type_get_envelope(type, &i, &a, &d, &combiner);
      if (combiner != MPI_COMBINER_NAMED) MPI_Type_free(&type);
    }
  }
  // Members one behind the other, so that they do not overlap.
  std::vector<MPI_Aint> places_of(const std::vector<MPI_Datatype>& types,
                                  const std::vector<int>& lengths) {
    std::vector<MPI_Aint> at;
    MPI_Aint next = number(-20, 20);
    for (std::size_t i = 0; i < types.size(); ++i) {
      MPI_Aint lower = 0, extent = 0;
      MPI_Type_get_true_extent(types[i], &lower, &extent);
      at.push_back(next - lower);
      const MPI_Aint step = extent_of(types[i]);
      next += extent + lengths[i] * (step < 0 ? -step : step) + number(0, 1) * number(0, 9);
    }
    return at;
  }

  void small(int kind, MPI_Datatype child, int depth, MPI_Datatype* made) {
    Numbers n = draw(child);
    const int dims = static_cast<int>(n.sizes.size());
    switch (kind) {
      case 0:
        MPI_Type_dup(child, made);
        return;
      case 1:
        MPI_Type_contiguous(n.count, child, made);
        return;
      case 2:
        MPI_Type_vector(n.count, n.length, n.length + number(0, 3), child, made);
        return;
      case 3:
        MPI_Type_create_hvector(n.count, n.length, stride(child, n.length), child, made);
        return;
      case 4:
        MPI_Type_indexed(n.count, n.lengths.data(), n.places.data(), child, made);
        return;
      case 5:
        MPI_Type_create_hindexed(n.count, n.lengths.data(), n.at.data(), child, made);
        return;
      case 6:
        MPI_Type_create_indexed_block(n.count, n.length, n.places.data(), child, made);
        return;
      case 7:
        MPI_Type_create_hindexed_block(n.count, n.length, n.at.data(), child, made);
        return;
      case 8: {
        auto types = others(child, n.count, depth);
        auto at = places_of(types, n.lengths);
        MPI_Type_create_struct(n.count, n.lengths.data(), at.data(), types.data(), made);
        release(types, child);
        return;
      }
      case 9:
        MPI_Type_create_subarray(dims, n.sizes.data(), n.subsizes.data(), n.starts.data(), n.order,
                                 child, made);
        return;
      default:
        MPI_Type_create_resized(child, number(-20, 20), new_extent(child), made);
    }
  }

  // A form with large counts, if the MPI has it; it is not in the headers of all.
  template <class... Arguments>
  static bool call(const char* name, Arguments... arguments) {
    auto* form = reinterpret_cast<int (*)(Arguments...)>(dlsym(RTLD_DEFAULT, name));
    return form != nullptr && form(arguments...) == MPI_SUCCESS;
  }
  bool large(int kind, MPI_Datatype child, int depth, MPI_Datatype* made) {
    if (dlsym(RTLD_DEFAULT, "MPI_Type_contiguous_c") == nullptr || number(0, 2)) return false;
    const Numbers n = draw(child);
    const std::vector<C> lengths(n.lengths.begin(), n.lengths.end());
    const std::vector<C> places(n.places.begin(), n.places.end());
    const std::vector<C> at(n.at.begin(), n.at.end());
    const std::vector<C> sizes(n.sizes.begin(), n.sizes.end());
    const std::vector<C> subsizes(n.subsizes.begin(), n.subsizes.end());
    const std::vector<C> starts(n.starts.begin(), n.starts.end());
    const C count = n.count, length = n.length;
    const int dims = static_cast<int>(sizes.size());
    switch (kind) {
      case 1:
        return call("MPI_Type_contiguous_c", count, child, made);
      case 2:
        return call("MPI_Type_vector_c", count, length, length + 2, child, made);
      case 3:
        return call("MPI_Type_create_hvector_c", count, length, C{stride(child, n.length)}, child,
                    made);
      case 4:
        return call("MPI_Type_indexed_c", count, lengths.data(), places.data(), child, made);
      case 5:
        return call("MPI_Type_create_hindexed_c", count, lengths.data(), at.data(), child, made);
      case 6:
        return call("MPI_Type_create_indexed_block_c", count, length, places.data(), child, made);
      case 7:
        return call("MPI_Type_create_hindexed_block_c", count, length, at.data(), child, made);
      case 8: {
        auto types = others(child, n.count, depth);
        const auto where = places_of(types, n.lengths);
        const std::vector<C> displacements(where.begin(), where.end());
        const bool good = call("MPI_Type_create_struct_c", count, lengths.data(),
                               displacements.data(), types.data(), made);
        release(types, child);
        return good;
      }
      case 9:
        return call("MPI_Type_create_subarray_c", dims, sizes.data(), subsizes.data(),
                    starts.data(), n.order, child, made);
      case 10:
        return call("MPI_Type_create_resized_c", child, C{number(-20, 20)}, C{new_extent(child)},
                    made);
      default:
        return false;
    }
  }

  std::mt19937_64 random_;
};

}  // namespace tutti::test
