// SPDX-License-Identifier: BSD-3-Clause
#include "coll/coll.h"

namespace tutti::coll {

const char* name_of(Collective collective) {
  switch (collective) {
    case Collective::barrier:
      return "Barrier";
    case Collective::bcast:
      return "Bcast";
    case Collective::reduce:
      return "Reduce";
    case Collective::allreduce:
      return "Allreduce";
  }
  return "?";
}

}  // namespace tutti::coll
