// SPDX-License-Identifier: BSD-3-Clause
// What is told when a run ends: the report, which rank 0 writes where TUTTI_REPORT says, and the
// trace of all ranks, where TUTTI_TRACE says.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/account.h"
#include "engine/exchange.h"
#include "mpi/native.h"

namespace tutti::mpi {

template <class H>
class Absentees;
template <class H>
class Communicators;
template <class H>
class World;
class Ledger;

template <class H>
class Reports {
 public:
  Reports(const Native<H>& native, World<H>& world, const Absentees<H>& absentees,
          Communicators<H>& communicators, const Ledger& ledger)
      : native_(native),
        world_(world),
        absentees_(absentees),
        communicators_(communicators),
        ledger_(ledger) {}

  // Collective over MPI_COMM_WORLD. Sums alone: what every rank has to say would not fit the memory
  // of one of very many.
  void report();
  // By the rank that has named the ranks without Tutti: the others need not have Tutti to tell it
  // anything.
  void report_absentees();
  // Sessions may end in any order, so ranks tell each other nothing: what rank 0 has seen.
  void report_alone(H session);

 private:
  void write_report(int ranks, int nodes, std::vector<const char*> notes,
                    const engine::Account& mine, const engine::Account& all);
  // Collective, right after an exchange of all ranks: the clocks of different nodes are set by
  // that. `hosts`: by rank.
  void write_trace(const engine::Exchange& group, const std::vector<std::uint64_t>& hosts);

  const Native<H>& native_;
  World<H>& world_;
  const Absentees<H>& absentees_;
  Communicators<H>& communicators_;
  const Ledger& ledger_;
};

}  // namespace tutti::mpi
