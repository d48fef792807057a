// SPDX-License-Identifier: BSD-3-Clause
#include "engine/team_member.h"

#include <algorithm>
#include <atomic>
#include <cctype>
#include <cstring>
#include <mutex>
#include <set>
#include <string>

#include "arch/arch.h"
#include "base/base.h"
#include "coll/plans.h"
#include "engine/call_signature.h"
#include "engine/choosing.h"
#include "engine/links.h"
#include "engine/mixup.h"
#include "engine/without_leaders.h"
#include "fabric/upkeep.h"
#include "progress/progress.h"

namespace tutti::engine {
namespace {

std::mutex g_mutex;
Account g_account;  // of teams that have ended; under g_mutex, as is teams()
thread_local const char* t_last_way = "";

// A program may end MPI in a destructor that runs after this library's, so this has none.
std::vector<const Team*>& teams() {
  static auto* const value = new std::vector<const Team*>;
  return *value;
}

}  // namespace

progress::Driver& driver() {
  static auto* const value = new progress::Driver;
  return *value;
}

Account account() {
  const std::lock_guard lock(g_mutex);
  Account sum = g_account;
  for (const Team* team : teams()) sum += team->account_so_far();
  return sum;
}

namespace {

std::set<std::shared_ptr<Node>> nodes_of_teams() {
  std::set<std::shared_ptr<Node>> nodes;
  const std::lock_guard lock(g_mutex);
  for (const Team* team : teams()) nodes.insert(team->node());
  return nodes;
}

}  // namespace

void look_for_losses() {
  for (const auto& node : nodes_of_teams()) node->look_for_losses();
}
void let_go_of_peers() {
  for (const auto& node : nodes_of_teams()) node->let_go_of_peers();
}

const char* last_way() { return t_last_way; }
void forget_last_way() { t_last_way = ""; }

namespace {

std::vector<fabric::Desk*> desks_of(const segment::Segment& segment, std::uint64_t slice,
                                    std::size_t members) {
  std::vector<fabric::Desk*> desks;
  for (std::size_t i = 0; i < members; ++i)
    desks.push_back(segment.desk(slice, static_cast<int>(i)));
  return desks;
}

std::vector<fabric::Peers::Peer> peers_of(Node& node, const std::vector<int>& members) {
  std::vector<fabric::Peers::Peer> peers;
  for (int member : members)
    peers.push_back({&node.reach(member), member == node.rank() ? 0 : node.member(member).pid,
                     &node.segment().presence(member)});
  return peers;
}

// What this rank sends or receives.
inline std::size_t moved_bytes(const coll::Work& work) {
  std::size_t in = 0, out = 0;
  for (const coll::Block& block : work.in) in += block.bytes;
  for (const coll::Block& block : work.out) out += block.bytes;
  return std::max({in, out, work.bytes()});
}

}  // namespace

// This and plans() are here and not in node.cc, as each file that knows the tables has all
// algorithms compiled into it.
choice::Forced Node::forced_by_options(bool warns) {
  static std::atomic_flag said;  // a process may join more than one Node
  warns = warns && !said.test_and_set();
  choice::Forced forced{};
  for (std::size_t i = 0; i < forced.size(); ++i) {
    const auto collective = static_cast<Collective>(i);
    const std::string_view name = choice::wanted(collective);
    if (name.empty()) continue;
    if (name == choice::the_mpi) {
      forced[i] = choice::forced_mpi;
      continue;
    }
    const auto all = coll::all_algorithms<fabric::NodeFabric>(collective);
    forced[i] = static_cast<std::uint8_t>(1 + choice::place_of(all, name));
    const std::vector<std::string_view> others = algorithms_between_nodes(collective);
    if (forced[i] != 0 || !warns || std::ranges::count(others, name) != 0) continue;
    std::string variable = name_of(collective), names = "auto, mpi";
    for (char& letter : variable)
      letter = static_cast<char>(std::toupper(static_cast<unsigned char>(letter)));
    for (const choice::Algorithm& each : coll::algorithms_of<fabric::NodeFabric>(collective, false))
      names += std::string(", ") + each.name;
    for (const std::string_view each : others) names += ", " + std::string(each);
    log::warn("TUTTI_%s is none of %s; auto is used", variable.c_str(), names.c_str());
  }
  return forced;
}

std::shared_ptr<const choice::Plans> Node::plans(int ranks) {
  const std::lock_guard lock(planning_);
  auto& plans = plans_[ranks];
  if (plans == nullptr)
    plans = std::make_shared<const choice::Plans>(coll::make_plans<fabric::NodeFabric>(
        ranks, choice::on_shared_cores(costs_, ranks_per_core_), forced_));
  return plans;
}

TeamMember::TeamMember(const std::shared_ptr<Node>& own, std::uint64_t slice,
                       std::vector<int> members, int rank, bool has_devices,
                       std::unique_ptr<Links> links)
    : Team(own, links != nullptr ? links->map.rank() : rank,
           links != nullptr ? links->map.size() : static_cast<int>(members.size()), has_devices,
           links != nullptr, links == nullptr || links->starts,
           choice::left_to_the_mpi(links != nullptr ? links->way.forced : own->forced())),
      slice_(slice),
      members_(std::move(members)),
      desks_(desks_of(node()->segment(), slice_, desks_each * members_.size())),
      reporter_(*node(), members_, desks_, rank, true, fabric_),
      plans_(node()->plans(static_cast<int>(members_.size()))),
      provider_(peers_of(*node(), members_), node()->transports(), node()->wait_policy(),
                reporter_.emergencies()),
      fabric_(provider_, std::span(desks_).first(members_.size()), rank),
      leaving_(false, std::span(desks_).first(members_.size()), rank, provider_,
               node()->wait_policy()),
      strict_(node()->strict()),
      order_(node()->order()) {
  fabric_.set_costs(plans_->costs);
  if (links != nullptr) {
    strict_ = links->strict;
    across_ = std::make_unique<Across>(std::move(*links), fabric_, *plans_);
    reporter_.set_across(
        across_->map(), [this] { return across_->is_called_off(); },
        [this] { return across_->find_stray(); });
  }
  const std::lock_guard lock(g_mutex);
  teams().push_back(this);
}

TeamMember::~TeamMember() {
  {
    const std::lock_guard lock(g_mutex);
    g_account += account_;
    std::erase(teams(), this);
  }
  node()->segment().leave_slice(slice_);
}

void TeamMember::revoke() {
  for (fabric::Desk* desk : desks_) desk->revoked.store(1, std::memory_order_relaxed);
  // A member that sees what follows also sees that the team was revoked.
  leaving_.break_off(0);
  desks_[members_.size() + static_cast<std::size_t>(place())]->fail(segment::Ending::broken);
  (void)provider_.fail();
  if (across_ != nullptr) across_->call_off();
}

bool TeamMember::revoked() const { return desk().revoked.load(std::memory_order_relaxed) != 0; }

// False when it met an error.
inline bool TeamMember::perform(Collective collective, const coll::Work& work) {
  if (across_ != nullptr) [[unlikely]]
    return across_->perform(collective, work);
  const auto* row = coll::row_of<fabric::NodeFabric>(*plans_, collective, work);
  if (row == nullptr) return false;
  const fabric::Task task = row->run(fabric_, work);
  return task.done() && !provider_.failed() && !provider_.has_read_in_vain();
}

inline bool TeamMember::begin(Collective collective, const coll::Work& work) {
  std::uint64_t wary = 0;
  if (!leaving_.begin()) [[unlikely]] {
    if (!leaving_.may_go_on()) return false;
    wary = leaving_.number();
  }
  fabric_.begin(CallSignature{collective, work.root, work.op, work.bytes()}.encode(), wary);
  return true;
}

inline ErrorCode TeamMember::run_now(Collective collective, coll::Work& work) {
  if (!begin(collective, work)) [[unlikely]]
    return refuse(collective, work);
  work.order = order_;
  const std::size_t moved = moved_bytes(work);
  Choices choices;
  if (moved >= choice::Learner::least_bytes && across_ == nullptr)
    choices = choose(true, collective, work, moved);
  provider_.begin_call(work.timed);

  // The lines of a barrier carry this call, too. Its members compare calls along edges that connect
  // all of them (docs/algorithms.md, "A rule for barriers").
  const bool agreed = !strict_ || perform(Collective::barrier, {});
  if (!agreed || !perform(collective, work)) [[unlikely]]
    return fail(collective, work);
  leaving_.end();
  provider_.tidy(moved);

  if (work.timed) learn(choices, provider_.work_ticks(), moved, provider_.route());
  count(collective, work, moved);
  return ErrorCode::none;
}

inline void TeamMember::count(Collective collective, const coll::Work& work, std::size_t moved) {
  const std::size_t kind = kind_of(collective, true);
  if (across_ == nullptr) [[likely]] {
    t_last_way = account_.add(kind, moved, provider_.route());
    return;
  }
  t_last_way = account_.add(kind, moved, fabric::Route::messages);
  account_.add(kind, across_->sent(), sent_without_leaders(collective, work, across_->map()));
}

// A call of its own, with a number of its own, about one that follows. It and the run() that
// follows have one outcome: a member that has met an error here returns it from run(), and a member
// that only hears of the error in run() fails there as well. False after an error.
// `prepare` is what each member does within that call before it asks.
template <class Prepare>
bool TeamMember::ask(Collective collective, const coll::Work& work, const coll::Work& question,
                     Prepare prepare) {
  asked_ = {};
  ErrorCode error_code = ErrorCode::none;
  if (!begin(collective, work)) {
    error_code = refuse(collective, work);
  } else {
    provider_.begin_call(false);
    if (prepare() && perform(Collective::allreduce, question)) {
      leaving_.end();
      asked_ = {leaving_.number(), ErrorCode::peer_error};
      return true;
    }
    error_code = fail(collective, question);
  }
  if (error_code != ErrorCode::left) asked_ = {leaving_.number(), error_code};
  return false;
}

bool TeamMember::ask(Collective collective, const coll::Work& work, const coll::Work& question) {
  return ask(collective, work, question, [] { return true; });
}

bool TeamMember::any(Collective collective, const coll::Work& work, bool mine) {
  const std::uint8_t said = mine;
  std::uint8_t heard = 0;
  const coll::Work question{.send = &said,
                            .recv = &heard,
                            .count = 1,
                            .kernel = reduce::find(reduce::Op::bor, reduce::Type::u8)};
  if (!ask(collective, work, question)) return false;
  if (heard != 0) asked_ = {};  // no run() follows
  return heard != 0;
}

MessageTrial TeamMember::try_messages(std::size_t bytes, std::size_t part_bytes) {
  Across::Trial said, heard;
  const coll::Work question{.send = &said,
                            .recv = &heard,
                            .count = sizeof said / sizeof said.messages,
                            .element_bytes = sizeof said.messages,
                            .kernel = reduce::find(reduce::Op::sum, reduce::Type::u64)};
  const auto attempt = [&] { return across_->try_messages(bytes, part_bytes, said); };
  if (!ask(Collective::allreduce, question, question, attempt)) return {};
  asked_ = {};            // no run() follows
  (void)across_->sent();  // nor is it a call of the program
  const auto messages = static_cast<double>(heard.messages);
  const double whole_ns = static_cast<double>(heard.whole_ns) / messages;
  const double parts_ns = static_cast<double>(heard.parts_ns) / messages;
  const double start_ns = static_cast<double>(heard.few_ns) / messages;
  const double sent_ns = std::max(1.0, std::min(whole_ns, parts_ns) - start_ns);
  const MessageTrial found{
      parts_ns < limits::most_times_as_long * whole_ns,
      static_cast<std::size_t>(static_cast<double>(bytes) * start_ns / sent_ns)};
  if (rank() == 0)
    log::info(
        "messages of %zu KiB between nodes go %s: in parts of %zu KiB they take %.2f times as "
        "long; %zu KiB are sent while a message starts",
        bytes / limits::kib, found.parts_as_fast ? "in parts" : "as one", part_bytes / limits::kib,
        parts_ns / whole_ns, found.start_bytes / limits::kib);
  return found;
}

ErrorCode TeamMember::refuse(Collective collective, const coll::Work& work) {
  const bool left = leaving_.refuse();
  if (asked_.call != 0 && leaving_.number() == asked_.call + 1) return asked_.outcome;
  const ErrorCode error_code = answer(left, collective, work);
  return error_code == ErrorCode::peer_error ? ErrorCode::refused : error_code;
}

// How a call ends in which another member has met an error. If that is a receiver with too little
// room, a member that only sends has done its part and succeeds.
ErrorCode TeamMember::answer(bool left, Collective collective, const coll::Work& work) {
  if (left) return ErrorCode::left;
  const bool sent = leaving_.cut(leaving_.number()) && only_sends(collective, rank(), work.root);
  return sent ? ErrorCode::none : ErrorCode::peer_error;
}

namespace {

// Whether members on other nodes have to hear of it.
bool tells(ErrorCode error_code) {
  return error_code != ErrorCode::peer_error && error_code != ErrorCode::unasked;
}

}  // namespace

ErrorCode TeamMember::fail(Collective collective, const coll::Work& work) {
  const ErrorCode error_code = reporter_.error_code();
  if (across_ != nullptr) {  // members on other nodes could not agree on what to leave to the MPI
    across_->end(tells(error_code));
    if (reporter_.is_mixup()) across_->call_off();
    leaving_.lose();
    return told(error_code);
  }
  if (error_code == ErrorCode::peer_error) {
    const bool in_place = work.recv != nullptr && work.send == work.recv;
    return answer(leaving_.peer_error(!in_place && !work.in_place), collective, work);
  }
  // After a mix-up with nonblocking calls the reporter has set this.
  const bool broken = desk().ended(segment::Ending::broken);
  if (error_code == ErrorCode::lost || broken)
    leaving_.lose();
  else
    leaving_.stop(error_code == ErrorCode::truncated);
  return told(error_code);
}

ErrorCode TeamMember::run(Collective collective, coll::Work& work) {
  ErrorCode error_code;
  if (trace::on()) [[unlikely]]
    error_code = run_traced(collective, work);
  else
    error_code = run_now(collective, work);
  if (error_code == ErrorCode::none) fabric::Upkeep::after_call(calls());
  return error_code;
}

ErrorCode TeamMember::run_traced(Collective collective, coll::Work& work) {
  const trace::Span span(true, trace::Kind::waiting,
                         static_cast<trace::What>(kind_of(collective, true)), moved_bytes(work));
  return run_now(collective, work);
}

TeamMember::Background::Background(TeamMember& team)
    : desks(std::span(team.desks_).subspan(team.members_.size())),
      reporter(*team.node(), team.members_, team.desks_, team.place(), false, queue),
      queue(peers_of(*team.node(), team.members_), team.node()->transports(),
            team.node()->wait_policy(), reporter.emergencies(), desks, team.place(), team.plans_,
            {&team,
             [](void* self, progress::Operation& first) {
               static_cast<TeamMember*>(self)->fall(static_cast<Pending&>(first));
             }},
            team.across_ != nullptr ? &team.across_->background() : nullptr),
      leaving(true, desks, team.place(), team.provider_, team.node()->wait_policy()) {
  if (team.across_ != nullptr)
    reporter.set_across(
        team.across_->map(), [this] { return queue.is_called_off(); },
        [this] { return queue.find_stray(); });
}

ErrorCode TeamMember::may_start(Collective collective, const coll::Work& work) {
  if (background_ == nullptr) {
    driver().configure(node()->progress());
    background_ = std::make_unique<Background>(*this);
  }
  Leaving& leaving = background_->leaving;
  if (leaving.begin() || leaving.may_go_on()) [[likely]]
    return ErrorCode::none;
  if (leaving.refuse()) return ErrorCode::left;
  // Others have started it.
  publish(CallSignature{collective, work.root, work.op, work.bytes()}.encode());
  return ErrorCode::refused;
}

// After an error this rank's steps no longer say which calls it has made, so nothing is published.
void TeamMember::publish(std::uint64_t call) {
  if (!provider_.failed()) publish_start(desk(), fabric_.last_step(), call);
}

// Called by the thread that drives.
void TeamMember::fall(Pending& first) {
  first.error_code = background_->reporter.error_code();
  Leaving& leaving = background_->leaving;
  const bool truncated = first.error_code == ErrorCode::truncated;
  if (across_ != nullptr) {  // as in fail()
    background_->queue.end_messages(tells(first.error_code));
    if (background_->reporter.is_mixup()) across_->call_off();
  }
  if (first.error_code == ErrorCode::lost || across_ != nullptr)
    leaving.break_off(first.number);
  else
    leaving.stop_at(first.number, first.error_code == ErrorCode::peer_error, truncated);
}

void TeamMember::end_start() {
  background_->leaving.end();
  fabric::Upkeep::after_call(starts(), !driver().thread_begins(background_->queue));
}

// So the call has read it. A chain of nodes reads it when it has heard of those before, and some
// programs have changed it by then, though MPI forbids that (DOLFINx 0.5, after MPI_Iexscan).
void TeamMember::keep_operand(Pending& pending) {
  coll::Work& work = pending.work;
  if (!computes(pending.collective) || work.send == work.recv) return;
  if (work.bytes() == 0 || work.bytes() > pending.operand.size()) return;
  std::memcpy(pending.operand.data(), work.send, work.bytes());
  work.send = pending.operand.data();
}

void TeamMember::start(Pending& pending) {
  coll::Work& work = pending.work;
  if (across_ != nullptr) keep_operand(pending);
  work.order = order_;
  pending.number = background_->leaving.number();
  pending.call = CallSignature{pending.collective, work.root, work.op, work.bytes()}.encode();
  pending.bytes = moved_bytes(work);
  if (computes(pending.collective)) pending.float_control = arch::float_control();
  if (pending.bytes >= choice::Learner::least_bytes && across_ == nullptr)
    pending.choices = choose(false, pending.collective, work, pending.bytes);
  pending.queue = &background_->queue;
  pending.owner = shared_from_this();
  if (trace::on()) pending.called = trace::now();
  publish(pending.call);
  driver().post(pending);
}

ErrorCode Team::finish(Pending& pending) {
  if (!pending.succeeded) {
    const auto& failed = *static_cast<const TeamMember*>(pending.owner.get());
    const bool may_have_sent = pending.error_code == ErrorCode::peer_error &&
                               only_sends(pending.collective, failed.rank(), pending.work.root);
    if (may_have_sent && failed.background_->leaving.cut(pending.number)) return ErrorCode::none;
    return failed.told(pending.error_code);
  }
  const auto team =
      std::static_pointer_cast<const TeamMember>(std::exchange(pending.owner, nullptr));
  if (pending.work.timed) learn(pending);
  if (trace::on())
    trace::add_message(progress::what_of(pending), pending.bytes, pending.called, pending.ended);
  const std::lock_guard lock(g_mutex);
  const std::size_t kind = kind_of(pending.collective, false);
  t_last_way = g_account.add(kind, pending.bytes, pending.route);
  if (team->across_ != nullptr)
    g_account.add(kind, pending.sent,
                  sent_without_leaders(pending.collective, pending.work, team->across_->map()));
  return ErrorCode::none;
}

}  // namespace tutti::engine
