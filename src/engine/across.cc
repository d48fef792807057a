// SPDX-License-Identifier: BSD-3-Clause
#include "engine/across.h"

#include "coll/leaders/rows.h"

namespace tutti::engine {
namespace {

constexpr auto algorithm_of = coll::leaders::algorithm_of<fabric::NodeFabric, fabric::MessageWire>;

}  // namespace

bool Across::performs(coll::Collective collective) { return algorithm_of(collective) != nullptr; }

bool Across::performs(coll::Collective collective, const coll::Work& work) const {
  return performs(collective) && coll::leaders::serves(map_, collective, work);
}

bool Across::perform(coll::Collective collective, const coll::Work& work) {
  coll::leaders::Members<fabric::NodeFabric, fabric::MessageWire> all{fabric_, wire_, map_, plans_,
                                                                      strict_};
  const fabric::Task task = algorithm_of(collective)(all, work);
  fabric::NodeHost& host = fabric_.host();
  const bool succeeded = task.done() && !host.failed() && !host.has_read_in_vain();
  if (succeeded) wire_.end_call();
  return succeeded;
}

}  // namespace tutti::engine
