// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/reports.h"

#include <cstring>
#include <memory>

#include "base/base.h"
#include "commons/commons.h"
#include "engine/engine.h"
#include "engine/node.h"
#include "mpi/absentees.h"
#include "mpi/communicators.h"
#include "mpi/devices.h"
#include "mpi/ledger.h"
#include "mpi/world.h"
#include "progress/progress.h"

namespace tutti::mpi {

template <class H>
void Reports<H>::report() {
  struct Sums {
    engine::Account account;
    std::uint64_t hosts;
    std::uint64_t traces;  // all do what rank 0 was told
  };
  static_assert(sizeof(Sums) % sizeof(std::uint64_t) == 0);
  // The report and the trace are those of its parents.
  const bool spawned = world_.was_spawned();
  const bool traces = world_.rank() == 0 && *options().trace != '\0' && !spawned;
  const Sums mine{engine::account(), communicators_.leads_host(), traces};
  Sums all{};
  if (native_.small.allreduce(&mine, &all, sizeof all / sizeof(std::uint64_t), native_.uint64,
                              native_.sum, native_.world) != 0)
    return;
  const engine::Exchange group = exchange_of(native_, world_, native_.world);
  if (all.traces != 0) {
    std::vector<std::uint64_t> ranks_hosts(static_cast<std::size_t>(group.size));
    const std::uint64_t host = engine::host_id();
    if (!group.allgather(&host, ranks_hosts.data(), sizeof host)) return;
    engine::driver().stop();  // what it records is read; not before all are in MPI_Finalize
    write_trace(group, ranks_hosts);
  }
  if (group.rank != 0 || spawned) return;
  std::vector<const char*> notes;
  if (communicators_.home() == nullptr) notes.push_back("the ranks could not make a node segment");
  write_report(group.size, static_cast<int>(all.hosts), notes, mine.account, all.account);
}

template <class H>
void Reports<H>::report_absentees() {
  if (absentees_.names().empty() || world_.was_spawned()) return;
  int size = 0;
  native_.comm_size(native_.world, &size);
  const engine::Account mine = engine::account();
  write_report(size, 0, {absentees_.names().c_str()}, mine, mine);
}

template <class H>
void Reports<H>::report_alone(H session) {
  H group{};
  int rank = 0, size = 0;
  if (native_.group_from_session_pset(session, "mpi://WORLD", &group) != 0) return;
  native_.group_rank(group, &rank);
  native_.group_size(group, &size);
  native_.group_free(&group);
  if (rank != 0) return;
  warn_about_unknown_options();
  if (*options().trace != '\0') log::warn("no trace: one is written at MPI_Finalize alone");
  const std::shared_ptr<engine::Node> node = communicators_.home();
  const bool one_node = size == 1 || (node != nullptr && node->size() == size);
  const engine::Account mine = engine::account();
  std::vector<const char*> notes = {"only sessions: bytes are those of rank 0"};
  if (!absentees_.names().empty()) notes.push_back(absentees_.names().c_str());
  write_report(size, one_node ? 1 : 0, notes, mine, mine);
}

template <class H>
void Reports<H>::write_report(int ranks, int nodes, std::vector<const char*> notes,
                              const engine::Account& mine, const engine::Account& all) {
  if (*options().report == '\0') return;
  char version[8192] = "unknown";
  int length = 0;
  native_.get_library_version(version, &length);
  version[std::strcspn(version, "\n")] = '\0';
  const std::shared_ptr<engine::Node> node = communicators_.home();
  if (node != nullptr && ranks > 1) {
    for (const memory::Transport transport : memory::every_transport)
      if (const char* why = node->why_not(transport); *why != '\0') notes.push_back(why);
    if (node->oversubscribed()) notes.push_back("more ranks than cores: waiting ranks yield");
  }
  if (*commons::noted() != '\0') notes.push_back(commons::noted());
  if (node != nullptr && *node->kept_free() != '\0') notes.push_back(node->kept_free());
  if (devices::present())
    notes.push_back("a runtime of GPUs is loaded, which makes calls slower (TUTTI_GPUS)");
  if (devices::copied()) notes.push_back("buffers in device memory passed through the host");
  const Ledger::Run run{version,      name_of(native_.family),       ranks, nodes,
                        notes.data(), static_cast<int>(notes.size())};
  if (!ledger_.write(options().report, run, mine, all))
    log::warn("the report could not be written to %s", options().report);
}

template class Reports<int>;
template class Reports<void*>;

}  // namespace tutti::mpi
