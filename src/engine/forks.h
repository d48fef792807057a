// SPDX-License-Identifier: BSD-3-Clause
// The processes of a node that fork at the same time: their children's copies of the commons must
// fit into memory together.
#pragma once

namespace tutti::engine {

class Node;

// From now on this process agrees with the others of `node`, if there is no other node it does so
// with; and no longer.
void agree_on_forks(Node& node);
void disagree_on_forks(Node& node);

}  // namespace tutti::engine
