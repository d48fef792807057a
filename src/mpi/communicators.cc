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

void CommState::set_team(std::shared_ptr<engine::Team> made) {
  team = std::move(made);
  if (team != nullptr && team->serves_all()) ready.store(team.get(), std::memory_order_release);
}

template <class H>
bool Communicators<H>::open() {
  return native_.comm_create_keyval(on_copy, on_delete, &keyval_, nullptr) == 0;
}

template <class H>
void Communicators<H>::close() {
  native_.comm_free_keyval(&keyval_);
  deletions_.fetch_add(1, std::memory_order_relaxed);  // its next communicators may look the same
  engine::let_go_of_peers();
  of_world_->let_go_of_node();
  const std::lock_guard settling(settling_);
  home_.reset();
}

template <class H>
void Communicators<H>::join_world() {
  of_world_->join(native_.world, absentees_.on_one_host(), false, nullptr);
  if (of_world_->node() != nullptr) settle_at(of_world_->node());
  State* const all = name_state(native_.world, of_world_, 1);
  if (all != nullptr) start_threads(native_.world, *all);
}

// Where all members of an origin on several nodes can bring nonblocking collectives forward by a
// thread, and start it. Then the first collectives of the origin may be such, so its members meet.
template <class H>
void Communicators<H>::start_threads(H comm, State& state) {
  Origin<H>& origin = *state.origin;
  if (!origin.links().in_background()) return;
  origin.links().confirm_threads(comm, engine::driver().start(origin.node()->progress()));
  if (origin.links().in_background()) settle(comm, state, Collective::barrier, true);
}

// Nothing to do where MPI_Init was not seen.
template <class H>
void Communicators<H>::leave_world() {
  if (state_of(native_.world, false) != nullptr) native_.comm_delete_attr(native_.world, keyval_);
  of_world_->links().close();
}

template <class H>
void Communicators<H>::leave_sessions(bool all) {
  const std::lock_guard lock(settling_);
  std::erase_if(of_sessions_, [all](const std::shared_ptr<Origin<H>>& origin) {
    const bool ends = all || origin.use_count() == 1;
    if (!ends) return false;
    origin->links().close();
    origin->let_go_of_node();
    return true;
  });
}

template <class H>
CommState* Communicators<H>::look_up_state(H comm, bool may_take) {
  // On some ranks the MPI may have deleted it, and would not delete another.
  if (comm == being_freed()) return nullptr;
  void* value = nullptr;
  int found = 0;
  if (native_.comm_get_attr(comm, keyval_, &value, &found) != 0) return nullptr;
  if (found) return static_cast<State*>(value);
  if (!may_take) return nullptr;
  State* const state = make_state(comm, Made::of_world);
  // What its nonblocking collectives were before, nobody has seen: MPI_Comm_idup, for one.
  if (state != nullptr) state->computed = true;
  return state;
}

// When a communicator is made, or at its first blocking collective: all of its members are there,
// so that they can talk.
template <class H>
auto Communicators<H>::make_state(H comm, Made made) -> State* {
  auto state = std::make_unique<State>();
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
    begin_state(comm, *state, made);
  if (state->team != nullptr && state->team->has_devices()) devices::expect();
  if (state->team != nullptr) settle_at(state->team->node());
  if (native_.comm_set_attr(comm, keyval_, state.get()) != 0) return nullptr;
  return state.release();
}

// They talk.
template <class H>
void Communicators<H>::begin_state(H comm, State& state, Made made) {
  if (made != Made::of_session) gather_if_driven(comm, *of_world_);
  if (made == Made::of_world && of_world_->find_spread(comm) != NodeSpread::no) {
    // Members of a session's communicator have the session; it may outlive MPI_COMM_WORLD, over
    // whose duplicate all messages go.
    name_linked(comm, state, of_world_, !world_.has_sessions());
    return;
  }
  state.set_team(engine::Team::create(exchange_of(native_, world_, comm), home(), state.why));
  if (state.team == nullptr && made == Made::of_session && state.why == engine::several_nodes)
    begin_origin(comm, state);
}

