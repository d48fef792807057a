// SPDX-License-Identifier: BSD-3-Clause
// Front: from MPI_Init to MPI_Finalize, and a team for each communicator.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstring>
#include <numeric>
#include <set>
#include <vector>

#include "base/base.h"
#include "commons/commons.h"
#include "mpi/front.h"
#include "mpi/front_roll.h"
#include "os/affinity.h"

namespace tutti::mpi {

template <class H>
const Entries& Front<H>::open(const Library& library) {
  self_ = new Front;  // lives as long as the process: it may be called after static destructors
  Front& self = *self_;
  self.library_ = library;
  self.native_.load(library);
  self.layouts_.open(library);
  const Symbols symbols{library.handle};
  self.quiet_ = self.native_.null_comm;
  for (const OpRow& row : op_rows()) self.ops_.insert(handle_of(row, library.family, symbols), row);
  std::ranges::transform(other_op_rows(), self.no_operations_.begin(), [&](const OtherOpRow& row) {
    return handle_of(row, library.family, symbols);
  });
  os::watch_loads();

  static Entries entries{forms<int, int>(),
                         completing(),
                         init,
                         init_thread,
                         finalize,
                         session_init,
                         session_finalize,
                         alloc_mem,
                         free_mem,
                         barrier,
                         ibarrier,
                         win_test,
                         comm_revoke,
                         op_free,
                         type_free,
                         forms<Count, Aint>(),
                         forms<int, int, void*>(),
                         forms<Count, Aint, void*>(),
                         made};
  self.lead_to_tools(entries);
  return entries;
}

// An MPI may bind its process in MPI_Init, and what it then grants is all that the rank's threads
// have.
template <class Init>
int init_and_see_cpus(Init init) {
  const os::CpuMask before = os::usable_cpus();
  const int result = init();
  if (os::usable_cpus() != before) os::note_home_cpus();
  return result;
}

template <class H>
int Front<H>::init(int* argc, char*** argv) {
  const Signing signing;
  self_->world_begins_ = true;
  const int result = init_and_see_cpus([&] { return self_->native_.init(argc, argv); });
  if (result == 0) self_->start();
  return result;
}

template <class H>
int Front<H>::init_thread(int* argc, char*** argv, int required, int* provided) {
  const Signing signing;
  self_->world_begins_ = true;
  const int result =
      init_and_see_cpus([&] { return self_->native_.init_thread(argc, argv, required, provided); });
  if (result == 0) self_->start();
  return result;
}

// Collective over MPI_COMM_WORLD, like MPI_Init itself.
template <class H>
void Front<H>::start() {
  enter_world();
  started_ = true;
  if (world_rank_ == 0) warn_about_surroundings();
  if (options().off) return;
  apart_ = !all_are_here();
  if (!prepare()) return;
  if (apart_)
    (void)take_seat(native_.world);
  else
    join_world();
}

// The ranks of each node meet. The MPI sorts them, and all else is said on the node.
template <class H>
void Front<H>::join_world() {
  const auto color = static_cast<int>(engine::host_id() >> 33);
  H neighbours = native_.null_comm;
  if (native_.comm_split(native_.world, color, world_rank_, &neighbours) == 0) {
    engine::Exchange group = exchange(neighbours);
    group.world_rank = world_rank_;
    leads_host_ = group.rank == 0;
    const Status status = engine::Node::join(group, node_);
    if (!status.ok()) log::info("rank %d: no node segment: %s", world_rank_, status.what);
    no_node_ = status.ok() ? "" : status.what;
    native_.comm_free(&neighbours);
  }
  if (node_ != nullptr) {
    settle_at(node_);
    std::vector<int> members;
    for (int rank = 0; rank < node_->size(); ++rank) members.push_back(node_->member(rank).rank);
    H all{};
    native_.comm_group(native_.world, &all);
    native_.group_incl(all, node_->size(), members.data(), &node_group_);
    native_.group_free(&all);
  }
  (void)name_seat(native_.world, 1);
  if (*options().trace != '\0') trace::start();
}

template <class H>
int Front<H>::finalize() {
  Front& self = *self_;
  if (self.prepared_ && self.look_for_world()) self.end_world();
  self.leave_world();
  self.release();
  self.finalizer_ = std::this_thread::get_id();
  const int result = self.native_.finalize();
  self.finalizer_ = std::thread::id{};
  return result;
}

template <class H>
void Front<H>::end_world() {
  // What sessions have under way may need a peer that is in MPI_Finalize, too.
  const bool last = !has_sessions();
  if (last) {
    drain();
    driver_.stop();
  }
  // After this allgather nobody waits for anybody, so processes may end in any order. Where
  // MPI_Init was not seen, some may not know of Tutti, and would not come.
  if (started_) {
    native_.comm_set_errhandler(native_.world,
                                native_.errors_return);  // the program may have revoked it
    apart_ ? report_absentees() : report();
  }
  if (!last) driver_.resume();
  if (seat_of(native_.world, false) != nullptr)  // else MPI_Init was not seen
    native_.comm_delete_attr(native_.world, keyval_);
}

// Requests that were freed may be under way still.
template <class H>
void Front<H>::drain() {
  wait_until(
      {}, [](int*) { return 0; }, [] { return 0; });
}

// The last of what Tutti needs the MPI for is over. It may begin anew with another session.
template <class H>
void Front<H>::release() {
  const std::lock_guard lock(living_);
  if (!prepared_ || has_world_ || !sessions_.empty()) return;
  prepared_ = false;
  end_upkeep();
  if (quiet_ != native_.null_comm) native_.comm_free(&quiet_);
  quiet_ = native_.null_comm;
  layouts_.close();
  native_.comm_free_keyval(&keyval_);
  deletions_.fetch_add(1, std::memory_order_relaxed);  // its next communicators may look the same
  engine::let_go_of_peers();
  const std::lock_guard settling(settling_);
  if (node_ != nullptr) native_.group_free(&node_group_);
  node_.reset();
  home_.reset();
}

// Memory that is asked for to communicate with is in the commons, whatever the MPI's own comes
// from; but if more is asked for than an alignment, only the MPI knows what that is.
template <class H>
int Front<H>::alloc_mem(Aint bytes, Word info, void* base) {
  Front& self = *self_;
  std::size_t alignment = page_bytes;
  void* block = nullptr;
  if (bytes > 0 && base != nullptr && self.is_ready() &&
      self.read_alignment(handle(info), &alignment))
    block = commons::allocate(static_cast<std::size_t>(bytes), alignment, false);
  if (block == nullptr) return self.native_.alloc_mem(bytes, handle(info), base);
  std::memcpy(base, &block, sizeof block);  // MPI declares a pointer to a pointer as void*
  const std::lock_guard lock(self.giving_);
  self.given_.insert(block);
  return 0;
}

template <class H>
bool Front<H>::read_alignment(H info, std::size_t* alignment) {
  constexpr char aligned[] = "mpi_minimum_memory_alignment";
  int keys = 0, found = 0;
  if (info == native_.null_info) return true;
  char key[256] = "", value[24] = "";  // MPI_MAX_INFO_KEY is 255 at most, and then has no end
  if (native_.info_get_nkeys(info, &keys) != 0 || keys > 1) return false;
  if (keys == 0) return true;
  if (native_.info_get_nthkey(info, 0, key) != 0 || std::strcmp(key, aligned) != 0) return false;
  if (native_.info_get(info, aligned, sizeof value - 1, value, &found) != 0 || found == 0)
    return false;
  std::uint64_t bytes = 0;
  if (!parse_bytes(value, bytes) || !std::has_single_bit(bytes)) return false;
  *alignment = std::max<std::size_t>(bytes, *alignment);
  return true;
}

// What the MPI has given may lie in the commons, too: it has it from malloc.
template <class H>
int Front<H>::free_mem(void* base) {
  Front& self = *self_;
  bool ours = false;
  {
    const std::lock_guard lock(self.giving_);
    ours = self.given_.erase(base) != 0;
  }
  if (!ours) return self.native_.free_mem(base);
  commons::release(base);
  return 0;
}

// A test that finds nothing has made the MPI look. So the second finds what a barrier put before
// the first: the MPI's own barrier would have looked already, and programs rely on it.
template <class H>
int Front<H>::win_test(Word window, int* flag) {
  const int result = self_->native_.win_test(handle(window), flag);
  if (result != 0 || *flag != 0) return result;
  return self_->native_.win_test(handle(window), flag);
}

// From now on the MPI's own collectives say that the communicator is revoked.
template <class H>
int Front<H>::comm_revoke(Word comm) {
  if (self_->native_.comm_revoke == nullptr) return error_classes(self_->library_.family).other;
  const int result = self_->native_.comm_revoke(handle(comm));
  if (result != 0 || !self_->is_ready() || handle(comm) == self_->native_.null_comm) return result;
  Seat* seat = self_->seat_of(handle(comm), false);
  if (seat != nullptr) self_->settle(handle(comm), *seat);  // others may wait in it
  if (seat != nullptr && seat->team != nullptr) seat->team->revoke();
  if (seat != nullptr && seat->alone) {
    seat->why = revoked;
    seat->alone = false;
  }
  return result;
}

// Sums alone: what every rank has to say would not fit the memory of one of very many.
template <class H>
void Front<H>::report() {
  struct Sums {
    engine::Account account;
    std::uint64_t hosts;
    std::uint64_t traces;  // all do what rank 0 was told
  };
  static_assert(sizeof(Sums) % sizeof(std::uint64_t) == 0);
  const bool traces = world_rank_ == 0 && *options().trace != '\0';
  const Sums mine{engine::account(), leads_host_, traces};
  Sums all{};
  if (native_.small.allreduce(&mine, &all, sizeof all / sizeof(std::uint64_t), native_.uint64,
                              native_.sum, native_.world) != 0)
    return;
  const engine::Exchange group = exchange(native_.world);
  if (all.traces != 0) {
    std::vector<std::uint64_t> ranks_hosts(static_cast<std::size_t>(group.size));
    const std::uint64_t host = engine::host_id();
    if (!group.allgather(&host, ranks_hosts.data(), sizeof host)) return;
    driver_.stop();  // what it records is read; not before all are in MPI_Finalize
    write_trace(group, ranks_hosts);
  }
  if (group.rank != 0) return;
  std::vector<const char*> notes;
  if (home() == nullptr) notes.push_back("the ranks could not make a node segment");
  write_report(group.size, static_cast<int>(all.hosts), notes, mine.account, all.account);
}

template <class H>
void Front<H>::write_report(int ranks, int nodes, std::vector<const char*> notes,
                            const engine::Account& mine, const engine::Account& all) {
  if (*options().report == '\0') return;
  char version[8192] = "unknown";
  int length = 0;
  native_.get_library_version(version, &length);
  version[std::strcspn(version, "\n")] = '\0';
  const std::shared_ptr<engine::Node> node = home();
  if (node != nullptr && ranks > 1) {
    if (!node->ways().mapped) notes.push_back(node->why_not(memory::Way::mapped));
    if (!node->ways().copied) notes.push_back(node->why_not(memory::Way::copied));
    if (node->oversubscribed()) notes.push_back("more ranks than cores: waiting ranks yield");
  }
  if (*commons::noted() != '\0') notes.push_back(commons::noted());
  if (node != nullptr && *node->kept_free() != '\0') notes.push_back(node->kept_free());
  if (devices::copied()) notes.push_back("buffers in device memory passed through the host");
  const Ledger::Run run{version,      name_of(library_.family),      ranks, nodes,
                        notes.data(), static_cast<int>(notes.size())};
  if (!ledger_.write(options().report, run, mine, all))
    log::warn("the report could not be written to %s", options().report);
}

// To ask for the status of a request that is not over makes every MPI look after all else that it
// has to do; it costs less than MPI_Iprobe, concerns no communicator, and any thread may that may
// call MPI. So Tutti has a request that is over when it needs the MPI no more.
template <class H>
bool Front<H>::begin_upkeep() {
  const auto query = [](void*, void* status) {
    self_->native_.status_set_elements(status, self_->native_.byte, 0);
    self_->native_.status_set_cancelled(status, 0);
    return 0;
  };
  const auto ignore = [](void*) { return 0; };
  const auto cancel = [](void*, int) { return 0; };
  if (native_.grequest_start(query, ignore, cancel, nullptr, &unfinished_) != 0) return false;
  if (native_.set_yields != nullptr) {
    yields_ = native_.set_yields(false);
    native_.set_yields(yields_);
  }
  fabric::Upkeep::set(look, [] { engine::look_for_losses(); });
  return true;
}

template <class H>
void Front<H>::look() {
  int over = 0;
  alignas(8) char status[64];  // larger than any family's
  // A look is no wait: where it would give the core away, it would take as long as others compute,
  // and who waits yields by itself.
  if (self_->yields_) self_->native_.set_yields(false);
  self_->native_.request_get_status(self_->unfinished_, &over, status);
  if (self_->yields_) self_->native_.set_yields(true);
  if (self_->driver_.outstanding() != 0) self_->driver_.drive();
}

template <class H>
void Front<H>::end_upkeep() {
  fabric::Upkeep::set(nullptr);
  alignas(8) char status[64];
  native_.grequest_complete(unfinished_);
  native_.wait(&unfinished_, status);
}

template <class H>
engine::Exchange Front<H>::exchange(H comm) const {
  engine::Exchange group;
  native_.comm_rank(comm, &group.rank);
  native_.comm_size(comm, &group.size);
  group.has_devices = devices::present();
  group.allgather = [this, comm](const void* mine, void* all, std::size_t bytes) {
    const int count = static_cast<int>(bytes);
    return native_.small.allgather(mine, count, native_.byte, all, count, native_.byte, comm) == 0;
  };
  return group;
}

// What needs an initialised MPI; not collective.
template <class H>
bool Front<H>::prepare() {
  const std::lock_guard lock(living_);
  if (prepared_) return true;
  if (native_.comm_create_keyval(on_copy, on_delete, &keyval_, nullptr) != 0) return false;
  if (!begin_upkeep()) return false;
  layouts_.reopen();
  prepared_ = true;
  return true;
}

// Where MPI_Init was not seen (called as PMPI_Init), and in a program of sessions, ranks join when
// communicators are used.
template <class H>
bool Front<H>::make_ready() {
  if (options().off) return false;
  const bool has_world = look_for_world();
  if ((!has_world && !has_sessions()) || !prepare()) return false;
  if (has_world && *options().trace != '\0') trace::start();
  return true;
}

template <class H>
inline typename Front<H>::Seat* Front<H>::seat_of(H comm, bool may_take) {
  // An MPI takes longer to look up an attribute than Tutti for a small collective.
  Recent& last = recent();
  const std::uint64_t deletions = deletions_.load(std::memory_order_relaxed);
  if (last.seat != nullptr && last.comm == comm && last.deletions == deletions) [[likely]]
    return last.seat;
  Seat* seat = look_up_seat(comm, may_take);
  if (seat == nullptr) return nullptr;
  last.comm = comm;
  last.seat = seat;
  last.deletions = deletions;
  return seat;
}

template <class H>
typename Front<H>::Seat* Front<H>::look_up_seat(H comm, bool may_take) {
  void* value = nullptr;
  int found = 0;
  if (native_.comm_get_attr(comm, keyval_, &value, &found) != 0) return nullptr;
  if (!found && !may_take) return nullptr;
  return found ? static_cast<Seat*>(value) : take_seat(comm);
}

// When a communicator is made, or at its first blocking collective: all of its members are there,
// so that they can talk.
template <class H>
typename Front<H>::Seat* Front<H>::take_seat(H comm) {
  auto seat = std::make_unique<Seat>();
  int inter = 0, threads = 0, size = 0;
  native_.comm_test_inter(comm, &inter);
  if (native_.comm_test_threadcomm != nullptr) native_.comm_test_threadcomm(comm, &threads);
  native_.comm_size(comm, &size);
  if (inter)
    seat->why = "intercommunicator";
  else if (threads)
    seat->why = "its ranks are threads";
  else if (size == 1)
    seat->alone = true;
  else if (apart_)
    seat->why = "some ranks run without Tutti";
  else if (has_strangers(comm, size))
    seat->why = "its ranks were started apart";
  else if (has_absentees(comm, size))
    seat->why = "some ranks run without Tutti";
  else
    seat->team = engine::Team::create(exchange(comm), home(), seat->why);
  if (seat->team != nullptr && seat->team->has_devices()) devices::expect();
  if (seat->team != nullptr) settle_at(seat->team->node());
  if (native_.comm_set_attr(comm, keyval_, seat.get()) != 0) return nullptr;
  return seat.release();
}

// To be settled when it is first used, so that to make and free communicators costs little.
template <class H>
typename Front<H>::Seat* Front<H>::name_seat(H comm, std::uint64_t name) {
  auto seat = std::make_unique<Seat>();
  seat->name = name;
  seat->settled = false;
  if (native_.comm_set_attr(comm, keyval_, seat.get()) != 0) return nullptr;
  return seat.release();
}

template <class H>
void Front<H>::settle(H comm, Seat& seat) {
  if (seat.settled.load(std::memory_order_acquire)) return;
  const std::lock_guard lock(settling_);
  if (seat.settled) return;
  int size = 0, inter = 0;
  native_.comm_size(comm, &size);
  native_.comm_test_inter(comm, &inter);
  if (inter) {
    seat.why = "intercommunicator";
  } else if (size == 1) {
    seat.alone = true;
  } else if (node_ == nullptr) {
    seat.why = no_node_;
  } else if (std::vector<int> members = node_ranks(comm, size); members.empty()) {
    seat.why = "its ranks are on several nodes";
  } else {
    int rank = 0;
    native_.comm_rank(comm, &rank);
    // Communicators of one MPI_Comm_split differ in their members.
    const std::uint64_t name = mix(seat.name, static_cast<std::uint64_t>(members[0]));
    const bool has_devices = devices::present() || node_->has_devices();
    seat.team =
        engine::Team::join(node_, name | 1, std::move(members), rank, has_devices, seat.why);
    if (seat.team != nullptr && seat.team->has_devices()) devices::expect();
  }
  seat.settled.store(true, std::memory_order_release);
}

// Of its members; none if some are on other nodes.
template <class H>
std::vector<int> Front<H>::node_ranks(H comm, int size) {
  if (size > node_->size()) return {};
  std::vector<int> ranks(static_cast<std::size_t>(size)), known(ranks);
  std::iota(ranks.begin(), ranks.end(), 0);
  H group{};
  if (native_.comm_group(comm, &group) != 0) return {};
  native_.group_translate_ranks(group, size, ranks.data(), node_group_, known.data());
  native_.group_free(&group);
  const bool all = std::all_of(known.begin(), known.end(), [](int rank) { return rank >= 0; });
  return all ? known : std::vector<int>{};
}

// Whether some are of another MPI_COMM_WORLD: spawned, their parents, or met by a port. Whether
// these run under Tutti nobody can tell before they talk, and if they do not, they will not answer.
template <class H>
bool Front<H>::has_strangers(H comm, int size) {
  const std::vector<int> known = world_ranks(comm, size);
  return known.empty() ||
         std::any_of(known.begin(), known.end(), [](int rank) { return rank < 0; });
}

// Of the members, negative for those of another MPI_COMM_WORLD; empty when that cannot be known.
template <class H>
std::vector<int> Front<H>::world_ranks(H comm, int size) {
  std::vector<int> ranks(static_cast<std::size_t>(size)), known(ranks);
  std::iota(ranks.begin(), ranks.end(), 0);
  H group{}, world{};
  if (!find_world_group(&world) || native_.comm_group(comm, &group) != 0) return {};
  native_.group_translate_ranks(group, size, ranks.data(), world, known.data());
  native_.group_free(&group);
  native_.group_free(&world);
  return known;
}

template <class H>
std::shared_ptr<engine::Node> Front<H>::home() {
  const std::lock_guard lock(settling_);
  return home_;
}

template <class H>
void Front<H>::settle_at(const std::shared_ptr<engine::Node>& node) {
  const std::lock_guard lock(settling_);
  if (home_ == nullptr || home_->size() < node->size()) home_ = node;
}

template <class H>
int Front<H>::on_copy(H, int, void*, void*, void*, int* flag) {
  *flag = 0;  // a duplicate is a communicator of its own
  return 0;
}

template <class H>
int Front<H>::on_delete(H, int, void* value, void*) {
  self_->deletions_.fetch_add(1, std::memory_order_relaxed);
  auto* seat = static_cast<Seat*>(value);
  if (seat->team != nullptr) seat->team->disband();
  delete seat;
  return 0;
}

template <class H>
void Front<H>::made(Word parent, const void* comm) {
  H made{};
  std::memcpy(&made, comm, sizeof made);
  Seat* from = nullptr;
  if (parent != Entries::null_word && self_->is_ready() && !self_->in_finalize())
    from = self_->seat_of(handle(parent), false);
  if (from != nullptr && from->name != 0) {
    const std::uint64_t name = mix(from->name, ++from->children);
    if (made != self_->native_.null_comm) (void)self_->name_seat(made, name);
    return;
  }
  // Whether this process has met Tutti's MPI_Init is its own history, and no reason for anything.
  if (made != self_->native_.null_comm && self_->is_ready() && !self_->in_finalize())
    (void)self_->seat_of(made, true);
}

template <class H>
[[gnu::always_inline]] inline bool Front<H>::find_team(Call<H>& call, Collective collective) {
  call.collective = collective;
  if (!is_ready()) return false;
  if (in_finalize() || call.site.comm == native_.null_comm) return false;
  Seat* seat = seat_of(call.site.comm, call.blocking());
  if (seat == nullptr) return leave(call, "its members have not met on this communicator");
  if (seat->team == nullptr) [[unlikely]] {
    settle(call.site.comm, *seat);
    if (seat->alone) return call.at_once = true;
    if (seat->team == nullptr) return leave(call, seat->why);
  }
  if (!call.blocking() && seat->team->revoked()) return leave(call, revoked);
  call.team = seat->team.get();
  call.rank = call.team->rank();
  call.size = call.team->size();
  return true;
}

}  // namespace tutti::mpi
