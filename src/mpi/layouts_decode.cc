// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/layouts_decode.h"

#include <algorithm>
#include <utility>

namespace tutti::mpi {

using Numbers = layout::Typemap::Numbers;

template <class H>
bool LayoutDecoder<H>::decode(H type, Typemap& typemap) const {
  Count bytes = 0;
  return decode(type, 0, typemap) && native_.type_size_x(type, &bytes) == 0 &&
         static_cast<std::size_t>(bytes) == typemap.bytes();
}

template <class H>
bool LayoutDecoder<H>::decode(H type, int depth, Typemap& typemap) const {
  if (const Known* known = predefined(type)) {
    typemap = known->typemap;
    return true;
  }
  Envelope envelope;
  Contents contents;
  if (!ask(type, envelope)) return false;
  if (envelope.combiner == Combiner::f90) {
    Count bytes = 0;
    if (native_.type_size_x(type, &bytes) != 0) return false;
    typemap = Typemap(static_cast<std::size_t>(bytes));
  } else {
    if (envelope.combiner == Combiner::unknown || envelope.combiner == Combiner::named ||
        !ask(type, envelope, contents))
      return false;
    const bool composed = depth < deepest && compose(envelope, contents, depth, typemap);
    release(contents.types);
    if (!composed) return false;
  }
  // The MPI knows about padding and explicit bounds.
  Aint lower_bound = 0, extent = 0;
  if (native_.type_get_extent(type, &lower_bound, &extent) != 0) return false;
  typemap = typemap.resized(lower_bound, extent);
  return !typemap.too_long();
}

template <class H>
bool LayoutDecoder<H>::ask(H type, Envelope& e) const {
  int combiner = 0;
  if (large()) {
    if (native_.type_get_envelope_c(type, &e.integers, &e.addresses, &e.counts, &e.types,
                                    &combiner) != 0)
      return false;
  } else {
    int integers = 0, addresses = 0, types = 0;
    if (native_.type_get_envelope(type, &integers, &addresses, &types, &combiner) != 0)
      return false;
    e.integers = integers;
    e.addresses = addresses;
    e.types = types;
  }
  e.combiner = combiner_of(native_.family, combiner);
  return true;
}

template <class H>
bool LayoutDecoder<H>::ask(H type, const Envelope& e, Contents& contents) const {
  const auto size = [](Count count) { return static_cast<std::size_t>(count); };
  // One more than needed, so that none of the pointers is null.
  std::vector<int> integers(size(e.integers) + 1);
  std::vector<Aint> addresses(size(e.addresses) + 1);
  std::vector<Count> counts(size(e.counts) + 1);
  contents.types.resize(size(e.types) + 1);
  const int result =
      large() ? native_.type_get_contents_c(type, e.integers, e.addresses, e.counts, e.types,
                                            integers.data(), addresses.data(), counts.data(),
                                            contents.types.data())
              : native_.type_get_contents(type, static_cast<int>(e.integers),
                                          static_cast<int>(e.addresses), static_cast<int>(e.types),
                                          integers.data(), addresses.data(), contents.types.data());
  if (result != 0) return false;
  contents.types.pop_back();
  auto& numbers = contents.numbers;
  numbers.assign(integers.begin(), integers.end() - 1);
  numbers.insert(numbers.end(), addresses.begin(), addresses.end() - 1);
  numbers.insert(numbers.end(), counts.begin(), counts.end() - 1);
  if (e.combiner == Combiner::subarray && e.counts > 0)  // ndims, order, then what is counted
    std::rotate(numbers.begin() + 1, numbers.begin() + 2, numbers.end());
  return true;
}

template <class H>
bool LayoutDecoder<H>::compose(const Envelope& envelope, const Contents& contents, int depth,
                               Typemap& typemap) const {
  const std::vector<std::int64_t>& n = contents.numbers;
  const std::vector<H>& types = contents.types;
  if (envelope.combiner == Combiner::structure) return compose_structure(contents, depth, typemap);
  if (types.empty()) return false;
  Typemap child;
  if (!decode(types[0], depth + 1, child)) return false;
  switch (envelope.combiner) {
    case Combiner::dup:
    case Combiner::resized:  // the bounds are asked for anyway
      typemap = std::move(child);
      return true;
    case Combiner::contiguous:
      if (n.size() != 1) return false;
      typemap = child.contiguous(n[0]);
      return true;
    case Combiner::vector:
    case Combiner::hvector: {
      if (n.size() != 3) return false;
      const std::int64_t unit = envelope.combiner == Combiner::vector ? child.extent() : 1;
      typemap = child.vector(n[0], n[1], n[2] * unit);
      return true;
    }
    case Combiner::indexed:
    case Combiner::hindexed:
    case Combiner::indexed_block:
    case Combiner::hindexed_block:
      return compose_indexed(envelope.combiner, child, n, typemap);
    case Combiner::subarray: {
      const std::size_t dimensions = n.empty() ? 0 : static_cast<std::size_t>(n[0]);
      if (n.size() != 3 * dimensions + 2) return false;
      const Numbers all(n);
      typemap = child.subarray(
          all.subspan(1, dimensions), all.subspan(1 + dimensions, dimensions),
          all.subspan(1 + 2 * dimensions, dimensions),
          n.back() == order_c(native_.family) ? Typemap::Order::c : Typemap::Order::fortran);
      return true;
    }
    default:
      return false;
  }
}

template <class H>
bool LayoutDecoder<H>::compose_indexed(Combiner combiner, const Typemap& child,
                                       const std::vector<std::int64_t>& n, Typemap& typemap) {
  const bool one_length =
      combiner == Combiner::indexed_block || combiner == Combiner::hindexed_block;
  const bool in_elements = combiner == Combiner::indexed || combiner == Combiner::indexed_block;
  const std::size_t count = n.empty() ? 0 : static_cast<std::size_t>(n[0]);
  const std::size_t lengths = one_length ? 1 : count;
  if (n.size() != 1 + lengths + count) return false;
  std::vector<std::int64_t> displacements(n.end() - static_cast<std::ptrdiff_t>(count), n.end());
  if (in_elements)
    for (std::int64_t& displacement : displacements) displacement *= child.extent();
  typemap = child.indexed(Numbers(n).subspan(1, lengths), displacements);
  return true;
}

template <class H>
bool LayoutDecoder<H>::compose_structure(const Contents& contents, int depth,
                                         Typemap& typemap) const {
  const std::vector<std::int64_t>& n = contents.numbers;
  const std::size_t count = contents.types.size();
  if (n.size() != 1 + 2 * count) return false;
  std::vector<Typemap> children(count);
  std::vector<Typemap::Field> fields;
  for (std::size_t i = 0; i < count; ++i) {
    const bool again = i > 0 && contents.types[i] == contents.types[i - 1];
    if (!again && !decode(contents.types[i], depth + 1, children[i])) return false;
    const Typemap* type = again ? fields.back().type : &children[i];
    fields.push_back({n[1 + i], n[1 + count + i], type});
  }
  typemap = Typemap::structure(fields);
  return true;
}

// The derived ones are references of ours; predefined ones must not be freed.
template <class H>
void LayoutDecoder<H>::release(std::vector<H>& types) const {
  for (H& type : types) {
    if (predefined(type) != nullptr) continue;
    Envelope envelope;
    if (ask(type, envelope) && envelope.combiner != Combiner::named &&
        envelope.combiner != Combiner::f90 && envelope.combiner != Combiner::value_index)
      native_.type_free(&type);
  }
}

template class LayoutDecoder<int>;
template class LayoutDecoder<void*>;

}  // namespace tutti::mpi
