// SPDX-License-Identifier: BSD-3-Clause
// lab: where the library's algorithms are tried on machines that are not here. No part of
// libtutti.so: the tests, tutti-simulate and tutti-probe link it.
//
//   sim.h       virtual ranks under a seeded scheduler: one seed is one interleaving
//   timed.h     virtual ranks on a machine's virtual time
//   cluster.h   virtual ranks on nodes that a network joins, on its time
//   provider.h  what the providers of the latter two have in common
//   desks.h     desks for all of them, in this process
//   model.h     how long a collective takes whose tree is split between the ranks' cores and others
//
// Words: docs/glossary.md.
#pragma once

#include "fabric/desk_fabric.h"
#include "fabric/scratch.h"

namespace tutti::lab {

using fabric::Bytes;
using fabric::Card;
using fabric::Desk;
using fabric::DeskFabric;
using fabric::Executor;
using fabric::Fabric;
using fabric::Route;
using fabric::Scratch;
using fabric::Step;
using fabric::Task;
using fabric::Transport;
using fabric::Watch;

}  // namespace tutti::lab