// Communicators of sessions that are gone give theirs back first.
template <class H>
void Communicators<H>::begin_origin(H comm, State& state) {
  leave_sessions(false);
  const auto origin = std::make_shared<Origin<H>>(native_, world_);
  origin->join(comm, false, true, home());
  if (origin->node() != nullptr) settle_at(origin->node());
  if (origin->links().hosts().empty()) return;
  {
    const std::lock_guard lock(settling_);
    of_sessions_.push_back(origin);
  }
  name_linked(comm, state, origin, true);
  if (!state.settled) start_threads(comm, state);
}

template <class H>
void Communicators<H>::name_linked(H comm, State& state, const std::shared_ptr<Origin<H>>& origin,
                                   bool may) {
  state.why = engine::several_nodes;
  state.settled = !origin->links().agree(comm, may, world_.own_rank(), state.name);
  if (!state.settled) state.origin = origin;
}

// To be settled when it is first used, so that to make and free communicators costs little.
template <class H>
auto Communicators<H>::name_state(H comm, const std::shared_ptr<Origin<H>>& origin,
                                  std::uint64_t name) -> State* {
  auto state = std::make_unique<State>();
  state->origin = origin;
  state->name = name;
  state->settled = false;
  if (native_.comm_set_attr(comm, keyval_, state.get()) != 0) return nullptr;
  return state.release();
}

template <class H>
void Communicators<H>::settle(H comm, CommState& unsettled, Collective collective, bool blocking,
                              std::size_t vector_bytes) {
  if (unsettled.settled.load(std::memory_order_acquire)) return;
  auto& state = static_cast<State&>(unsettled);
  Origin<H>& origin = *state.origin;
  const bool spreads = spread_of(comm, state) != NodeSpread::no;
  int size = 0, inter = 0;
  native_.comm_size(comm, &size);
  native_.comm_test_inter(comm, &inter);
  std::unique_lock lock(settling_);
  if (state.settled || (spreads && puts_off(state, collective, blocking, vector_bytes))) return;
  if (inter) {
    state.why = "intercommunicator";
  } else if (size == 1) {
    state.alone = true;
  } else if (origin.node() == nullptr) {
    state.why = origin.why_no_node();
  } else if (size > origin.node()->size() && origin.links().hosts().empty()) {
    state.why = engine::several_nodes;
  } else if (std::vector<int> members = origin.node_ranks(comm, size); members.empty()) {
    state.why = "its ranks are not known";
  } else if (std::ranges::all_of(members, [](int member) { return member >= 0; })) {
    join_team(comm, state, std::move(members));
  } else {
    state.why = engine::several_nodes;
    if (spreads && !state.revoked) {
      lock.unlock();  // those of another communicator may have to meet first
      link(comm, state, members);
      lock.lock();
    }
    if (state.revoked && state.team == nullptr) state.why = revoked_by_program;
  }
  state.settled.store(true, std::memory_order_release);
}

// Whether members on several nodes go on without having met. They meet at once in a collective that
// computes, if Tutti may do it: the MPI's might have other bits.
template <class H>
bool Communicators<H>::puts_off(State& state, Collective collective, bool blocking,
                                std::size_t vector_bytes) const {
  if (state.revoked) return false;
  const Collectives left = choice::left_to_the_mpi(state.origin->links().way().forced);
  const bool may = computes(collective) && (left & bit_of(collective)) == 0;
  if (!blocking) {
    state.why = engine::several_nodes;
    state.computed = state.computed || may;
    return true;
  }
  const bool tuttis = may && (state.spread == NodeSpread::together ||
                              vector_bytes >= choice::least_computed_apart(collective));
  if (state.origin->links().starts() || tuttis || state.put_off == limits::calls_before_meeting)
    return false;
  ++state.put_off;
  state.why = not_met;
  return true;
}

