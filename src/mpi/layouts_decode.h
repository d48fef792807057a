// SPDX-License-Identifier: BSD-3-Clause
// From a datatype's handle to its typemap, by the calls with which MPI says how it was made.
#pragma once

#include <cstdint>
#include <vector>

#include "layout/layout.h"
#include "mpi/combiners.h"
#include "mpi/native.h"
#include "mpi/predefined.h"

namespace tutti::mpi {

template <class H>
class LayoutDecoder {
 public:
  using Typemap = layout::Typemap;

  LayoutDecoder(const Native<H>& native, PredefinedTypes<H>& predefined)
      : native_(native), predefined_(predefined) {}

  // nullptr: not predefined, or only the MPI knows what it is like.
  [[nodiscard]] const Known* predefined(H type) const {
    auto* slot = predefined_.slot_of(type);
    const Known* known = slot != nullptr ? &predefined_.known(*slot, type) : nullptr;
    return known != nullptr && known->usable() ? known : nullptr;
  }

  // False: unknown, too irregular, or the MPI does not agree about the size.
  [[nodiscard]] bool decode(H type, Typemap& typemap) const;

 private:
  static constexpr int deepest = 100;  // of datatypes made of datatypes

  struct Envelope {
    Count integers = 0, addresses = 0, counts = 0, types = 0;
    Combiner combiner = Combiner::unknown;
  };
  // The constructor's arguments in their order, but for the oldtypes.
  struct Contents {
    std::vector<std::int64_t> numbers;
    std::vector<H> types;
  };

  bool decode(H type, int depth, Typemap& typemap) const;
  bool ask(H type, Envelope& e) const;
  bool ask(H type, const Envelope& e, Contents& contents) const;
  [[nodiscard]] bool large() const {
    return native_.type_get_envelope_c != nullptr && native_.type_get_contents_c != nullptr;
  }
  bool compose(const Envelope& envelope, const Contents& contents, int depth,
               Typemap& typemap) const;
  static bool compose_indexed(Combiner combiner, const Typemap& child,
                              const std::vector<std::int64_t>& n, Typemap& typemap);
  bool compose_structure(const Contents& contents, int depth, Typemap& typemap) const;
  void release(std::vector<H>& types) const;

  const Native<H>& native_;
  PredefinedTypes<H>& predefined_;
};

}  // namespace tutti::mpi
