// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/communicators.h"

#include <algorithm>
#include <bit>
#include <numeric>
#include <string_view>
#include <utility>

#include "base/base.h"
#include "choice/contest.h"
#include "engine/engine.h"
#include "engine/links.h"
#include "engine/node.h"
#include "mpi/devices.h"
#include "progress/progress.h"

namespace tutti::mpi {

template <class H>
bool Communicators<H>::open() {
  return native_.comm_create_keyval(on_copy, on_delete, &keyval_, nullptr) == 0;
}

template <class H>
void Communicators<H>::close() {
  native_.comm_free_keyval(&keyval_);
  deletions_.fetch_add(1, std::memory_order_relaxed);  // its next communicators may look the same
  engine::let_go_of_peers();
  const std::lock_guard settling(settling_);
  if (node_ != nullptr) native_.group_free(&node_group_);
  node_.reset();
  home_.reset();
}

template <class H>
void Communicators<H>::join_world() {
  H neighbours = native_.world;
  const bool apart = !absentees_.on_one_host();
  const auto color = apart ? static_cast<int>(engine::host_id() >> 33) : 0;
  if (!apart || native_.comm_split(native_.world, color, world_.rank(), &neighbours) == 0) {
    engine::Exchange group = exchange(neighbours);
    group.world_rank = world_.rank();
    leads_host_ = group.rank == 0;
    const Status status = engine::Node::join(group, node_);
    if (!status.ok()) log::info("rank %d: no node segment: %s", world_.rank(), status.what);
    no_node_ = status.ok() ? "" : status.what;
    if (apart) native_.comm_free(&neighbours);
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
  int size = 0;
  native_.comm_size(native_.world, &size);
  if (node_ == nullptr || node_->size() < size) {
    const std::string_view nodes = options().nodes;
    const bool contested = nodes == "auto", served = contested || nodes == "1";
    const coll::leaders::Way way{
        .leaders = static_cast<int>(std::clamp<std::int64_t>(options().leaders, 1, 64)),
        .packed_bytes = options().packed};
    const int node = node_ != nullptr ? node_->member(0).rank : -1;
    const bool shares_core = node_ != nullptr && node_->oversubscribed();
    const bool has_core = node_ != nullptr && node_->progress().is_served();
    links_.open(served ? node : -1, contested, shares_core, has_core, way,
                std::min<std::size_t>(options().message, limits::longest_message_bytes),
                engine::Node::claim(node));
    if (node_ != nullptr && links_.shares_cores()) node_->share_cores();
  }
  if (links_.in_background()) links_.confirm_threads(engine::driver().start(node_->progress()));
  CommState* const all = name_state(native_.world, 1);
  // Its first collectives may be nonblocking ones.
  if (all != nullptr && links_.in_background())
    settle(native_.world, *all, Collective::barrier, true);
}

// Nothing to do where MPI_Init was not seen.
template <class H>
void Communicators<H>::leave_world() {
  if (state_of(native_.world, false) != nullptr) native_.comm_delete_attr(native_.world, keyval_);
  links_.close();
}

template <class H>
CommState* Communicators<H>::look_up_state(H comm, bool may_take) {
  void* value = nullptr;
  int found = 0;
  if (native_.comm_get_attr(comm, keyval_, &value, &found) != 0) return nullptr;
  if (!found && !may_take) return nullptr;
  if (found) return static_cast<CommState*>(value);
  CommState* const state = make_state(comm, true);
  // What its nonblocking collectives were before, nobody has seen: MPI_Comm_idup, for one.
  if (state != nullptr) state->computed = true;
  return state;
}

// When a communicator is made, or at its first blocking collective: all of its members are there,
// so that they can talk.
template <class H>
CommState* Communicators<H>::make_state(H comm, bool may_link) {
  auto state = std::make_unique<CommState>();
  int inter = 0, threads = 0, size = 0;
  native_.comm_test_inter(comm, &inter);
  if (native_.comm_test_threadcomm != nullptr) native_.comm_test_threadcomm(comm, &threads);
  native_.comm_size(comm, &size);
  if (inter)
    state->why = "intercommunicator";
  else if (threads)
    state->why = "its ranks are threads";
  else if (size == 1)
    state->alone = true;
  else if (absentees_.apart())
    state->why = "some ranks run without Tutti";
  else if (has_strangers(comm, size))
    state->why = "its ranks were started apart";
  else if (absentees_.has_absentees(comm, size))
    state->why = "some ranks run without Tutti";
  else
    begin_state(comm, *state, may_link);
  if (state->team != nullptr && state->team->has_devices()) devices::expect();
  if (state->team != nullptr) settle_at(state->team->node());
  if (native_.comm_set_attr(comm, keyval_, state.get()) != 0) return nullptr;
  return state.release();
}

// They talk.
template <class H>
void Communicators<H>::begin_state(H comm, CommState& state, bool may_link) {
  gather_if_driven(comm);
  if (may_link && find_spread(comm) != CommState::Spread::no)
    name_linked(comm, state);
  else
    state.team = engine::Team::create(exchange(comm), home(), state.why);
}

// Members of a session's communicator have the session; it may outlive MPI_COMM_WORLD, over whose
// duplicate all messages go.
template <class H>
void Communicators<H>::name_linked(H comm, CommState& state) {
  state.why = several_nodes;
  state.settled = !links_.agree(comm, !world_.has_sessions(), state.name);
}

// To be settled when it is first used, so that to make and free communicators costs little.
template <class H>
CommState* Communicators<H>::name_state(H comm, std::uint64_t name) {
  auto state = std::make_unique<CommState>();
  state->name = name;
  state->settled = false;
  if (native_.comm_set_attr(comm, keyval_, state.get()) != 0) return nullptr;
  return state.release();
}

template <class H>
void Communicators<H>::settle(H comm, CommState& state, Collective collective, bool blocking,
                              std::size_t vector_bytes) {
  if (state.settled.load(std::memory_order_acquire)) return;
  const bool spreads = spread_of(comm, state) != CommState::Spread::no;
  std::unique_lock lock(settling_);
  if (state.settled || (spreads && puts_off(state, collective, blocking, vector_bytes))) return;
  int size = 0, inter = 0;
  native_.comm_size(comm, &size);
  native_.comm_test_inter(comm, &inter);
  if (inter) {
    state.why = "intercommunicator";
  } else if (size == 1) {
    state.alone = true;
  } else if (node_ == nullptr) {
    state.why = no_node_;
  } else if (size > node_->size() && links_.hosts().empty()) {
    state.why = several_nodes;
  } else if (std::vector<int> members = node_ranks(comm, size); members.empty()) {
    state.why = "its ranks are not known";
  } else if (std::ranges::all_of(members, [](int member) { return member >= 0; })) {
    join_team(comm, state, std::move(members));
  } else {
    state.why = several_nodes;
    if (spreads && !state.revoked) {
      lock.unlock();  // those of another communicator may have to meet first
      link(comm, state, std::move(members));
      lock.lock();
    }
    if (state.revoked && state.team == nullptr) state.why = revoked_by_program;
  }
  state.settled.store(true, std::memory_order_release);
}

// Whether members on several nodes go on without having met. They meet at once in a collective that
// computes, if Tutti may do it: the MPI's might have other bits.
template <class H>
bool Communicators<H>::puts_off(CommState& state, Collective collective, bool blocking,
                                std::size_t vector_bytes) const {
  if (state.revoked) return false;
  if (!blocking) {
    state.why = several_nodes;
    state.computed = state.computed || computes(collective);
    return true;
  }
  const bool tuttis =
      computes(collective) && (state.spread == CommState::Spread::together ||
                               vector_bytes >= choice::least_computed_apart(collective));
  if (links_.starts() || tuttis || state.put_off == limits::calls_before_meeting) return false;
  ++state.put_off;
  state.why = not_met;
  return true;
}

// Whether all of them can talk to ranks on other nodes.
template <class H>
bool Communicators<H>::may_link(const std::vector<int>& world_ranks) const {
  const std::vector<std::int32_t>& hosts = links_.hosts();
  return !world_ranks.empty() && std::ranges::all_of(world_ranks, [&](int rank) {
    return rank >= 0 && hosts[static_cast<std::size_t>(rank)] >= 0;
  });
}

template <class H>
CommState::Spread Communicators<H>::find_spread(H comm) {
  using Spread = CommState::Spread;
  if (links_.hosts().empty()) return Spread::no;
  int size = 0, inter = 0;
  native_.comm_test_inter(comm, &inter);
  native_.comm_size(comm, &size);
  if (inter) return Spread::no;
  const std::vector<int> ranks = world_.world_ranks(comm, size);
  if (!may_link(ranks)) return Spread::no;
  std::vector<std::int32_t> hosts;
  for (const int rank : ranks) hosts.push_back(links_.hosts()[static_cast<std::size_t>(rank)]);
  std::ranges::sort(hosts);
  if (hosts.front() == hosts.back()) return Spread::no;
  return std::ranges::adjacent_find(hosts) == hosts.end() ? Spread::apart : Spread::together;
}

// Found once.
template <class H>
CommState::Spread Communicators<H>::spread_of(H comm, CommState& state) {
  CommState::Spread spread = state.spread.load(std::memory_order_relaxed);
  if (spread == CommState::Spread::unknown) {
    spread = find_spread(comm);
    state.spread.store(spread, std::memory_order_relaxed);
  }
  return spread;
}

namespace {

// Collective over the team, whose members all find the same: which messages are as fast in parts,
// and where ranks share cores the least pieces.
template <class Facts>
void try_messages(engine::Team& team, bool share_cores, Facts& facts) {
  std::size_t first = 0;
  for (const limits::TriedMessages& tried : limits::tried_messages) {
    const engine::MessageTrial found = team.try_messages(tried.bytes, limits::cut_message_bytes);
    if (share_cores && facts.pieces == 0) {
      const std::size_t least = coll::leaders::shared_piece_bytes(found.start_bytes);
      facts.pieces = static_cast<std::uint8_t>(least / limits::least_wire_piece_bytes);
    }
    if (found.parts_as_fast) break;
    ++first;
  }
  facts.cuts = static_cast<std::uint8_t>(1 << first);
}

// As the user says (0: nothing), or else of WorldLinks::cuts().
fabric::Cut cut_of(std::size_t longest, std::uint8_t cuts) {
  if (longest != 0) return {longest, longest, limits::most_cut_bytes};
  const auto first = static_cast<std::size_t>(std::countr_zero(cuts));
  if (first >= limits::tried_messages.size()) return {};
  return {limits::cut_message_bytes, limits::tried_messages[first].least_bytes,
          limits::most_cut_bytes};
}

}  // namespace

// Members on several nodes become a team, in a blocking collective: they are all there, and no
// other thread calls one. `on_node`: by rank, as node_ranks().
template <class H>
void Communicators<H>::link(H comm, CommState& state, std::vector<int> on_node) {
  int rank = 0;
  native_.comm_rank(comm, &rank);
  std::vector<int> ranks = world_.world_ranks(comm, static_cast<int>(on_node.size()));
  if (!may_link(ranks)) return;
  if (!gather_members(comm)) return;
  std::vector<std::int32_t> hosts;
  for (const int each : ranks) hosts.push_back(links_.hosts()[static_cast<std::size_t>(each)]);
  fabric::NodeMap map(hosts, rank);
  std::vector<int> members;
  for (const int each : map.members(map.node()))
    members.push_back(on_node[static_cast<std::size_t>(each)]);

  typename WorldLinks<H>::Facts facts{
      .devices = devices::present() || node_->has_devices(),
      .strict = node_->strict(),
      .rank_order = node_->order() == coll::Order::rank,
      .computed = state.computed,
      .cuts = links_.cuts(),
      .pieces = links_.pieces(),
  };
  int tag = -1;
  // Communicators of one MPI_Comm_split differ in their members.
  const std::uint64_t name = mix(state.name, static_cast<std::uint64_t>(ranks[0]));
  if (!links_.agree(comm, name, facts, tag)) return;
  const auto tagged = links_.members(tag, name, std::move(ranks));
  const char* why = nullptr;
  if (facts.devices) why = "its ranks are on several nodes, with a runtime of GPUs";
  if (facts.rank_order) why = "its ranks are on several nodes, and TUTTI_ORDER is rank";
  if (why != nullptr) {
    state.why = why;
    return;
  }
  auto links = std::make_unique<engine::Links>(engine::Links{
      .map = std::move(map),
      .messages = links_.messages(tagged, true),
      .background_messages = links_.messages(tagged, false),
      .any_thread = native_.any_thread_may_call(),
      .strict = facts.strict,
      .contested = links_.is_contested(),
      .shares_cores = links_.some_share_cores(),
      // What the MPI has computed it computes from then on: the bits could differ.
      .starts = links_.starts() && !(links_.is_contested() && facts.computed),
      .way = links_.way(),
  });
  const std::uint64_t local = mix(name, static_cast<std::uint64_t>(members[0]));
  const int place = links->map.place_of(rank);
  auto team = engine::Team::join(node_, local | 1, std::move(members), place, false, state.why,
                                 std::move(links));
  facts.failed = team == nullptr;
  if (!links_.agree(comm, facts)) return;
  if (facts.failed) {
    if (team != nullptr) state.why = "a node's segment is full";
    return;
  }
  const std::size_t longest = links_.longest_message();
  if (longest == 0 && facts.cuts == 0) try_messages(*team, links_.some_share_cores(), facts);
  links_.add_cuts(facts.cuts);
  links_.add_pieces(facts.pieces);
  team->shape_messages(cut_of(longest, facts.cuts),
                       std::bit_floor(facts.pieces) * limits::least_wire_piece_bytes);
  const std::lock_guard lock(settling_);
  state.team = std::move(team);
  if (state.revoked) state.team->revoke();
}

template <class H>
void Communicators<H>::join_team(H comm, CommState& state, std::vector<int> members) {
  int rank = 0;
  native_.comm_rank(comm, &rank);
  // Communicators of one MPI_Comm_split differ in their members.
  const std::uint64_t name = mix(state.name, static_cast<std::uint64_t>(members[0]));
  const bool has_devices = devices::present() || node_->has_devices();
  state.team =
      engine::Team::join(node_, name | 1, std::move(members), rank, has_devices, state.why);
  if (state.team != nullptr && state.team->has_devices()) devices::expect();
}

// Of its members, negative for those that are on other nodes; empty: the MPI does not say.
template <class H>
std::vector<int> Communicators<H>::node_ranks(H comm, int size) {
  std::vector<int> ranks(static_cast<std::size_t>(size)), known(ranks);
  std::iota(ranks.begin(), ranks.end(), 0);
  H group{};
  if (native_.comm_group(comm, &group) != 0) return {};
  native_.group_translate_ranks(group, size, ranks.data(), node_group_, known.data());
  native_.group_free(&group);
  return known;
}

// Whether some are of another MPI_COMM_WORLD: spawned, their parents, or met by a port. Whether
// these run under Tutti nobody can tell before they talk, and if they do not, they will not answer.
template <class H>
bool Communicators<H>::has_strangers(H comm, int size) {
  const std::vector<int> known = world_.world_ranks(comm, size);
  return known.empty() ||
         std::any_of(known.begin(), known.end(), [](int rank) { return rank < 0; });
}

// All members are there afterwards. Meanwhile this rank brings forward what is under way, which
// others may wait for before they come. An Ibarrier would connect more ranks over TCP.
template <class H>
bool Communicators<H>::gather_members(H comm) {
  H request{};
  AnyStatus status;
  std::uint64_t here = 0;
  return native_.small_started.allreduce(native_.in_place, &here, 1, native_.uint64, native_.bor,
                                         comm, &request) == 0 &&
         wait_(&request, &status) == 0;
}

// Before the MPI does what waits for all members, where only a rank's own calls bring its messages
// forward.
template <class H>
void Communicators<H>::gather_if_driven(H comm) {
  if (!links_.hosts().empty() && links_.is_serialized() && !links_.is_contested())
    (void)gather_members(comm);
}

template <class H>
void Communicators<H>::making(H comm) {
  if (comm == native_.null_comm) return;
  const CommState* const state = state_of(comm, false);
  if (state != nullptr && state->name != 0) gather_if_driven(comm);
}

template <class H>
void Communicators<H>::made(H parent, H comm, bool of_session) {
  CommState* from = parent != native_.null_comm ? state_of(parent, false) : nullptr;
  if (from != nullptr && from->name != 0) {
    const std::uint64_t name = mix(from->name, ++from->children);
    if (comm != native_.null_comm) (void)name_state(comm, name);
    return;
  }
  // Whether this process has met Tutti's MPI_Init is its own history, and no reason for anything.
  // So it must not be asked of a session's communicator, nor of one that is made of that.
  if (comm != native_.null_comm && state_of(comm, false) == nullptr)
    (void)make_state(comm, from == nullptr && !of_session);
}

// From now on the MPI's own collectives say that the communicator is revoked.
template <class H>
void Communicators<H>::revoke(H comm) {
  CommState* state = state_of(comm, false);
  if (state == nullptr) return;
  settle(comm, *state, Collective::barrier, false);  // others may wait in it
  {
    const std::lock_guard lock(settling_);  // a thread may be at its first collective
    state->revoked = true;
    if (state->team != nullptr) state->team->revoke();
  }
  if (state->alone) {
    state->why = revoked_by_program;
    state->alone = false;
  }
}

template <class H>
engine::Exchange Communicators<H>::exchange(H comm) const {
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

template <class H>
std::shared_ptr<engine::Node> Communicators<H>::home() {
  const std::lock_guard lock(settling_);
  return home_;
}

template <class H>
void Communicators<H>::settle_at(const std::shared_ptr<engine::Node>& node) {
  const std::lock_guard lock(settling_);
  if (home_ == nullptr || home_->size() < node->size()) home_ = node;
}

template <class H>
int Communicators<H>::on_copy(H, int, void*, void*, void*, int* flag) {
  *flag = 0;  // a duplicate is a communicator of its own
  return 0;
}

template <class H>
int Communicators<H>::on_delete(H, int, void* value, void*) {
  deletions_.fetch_add(1, std::memory_order_relaxed);
  auto* state = static_cast<CommState*>(value);
  if (state->team != nullptr) state->team->disband();
  delete state;
  return 0;
}

template class Communicators<int>;
template class Communicators<void*>;

}  // namespace tutti::mpi
