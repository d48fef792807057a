// SPDX-License-Identifier: BSD-3-Clause
// Processes of a node may fork at the same time. Their children's copies of the commons must fit
// into memory together, so they agree about it.
#pragma once

namespace tutti::engine {

class Node;

// From now on this process agrees with the others of `node`, unless it already agrees with those of
// another node.
void agree_on_forks(Node& node);
// From now on it does so no longer.
void disagree_on_forks(Node& node);

}  // namespace tutti::engine
