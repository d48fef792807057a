// SPDX-License-Identifier: BSD-3-Clause
// The functions of the user's MPI that tell what a datatype is made of.
#pragma once

#include <cstdint>

#include "mpi/library.h"
#include "mpi/native.h"

namespace tutti::mpi {

template <class H>
struct LayoutNative {
  int (*create_keyval)(int (*copy)(H, int, void*, void*, void*, int*),
                       int (*remove)(H, int, void*, void*), int* keyval, void* extra);
  int (*free_keyval)(int* keyval);
  int (*get_attr)(H type, int keyval, void* value, int* flag);
  int (*set_attr)(H type, int keyval, void* value);
  int (*type_free)(H* type);
  int (*size_x)(H type, Count* bytes);
  int (*get_extent)(H type, Aint* lower_bound, Aint* extent);

  int (*get_envelope)(H type, int* integers, int* addresses, int* types, int* combiner);
  int (*get_contents)(H type, int integers, int addresses, int types, int*, Aint*, H*);
  // MPI-4's, the only ones for datatypes made with large counts; nullptr where the MPI has none.
  int (*get_envelope_c)(H type, Count* integers, Count* addresses, Count* counts, Count* types,
                        int* combiner);
  int (*get_contents_c)(H type, Count integers, Count addresses, Count counts, Count types, int*,
                        Aint*, Count*, H*);

  void load(const Library& mpi) {
    mpi.load(create_keyval, "PMPI_Type_create_keyval");
    mpi.load(free_keyval, "PMPI_Type_free_keyval");
    mpi.load(get_attr, "PMPI_Type_get_attr");
    mpi.load(set_attr, "PMPI_Type_set_attr");
    mpi.load(type_free, "PMPI_Type_free");
    mpi.load(size_x, "PMPI_Type_size_x");
    if (size_x == nullptr) mpi.load(size_x, "PMPI_Type_size_c");
    mpi.load(get_extent, "PMPI_Type_get_extent");
    mpi.load(get_envelope, "PMPI_Type_get_envelope");
    mpi.load(get_contents, "PMPI_Type_get_contents");
    mpi.load(get_envelope_c, "PMPI_Type_get_envelope_c");
    mpi.load(get_contents_c, "PMPI_Type_get_contents_c");
  }
  [[nodiscard]] bool complete() const {
    return create_keyval && free_keyval && get_attr && set_attr && type_free && size_x &&
           get_extent && get_envelope && get_contents;
  }
};

// A handle as a key of a HandleMap.
inline std::uint64_t key_of(int handle) { return static_cast<std::uint32_t>(handle); }
inline std::uint64_t key_of(void* handle) { return reinterpret_cast<std::uint64_t>(handle); }

}  // namespace tutti::mpi
