// SPDX-License-Identifier: BSD-3-Clause
#include "engine/across.h"

#include <bit>

#include "coll/leaders/rows.h"

namespace tutti::engine {
namespace {

constexpr auto algorithm_of = coll::leaders::algorithm_of<fabric::NodeFabric, fabric::MessageWire>;

}  // namespace

bool Across::performs(coll::Collective collective, bool blocking) const {
  return algorithm_of(collective) != nullptr && (blocking || starts_);
}

bool Across::performs(coll::Collective collective, const coll::Work& work) const {
  return coll::leaders::serves(map_, collective, work);
}

choice::Contest& Across::contest(coll::Collective collective, std::size_t bytes) {
  const auto size_class = static_cast<std::uint32_t>(std::bit_width(bytes));
  const std::uint32_t key = static_cast<std::uint32_t>(collective) << 8 | size_class;
  return contests_.try_emplace(key, collective).first->second;
}

bool Across::perform(coll::Collective collective, const coll::Work& work) {
  coll::leaders::Members<fabric::NodeFabric, fabric::MessageWire> all{
      fabric_, wire_, map_, plans_, strict_, background_.way};
  const fabric::Task task = algorithm_of(collective)(all, work);
  fabric::NodeProvider& provider = fabric_.provider();
  const bool succeeded = task.done() && !provider.failed() && !provider.has_read_in_vain();
  if (succeeded) wire_.end_call();
  return succeeded;
}

}  // namespace tutti::engine
