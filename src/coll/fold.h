// SPDX-License-Identifier: BSD-3-Clause
// The arithmetic of a reduction over many operands, in the one order that all algorithms use:
//   r0 op (r1 op (... op r[P-1]))
// so that every member gets the same bits, whoever computes which slice by whichever algorithm, and
// operations that do not commute are right as well.
#pragma once

#include <cstring>

#include "coll/coll.h"

namespace tutti::coll {

// out = the fold of all operands; operand(q) yields member q's elements. `out` may be operand(0)
// exactly, or none of them.
template <class Operand>
void fold(const reduce::Kernel& kernel, int operands, Operand operand, void* out, std::size_t count,
          std::size_t element_bytes) {
  if (operands == 1) {
    std::memmove(out, operand(0), count * element_bytes);
    return;
  }
  kernel.apply(out, operand(operands - 2), operand(operands - 1), count, Stores::plain);
  for (int q = operands - 3; q >= 0; --q) kernel.apply(out, operand(q), out, count, Stores::plain);
}

}  // namespace tutti::coll