// Found once.
template <class H>
NodeSpread Communicators<H>::spread_of(H comm, State& state) {
  NodeSpread spread = state.spread.load(std::memory_order_relaxed);
  if (spread == NodeSpread::unknown) {
    spread = state.origin->find_spread(comm);
    state.spread.store(spread, std::memory_order_relaxed);
  }
  return spread;
}

namespace {

// Collective over the team, whose members all find the same: which messages are as fast in parts,
// and what a message costs.
template <class Facts>
void try_messages(engine::Team& team, Facts& facts) {
  std::size_t first = 0;
  for (const limits::TriedMessages& tried : limits::tried_messages) {
    const engine::MessageTrial found = team.try_messages(tried.bytes, limits::cut_message_bytes);
    if (facts.starts == 0) facts.starts = coll::leaders::bit_of_start(found.start_bytes);
    if (found.parts_as_fast) break;
    ++first;
  }
  facts.cuts = static_cast<std::uint8_t>(1 << first);
}

// As the user says (0: nothing), or else of SharedLinks::cuts().
fabric::Cut cut_of(std::size_t longest, std::uint8_t cuts) {
  if (longest != 0) return {longest, longest, limits::most_cut_bytes};
  const auto first = static_cast<std::size_t>(std::countr_zero(cuts));
  if (first >= limits::tried_messages.size()) return {};
  return {limits::cut_message_bytes, limits::tried_messages[first].least_bytes,
          limits::most_cut_bytes};
}

// nullptr: the members become a team, as far as these facts go.
template <class H>
const char* why_unlinked(const typename SharedLinks<H>::Facts& facts) {
  if (facts.rank_order) return "its ranks are on several nodes, and TUTTI_ORDER is rank";
  if (facts.devices) return "its ranks are on several nodes, with a runtime of GPUs";
  return nullptr;
}

// `map`'s ranks of this node, as ranks of the node.
std::vector<int> members_of(const fabric::NodeMap& map, const std::vector<int>& on_node) {
  std::vector<int> members;
  for (const int rank : map.members(map.node()))
    members.push_back(on_node[static_cast<std::size_t>(rank)]);
  return members;
}

}  // namespace

// Members on several nodes become a team, in a blocking collective: they are all there, and no
// other thread calls one. `on_node`: by rank, as node_ranks().
template <class H>
void Communicators<H>::link(H comm, State& state, const std::vector<int>& on_node) {
  SharedLinks<H>& shared = state.origin->links();
  const std::shared_ptr<engine::Node>& node = state.origin->node();
  int rank = 0;
  native_.comm_rank(comm, &rank);
  Runs ranks = state.origin->linked_ranks(comm, static_cast<int>(on_node.size()));
  if (ranks.empty() || !gather_members(comm)) return;
  const auto membership = shared.membership(std::move(ranks), rank);
  const fabric::NodeMap& map = membership->map;
  std::vector<int> members = members_of(map, on_node);

  typename SharedLinks<H>::Facts facts{
      .devices = devices::present() || node->has_devices(),
      .strict = node->strict(),
      .rank_order = node->order() == coll::Order::rank,
      .computed = state.computed,
      .cuts = shared.cuts(),
      .starts = shared.message_starts(),
  };
  int tag = -1;
  // Communicators of one MPI_Comm_split differ in their members.
  const std::uint64_t name = mix(state.name, static_cast<std::uint64_t>(membership->ranks[0]));
  if (!shared.agree(comm, name, facts, tag)) return;
  const auto tagged = shared.members(tag, name, membership);
  if (const char* why = why_unlinked<H>(facts)) {
    state.why = why;
    return;
  }
  auto links = std::make_unique<engine::Links>(engine::Links{
      .map = map,
      .messages = shared.messages(state.origin, tagged, true),
      .background_messages = shared.messages(state.origin, tagged, false),
      .any_thread = native_.any_thread_may_call(),
      .strict = facts.strict,
      .contested = shared.is_contested(),
      .shares_cores = shared.some_share_cores(),
      // What the MPI has computed it computes from then on: the bits could differ.
      .starts = shared.starts() && !(shared.is_contested() && facts.computed),
      .way = shared.way(),
  });
  const std::uint64_t local = mix(name, static_cast<std::uint64_t>(members[0]));
  const int place = links->map.place_of(rank);
  auto team = engine::Team::join(node, local | 1, std::move(members), place, false, state.why,
                                 std::move(links));
  facts.failed = team == nullptr;
  if (!shared.agree(comm, facts)) return;
  if (facts.failed) {
    if (team != nullptr) state.why = "a node's segment is full";
    return;
  }
  const std::size_t longest = shared.longest_message();
  if (longest == 0 && facts.cuts == 0) try_messages(*team, facts);
  shared.add_cuts(facts.cuts);
  shared.add_message_starts(facts.starts);
  team->shape_messages(cut_of(longest, facts.cuts), coll::leaders::start_of_bits(facts.starts));
  const std::lock_guard lock(settling_);
  state.set_team(std::move(team));
  if (state.revoked) state.team->revoke();
}

