// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/predefined.h"

#include <algorithm>

#include "base/bits.h"

namespace tutti::mpi {
namespace {

using layout::Typemap;
using reduce::Type;

// A type is one block, unless C pads a value before or behind its index.
Typemap typemap_of(const DatatypeRow& row) {
  if (row.type != Type::f64_i32 && row.type != Type::i64_i32 && row.type != Type::i16_i32 &&
      row.type != Type::f80_i32)
    return Typemap(row.bytes);
  const std::size_t index_bytes = 4, value_bytes = row.bytes - index_bytes;
  const Typemap value(value_bytes), index(index_bytes);
  const std::size_t place = round_up(value_bytes, index_bytes);
  const std::size_t all = round_up(place + index_bytes, std::max(value_bytes, index_bytes));
  const Typemap::Field fields[] = {{1, 0, &value}, {1, static_cast<std::ptrdiff_t>(place), &index}};
  return Typemap::structure(fields).resized(0, static_cast<std::ptrdiff_t>(all));
}

// The type of the same kind that has `bytes`, for what kernels there are.
bool resize(Type& type, std::size_t bytes) {
  constexpr Type kinds[][4] = {{Type::i8, Type::i16, Type::i32, Type::i64},
                               {Type::u8, Type::u16, Type::u32, Type::u64},
                               {Type::f32, Type::f64, Type::f64, Type::f64},
                               {Type::c64, Type::c128, Type::c128, Type::c128},
                               {Type::f32_f32, Type::f64_f64, Type::f64_f64, Type::f64_f64}};
  for (const auto& kind : kinds) {
    if (std::find(std::begin(kind), std::end(kind), type) == std::end(kind)) continue;
    for (const Type other : kind) {
      if (reduce::size_of(other) != bytes) continue;
      type = other;
      return true;
    }
  }
  return false;
}

}  // namespace

Known::Known(const DatatypeRow& row, std::int64_t its_bytes, Aint lower_bound, Aint extent)
    : sort(Sort::dense),
      bytes(static_cast<std::size_t>(std::max<std::int64_t>(its_bytes, 0))),
      type(row.type),
      arithmetic(row.arithmetic),
      typemap(typemap_of(row)),
      layout(typemap) {
  const bool gapless = lower_bound == 0 && extent == its_bytes;
  if (bytes == 0) {
    sort = Sort::absent;
    arithmetic = Arithmetic::none;
  } else if (bytes == layout.bytes() && lower_bound == 0 && extent == layout.extent()) {
    if (!layout.dense()) sort = Sort::gapped;
  } else {
    if (arithmetic != Arithmetic::none && !(gapless && resize(type, bytes)))
      arithmetic = Arithmetic::none;
    sort = gapless ? Sort::dense : Sort::unknown;
    typemap = Typemap(bytes);
    layout = layout::Layout(typemap);
  }
}

template <class H>
void PredefinedTypes<H>::open(const Library& library) {
  const Symbols symbols{library.handle};
  for (const DatatypeRow& row : datatype_rows())
    slots_.insert(handle_of(row, library.family, symbols), all_.emplace_back(row));
  fortran_is_final_ = !native_.abi_get_fortran_info || !native_.abi_set_fortran_info;
}

template <class H>
const Known& PredefinedTypes<H>::ask(Slot& slot, H type) {
  const std::lock_guard lock(asking_);
  if (!is_final(slot)) look_for_fortran();
  int bytes = 0;
  Aint lower_bound = 0, extent = 0;
  if (native_.type_size(type, &bytes) != 0 ||
      native_.type_get_extent(type, &lower_bound, &extent) != 0)
    bytes = 0;
  Known now(*slot.row, bytes, lower_bound, extent);
  const Known* known = slot.known.load(std::memory_order_relaxed);
  if (known == nullptr || known->sort != now.sort || known->bytes != now.bytes)
    known = &found_.emplace_back(std::move(now));
  slot.known.store(known, std::memory_order_release);
  if (known->sort == Known::Sort::dense && is_final(slot))
    slot.dense_bytes.store(known->bytes, std::memory_order_relaxed);
  return *known;
}

// The program may tell an MPI of the standard ABI what its Fortran types are, at any time, but
// once. Until it has, what the MPI says is good for one call; afterwards it is asked once more.
template <class H>
void PredefinedTypes<H>::look_for_fortran() {
  H info{};
  if (native_.abi_get_fortran_info(&info) != 0 || info == native_.null_info) return;
  native_.info_free(&info);
  for (Slot& slot : all_)
    if (slot.row->language == Language::fortran)
      slot.known.store(nullptr, std::memory_order_relaxed);
  fortran_is_final_.store(true, std::memory_order_release);
}

template class PredefinedTypes<int>;
template class PredefinedTypes<void*>;

}  // namespace tutti::mpi
