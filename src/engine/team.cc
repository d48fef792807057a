// SPDX-License-Identifier: BSD-3-Clause
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>

#include "base/base.h"
#include "coll/tables.h"
#include "engine/engine.h"
#include "os/os.h"

namespace tutti::engine {
namespace {

std::mutex g_mutex;
Account g_account;  // of teams that have ended; under g_mutex
std::vector<const Team*> g_teams;
thread_local const char* t_last_way = "";

// What a member says when its group becomes a team.
struct Enrolment {
  std::uint64_t host;
  std::uint64_t node;  // 0: none
  std::uint64_t slice;
  std::int32_t node_rank;
  std::int32_t strict;  // TUTTI_CHECK, which a launcher may have given to some ranks alone
};

bool same_node(const std::vector<Enrolment>& members) {
  return std::all_of(members.begin(), members.end(), [&](const Enrolment& member) {
    return member.node != 0 && member.node == members[0].node;
  });
}

bool same_host(const std::vector<Enrolment>& members) {
  return std::all_of(members.begin(), members.end(),
                     [&](const Enrolment& member) { return member.host == members[0].host; });
}

bool enrol(const Exchange& group, const std::shared_ptr<Node>& node,
           std::vector<Enrolment>& members) {
  Enrolment mine{host_id(), 0, 0, 0, std::strcmp(options().check, "strict") == 0};
  if (node != nullptr) {
    mine.node = node->id();
    mine.node_rank = node->rank();
    if (group.rank == 0) mine.slice = node->segment().allocate_slice(group.size);
  }
  members.resize(static_cast<std::size_t>(group.size));
  const bool met = group.allgather(&mine, members.data(), sizeof mine);
  if (met && same_node(members)) return true;
  for (int i = 0; mine.slice != 0 && i < group.size; ++i) node->segment().leave_slice(mine.slice);
  return met;
}

}  // namespace

Account& Account::operator+=(const Account& other) {
  for (std::size_t i = 0; i < calls.size(); ++i) calls[i] += other.calls[i];
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] += other.bytes[i];
  for (std::size_t i = 0; i < route_bytes.size(); ++i) route_bytes[i] += other.route_bytes[i];
  return *this;
}

Account account() {
  const std::lock_guard lock(g_mutex);
  Account sum = g_account;
  for (const Team* team : g_teams) sum += team->account_so_far();
  return sum;
}

const char* last_way() { return t_last_way; }
void forget_last_way() { t_last_way = ""; }

std::unique_ptr<Team> Team::create(const Exchange& group, const std::shared_ptr<Node>& home,
                                   const char*& why) {
  std::shared_ptr<Node> node = home;
  std::vector<Enrolment> members;
  why = "the MPI's Allgather failed";
  if (!enrol(group, node, members)) return nullptr;
  if (!same_node(members)) {
    why = "its ranks are on several nodes";
    if (!same_host(members)) return nullptr;
    why = "its ranks could not meet";
    node.reset();
    const Status status = Node::join(group, node);
    if (!status.ok()) {
      why = status.what;
      return nullptr;
    }
    if (!enrol(group, node, members) || !same_node(members)) return nullptr;
  }
  why = "the node segment is full";
  if (members[0].slice == 0) return nullptr;
  std::vector<int> ranks;
  bool strict = false;
  for (const Enrolment& member : members) {
    ranks.push_back(member.node_rank);
    strict = strict || member.strict != 0;
  }
  return std::unique_ptr<Team>(
      new Team(std::move(node), members[0].slice, std::move(ranks), group.rank, strict));
}

namespace {

std::vector<fabric::Desk*> desks_of(const segment::Segment& segment, std::uint64_t slice,
                                    std::size_t members) {
  std::vector<fabric::Desk*> desks;
  for (std::size_t i = 0; i < members; ++i)
    desks.push_back(segment.desk(slice, static_cast<int>(i)));
  return desks;
}

std::vector<fabric::NodeHost::Peer> peers_of(Node& node, const std::vector<int>& members) {
  std::vector<fabric::NodeHost::Peer> peers;
  for (int member : members)
    peers.push_back({&node.reach(member), member == node.rank() ? 0 : node.member(member).pid,
                     &node.segment().presence(member)});
  return peers;
}

StoresChooser& stores_chooser() {
  thread_local std::unique_ptr<StoresChooser> value;
  if (value == nullptr) value = std::make_unique<StoresChooser>();
  return *value;
}

// nullptr: to be learned.
const coll::Stores* wanted_stores() {
  static constexpr coll::Stores plain = coll::Stores::plain;
  static constexpr coll::Stores streaming = coll::Stores::streaming;
  if (std::strcmp(options().stores, "plain") == 0) return &plain;
  return std::strcmp(options().stores, "streaming") == 0 ? &streaming : nullptr;
}

// What this rank sends or receives.
std::size_t moved_bytes(const coll::Work& work) {
  std::size_t in = 0, out = 0;
  for (const coll::Block& block : work.in) in += block.bytes;
  for (const coll::Block& block : work.out) out += block.bytes;
  return std::max({in, out, work.bytes()});
}

// Of what this rank writes, the buffer that it knows best stands for all.
const void* written_by(const coll::Work& work) {
  if (!work.in.empty()) return work.in[0].address;
  if (!work.out.empty()) return work.out[0].address;
  return work.recv != nullptr ? work.recv : work.send;
}

constexpr const char* route_names[fabric::route_count] = {"line", "bounce", "commons", "cma"};

}  // namespace