template <class H>
void Communicators<H>::join_team(H comm, State& state, std::vector<int> members) {
  const std::shared_ptr<engine::Node>& node = state.origin->node();
  int rank = 0;
  native_.comm_rank(comm, &rank);
  // Communicators of one MPI_Comm_split differ in their members.
  const std::uint64_t name = mix(state.name, static_cast<std::uint64_t>(members[0]));
  const bool has_devices = devices::present() || node->has_devices();
  state.set_team(
      engine::Team::join(node, name | 1, std::move(members), rank, has_devices, state.why));
  if (state.team != nullptr && state.team->has_devices()) devices::expect();
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
void Communicators<H>::gather_if_driven(H comm, Origin<H>& origin) {
  const SharedLinks<H>& links = origin.links();
  if (!links.hosts().empty() && links.is_serialized() && !links.is_contested())
    (void)gather_members(comm);
}

template <class H>
void Communicators<H>::making(H comm) {
  if (comm == native_.null_comm) return;
  auto* const state = static_cast<State*>(state_of(comm, false));
  if (state == nullptr || state->name == 0) return;
  {
    const std::lock_guard lock(settling_);
    if (state->revoked) return;  // some MPIs end no call on it
  }
  gather_if_driven(comm, *state->origin);
}

template <class H>
void Communicators<H>::made(H parent, H comm, bool of_session) {
  auto* const from =
      static_cast<State*>(parent != native_.null_comm ? state_of(parent, false) : nullptr);
  if (from != nullptr && from->name != 0) {
    const std::uint64_t name = mix(from->name, ++from->children);
    if (comm != native_.null_comm) (void)name_state(comm, from->origin, name);
    return;
  }
  // Whether this process has met Tutti's MPI_Init is its own history, and no reason for anything.
  // So it must not be asked of a session's communicator, nor of one that is made of that.
  if (comm == native_.null_comm || state_of(comm, false) != nullptr) return;
  (void)make_state(comm, of_session        ? Made::of_session
                         : from == nullptr ? Made::of_world
                                           : Made::alone);
}

template <class H>
int Communicators<H>::free(int (*by)(H*), H* comm) {
  if (comm == nullptr || *comm == native_.null_comm) return by(comm);  // which says the error
  // What was looked up is looked up again, now and afterwards: the next communicator may have the
  // same handle.
  deletions_.fetch_add(1, std::memory_order_relaxed);
  const H around = std::exchange(being_freed(), *comm);
  const int code = by(comm);
  being_freed() = around;
  deletions_.fetch_add(1, std::memory_order_relaxed);
  return code;
}

// From now on the MPI's own collectives say that the communicator is revoked.
template <class H>
void Communicators<H>::revoke(H comm) {
  auto* const state = static_cast<State*>(state_of(comm, false));
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
  auto* state = static_cast<State*>(value);
  if (state->team != nullptr) state->team->disband();
  delete state;
  return 0;
}

template class Communicators<int>;
template class Communicators<void*>;

}  // namespace tutti::mpi