Team::Team(std::shared_ptr<Node> node, std::uint64_t slice, std::vector<int> members, int rank,
           bool strict)
    : node_(std::move(node)),
      slice_(slice),
      members_(std::move(members)),
      desks_(desks_of(node_->segment(), slice_, members_.size())),
      host_(peers_of(*node_, members_), node_->ways(), node_->patience(), emergencies()),
      fabric_(host_, desks_, rank),
      strict_(strict) {
  const std::lock_guard lock(g_mutex);
  g_teams.push_back(this);
}

Team::~Team() {
  {
    const std::lock_guard lock(g_mutex);
    g_account += account_;
    std::erase(g_teams, this);
  }
  node_->segment().leave_slice(slice_);
}

// By the first algorithm of its table that fits. False when it met an error.
bool Team::perform(coll::Collective collective, const coll::Work& work) {
  const coll::Facts facts{size(), work.bytes()};
  for (const auto& row : coll::rows_of<fabric::NodeFabric>(collective)) {
    if (!row.fits(facts)) continue;
    const fabric::Task task = row.run(fabric_, work);
    return task.done() && !host_.failed();
  }
  return false;
}

Trouble Team::run(coll::Collective collective, coll::Work work) {
  if (trouble_ != Trouble::none) [[unlikely]]
    return Trouble::told;
  call_ = Call{collective, work.root, work.op, work.bytes()}.encode();
  fabric_.begin(call_);
  host_.begin_call();
  static const coll::Stores* const wanted = wanted_stores();
  const std::size_t moved = moved_bytes(work);
  const bool learns = moved >= coll::direct_bytes && wanted == nullptr;
  StoresChooser::Choice choice{};
  if (learns) choice = stores_chooser().choose(collective, written_by(work), moved);
  work.stores = wanted != nullptr ? *wanted : choice.stores;

  // A barrier says this call, too, and everyone in it looks at others.
  const bool agreed = !strict_ || perform(coll::Collective::barrier, {});
  if (!agreed || !perform(collective, work)) [[unlikely]] {
    // Those who wait for this member look here.
    desks_[static_cast<std::size_t>(rank())]->failed.store(1, std::memory_order_release);
    return trouble_;
  }

  if (const std::uint64_t ticks = host_.work_ticks(); learns && ticks != 0)
    stores_chooser().learn(choice, ticks, moved);
  const auto route = static_cast<std::size_t>(host_.route());
  ++account_.calls[static_cast<std::size_t>(collective)];
  account_.bytes[static_cast<std::size_t>(collective)] += moved;
  account_.route_bytes[route] += moved;
  t_last_way = route_names[route];
  return Trouble::none;
}

int Team::world_rank(int member) const {
  return node_->member(members_[static_cast<std::size_t>(member)]).rank;
}

const char* Team::describe(std::uint64_t word, char (&text)[96]) {
  const Call call = Call::decode(word);
  int length = std::snprintf(text, sizeof text, "MPI_%s", coll::name_of(call.collective));
  const auto rest = [&] { return sizeof text - static_cast<std::size_t>(length); };
  if (coll::is_rooted(call.collective))
    length += std::snprintf(text + length, rest(), ", root %d", call.root);
  if (call.op > 0) {
    char op[16];
    std::snprintf(op, sizeof op, "%s", reduce::name_of(static_cast<reduce::Op>(call.op - 1)));
    for (char* c = op; *c != '\0'; ++c) *c = static_cast<char>(std::toupper(*c));
    length += std::snprintf(text + length, rest(), " (MPI_%s)", op);
  }
  if (call.bytes > 0)
    std::snprintf(text + length, rest(), " of %llu bytes",
                  static_cast<unsigned long long>(call.bytes));
  return text;
}

fabric::Emergencies Team::emergencies() {
  return {
      .context = this,
      .peer_lost =
          [](void* context, int peer) {
            auto* self = static_cast<Team*>(context);
            self->trouble_ = Trouble::lost;
            char text[96];
            log::fatal(
                "rank %d (process %d) ended while rank %d was waiting for it in %s on a "
                "communicator of %d ranks, step %llu",
                self->world_rank(peer),
                self->node_->member(self->members_[static_cast<std::size_t>(peer)]).pid,
                self->world_rank(self->rank()), describe(self->call_, text), self->size(),
                static_cast<unsigned long long>(self->fabric_.last_step()));
          },
      .mismatch =
          [](void* context, int peer, std::uint64_t theirs, std::uint64_t mine) {
            auto* self = static_cast<Team*>(context);
            self->trouble_ = Trouble::mismatched;
            char text[2][96];
            log::fatal(
                "the ranks of a communicator of %d ranks called different things: rank %d %s, "
                "rank %d %s",
                self->size(), self->world_rank(peer), describe(theirs, text[0]),
                self->world_rank(self->rank()), describe(mine, text[1]));
          },
      .surplus =
          [](void* context, int peer, std::size_t sent, std::size_t room) {
            auto* self = static_cast<Team*>(context);
            self->trouble_ = Trouble::truncated;
            char text[96];
            log::fatal(
                "rank %d sends %zu bytes to rank %d in %s on a communicator of %d ranks, which has "
                "room for %zu",
                self->world_rank(peer), sent, self->world_rank(self->rank()),
                describe(self->call_, text), self->size(), room);
          },
      .unreachable =
          [](void* context, int peer, const Status& status) {
            auto* self = static_cast<Team*>(context);
            self->trouble_ = Trouble::unreachable;
            char text[96];
            log::fatal(
                "rank %d could not reach the buffer of rank %d in %s: %s: %s; is it valid memory? "
                "TUTTI_MEMORY=commons,bounce does without the kernel's copy",
                self->world_rank(self->rank()), self->world_rank(peer), describe(self->call_, text),
                status.what, strerrordesc_np(status.error));
          },
      .told = [](void* context, int) { static_cast<Team*>(context)->trouble_ = Trouble::told; },
  };
}

}  // namespace tutti::engine
