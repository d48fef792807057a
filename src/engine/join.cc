// SPDX-License-Identifier: BSD-3-Clause
// How processes become a Node. Every decision that all must take alike rests on what all have
// received.
#include <algorithm>
#include <atomic>
#include <cstring>
#include <string_view>
#include <utility>

#include "base/base.h"
#include "choice/kept.h"
#include "choice/measure.h"
#include "commons/commons.h"
#include "engine/forks.h"
#include "engine/handover.h"
#include "engine/node.h"
#include "engine/placing.h"
#include "os/os.h"
#include "topology/topology.h"

namespace tutti::engine {
namespace {

// There are three rounds of exchange, or four where the costs are to be measured. Round 1: who is
// here.
struct Arrival {
  std::uint64_t host;
  memory::Introduction memory;
  std::uint64_t window_bytes;  // address space for those of all peers together
  topology::Binding binding;
  Confines confines;
  std::int32_t asymmetric_fence;
  std::int32_t world_rank;
  std::int32_t strict, by_rank;
  std::int32_t devices;  // Exchange::has_devices
  // What the first of a node has is so on all.
  std::int64_t communication_cores;
  char policy[16];
  choice::Forced forced;
};
// Round 2: the maker's invitation to the segment. (The others send nothing of use.)
struct Invited {
  segment::Invitation invitation;
  std::int32_t ok;
  std::int32_t measures;  // the costs of this machine are to be found out
  choice::Costs costs;    // else
  std::uint64_t slice;    // for that
};
// Round 3: what worked between this process and all the others of its host. Where some may not open
// each other's descriptors, these are handed over, and a fourth round repeats the third.
struct Verdict {
  std::int32_t attached;
  memory::TransportSet ways;
  std::uint64_t mailbox;  // to which a descriptor must be sent; 0: none is missing
};

template <class T>
bool gather(const Exchange& group, const T& mine, std::vector<T>& all) {
  all.resize(static_cast<std::size_t>(group.size));
  return group.allgather(&mine, all.data(), sizeof(T));
}

bool has_huge_pages() { return *commons::why_small_pages() == '\0'; }

// To map a small page again takes longer than to copy it; for huge pages it is a hundredth of that.
memory::Windows::Bounds bounds_of_windows() {
  constexpr int rarely = 6;
  if (const std::size_t most = options().windows) return {static_cast<std::int64_t>(most), 0, 0};
  return {std::int64_t{32} << 20, has_huge_pages() ? 0 : rarely, rarely};
}

// Most of the address space is the program's, however many peers there are. Where there is a limit,
// nearly all of what it leaves is the program's.
std::uint64_t window_bytes() {
  return os::address_space_left_bytes() /
         (os::address_space_limit_bytes() == os::unlimited ? 4 : 16);
}

}  // namespace

class Node::Joining {
 public:
  explicit Joining(const Exchange& group)
      : group_(group), allowed_(memory::allowed(options().memory)) {}

  Status run(std::shared_ptr<Node>& joined) {
    if (!arrive() || !invite()) return no_allgather();
    if (!agree()) return no_allgather();
    if (asks_anybody() && (!hand_over() || !agree())) return no_allgather();
    if (!agree_on_costs()) return no_allgather();
    node_->segment_.close_descriptor();
    if (!conclude())
      return status_.ok() ? Status::unsupported("another rank could not open the node segment")
                          : status_;
    agree_on_forks(*node_);
    joined = std::move(node_);
    return {};
  }

 private:
  static Status no_allgather() { return Status::unsupported("the MPI's Allgather failed"); }

  bool arrive() {
    Arrival mine{host_id(),
                 memory::introduce(allowed_),
                 window_bytes(),
                 {os::usable_cpus(), os::cgroup_cpu_quota_milli()},
                 {os::home_cpus(), os::possible_cpus(), os::launcher_cpus()},
                 os::enable_asymmetric_fence(),
                 group_.world_rank < 0 ? group_.rank : group_.world_rank,
                 std::strcmp(options().check, "strict") == 0,
                 std::strcmp(options().order, "rank") == 0,
                 group_.has_devices,
                 options().comm_cores,
                 {},
                 Node::forced_by_options(group_.rank == 0)};
    std::snprintf(mine.policy, sizeof mine.policy, "%s", options().progress);
    if (!gather(group_, mine, arrivals_)) return false;
    std::vector<topology::Binding> bindings;
    std::vector<os::CpuMask> homes;
    std::vector<Confines> confines;
    bool asymmetric_fence = true;
    std::uint64_t window_bytes = mine.window_bytes;
    for (int rank = 0; rank < group_.size; ++rank) {
      const Arrival& arrival = arrivals_[static_cast<std::size_t>(rank)];
      if (arrival.host != mine.host) continue;
      if (rank == group_.rank) node_->rank_ = node_->size();
      node_->members_.push_back({arrival.memory.pid, arrival.world_rank});
      indices_.push_back(static_cast<std::size_t>(rank));
      node_->strict_ = node_->strict_ || arrival.strict != 0;
      if (arrival.by_rank != 0) node_->order_ = coll::Order::rank;
      node_->has_devices_ = node_->has_devices_ || arrival.devices != 0;
      node_->forced_ = choice::merge(node_->forced_, arrival.forced);
      bindings.push_back(arrival.binding);
      homes.push_back(arrival.confines.home);
      confines.push_back(arrival.confines);
      asymmetric_fence = asymmetric_fence && arrival.asymmetric_fence != 0;
      window_bytes = std::min(window_bytes, arrival.window_bytes);
    }
    const Arrival& first = arrivals_[indices_[0]];
    take_places({first.policy, first.communication_cores, topology::quota_milli(bindings)},
                bindings, homes, cores_of_job(confines));
    node_->wait_as(topology::ranks_per_core(bindings), asymmetric_fence);
    allowed_.window_bytes = window_bytes / bindings.size() / page_bytes * page_bytes;
    node_->transports_.window_bytes = allowed_.window_bytes;
    node_->reaches_.resize(bindings.size());
    return true;
  }

  // Whether a page is to be touched by its owner before a peer does. A huge one is, in any case:
  // what a peer touches first is a small one.
  static bool touches_first(std::span<const os::CpuMask> domains,
                            std::span<const os::CpuMask> ranks) {
    if (std::strcmp(options().first_touch, "auto") != 0)
      return std::strcmp(options().first_touch, "owner") == 0;
    return has_huge_pages() || are_in_several(domains, ranks);
  }

  // Decides where this rank runs, if that is up to Tutti, and where its progress thread will.
  void take_places(const PlacingRequest& request, std::vector<topology::Binding>& bindings,
                   std::span<const os::CpuMask> homes, const os::CpuMask& job) {
    const std::vector<os::CpuMask> domains = os::numa_domains();
    const Placing placing = place(request, homes, job, domains);
    node_->transports_.touches_first =
        touches_first(domains, placing.ranks.empty() ? homes : placing.ranks);
    if (placing.too_many && node_->rank_ == 0) warn_of_too_many(job.count());
    const auto me = static_cast<std::size_t>(node_->rank_);
    if (!placing.ranks.empty()) {
      for (std::size_t rank = 0; rank < bindings.size(); ++rank)
        bindings[rank].cpus = placing.ranks[rank];
      if (!os::run_on(placing.ranks[me])) log::info("this rank could not be bound to its core");
      os::CpuMask bound, free;
      for (const os::CpuMask& mask : placing.ranks) bound |= mask;
      for (const auto& mask : placing.progress) free |= mask.value_or(os::CpuMask{});
      if (free.count() > 0)
        node_->kept_free_ = "progress threads on core " + os::text_of(free) + ", ";
      node_->kept_free_ += "ranks on core " + os::text_of(bound);
    }
    node_->progress_.thread = request.policy != "none";
    node_->progress_.cpus = placing.progress[me];
    node_->progress_.dedicated = placing.dedicated(me);
  }

  static void warn_of_too_many(int cores) {
    static std::atomic_flag said;  // a process may join more than one Node
    if (said.test_and_set()) return;
    log::warn(
        "TUTTI_COMM_CORES=%lld leaves no core for the ranks: this node has %d, so it may be "
        "at most %d; none is kept free",
        static_cast<long long>(options().comm_cores), cores, std::max(cores - 1, 0));
  }

  // Makes the segment, or opens that of the host; then opens the peers' memory.
  bool invite() {
    Invited invited{};
    if (node_->rank_ == 0) {
      status_ = node_->segment_.create();
      if (status_.ok()) invited = invitation_to_all();
    }
    if (!gather(group_, invited, invitations_)) return false;
    const Invited& host = invitations_[indices_[0]];
    invitation_ = host.invitation;
    node_->id_ = invitation_.nonce | 1;
    if (host.ok == 0) {
      if (status_.ok()) status_ = Status::unsupported("the node segment could not be made");
      return true;
    }
    if (node_->rank_ != 0) status_ = node_->segment_.attach(invitation_);
    bool lacks = status_.code == Code::system;
    for (int peer = 0; peer < node_->size(); ++peer) {
      if (peer == node_->rank_) continue;
      reach(peer).open(arrival(peer).memory, allowed_);
      lacks = lacks || reach(peer).lacks_descriptor();
    }
    if (!lacks) return true;
    const Status opened = mailbox_.open(node_->size());
    if (!opened.ok()) log::info("descriptors cannot be received: %s failed", opened.what);
    return true;
  }

  // The maker's. It knows the costs, or says that they are to be found out. They are those of ranks
  // that have a core each, and are not measured where ranks of this node share one.
  Invited invitation_to_all() {
    Invited invited{node_->segment_.invitation(), 1, 0, choice::usual, 0};
    const std::string_view wish = options().costs;
    if (wish == "usual" || node_->size() == 1) return invited;
    const auto kept = wish == "measure" ? std::nullopt : choice::load_costs(choice::kept_file());
    if (kept) {
      invited.costs = *kept;
    } else if (!node_->oversubscribed()) {
      invited.slice = node_->segment_.allocate_slice(2, 2);  // as large as that of a team
      invited.measures = invited.slice != 0;
    }
    return invited;
  }

  // Where the maker of any host does not know them yet, all members take part in one more round.
  bool agree_on_costs() {
    const Invited& host = invitations_[indices_[0]];
    choice::Costs mine = host.costs;
    if (host.measures != 0 && everyone_is_attached()) mine = measure(host.slice);
    node_->costs_ = mine;
    const bool measures = std::any_of(invitations_.begin(), invitations_.end(),
                                      [](const Invited& invited) { return invited.measures != 0; });
    if (!measures) return true;
    std::vector<choice::Costs> costs;
    if (!gather(group_, mine, costs)) return false;
    node_->costs_ = costs[indices_[0]];
    return true;
  }

  // By the maker and the last one, which tends to be the farthest. The maker learns the costs.
  choice::Costs measure(std::uint64_t slice) {
    constexpr std::int64_t patience_ns = 20'000'000;
    const bool asks = node_->rank_ == 0;
    if (!asks && node_->rank_ + 1 < node_->size()) return choice::usual;
    segment::Segment& segment = node_->segment_;
    const auto measured = choice::measure(asks ? choice::Role::asks : choice::Role::answers,
                                          *segment.desk(slice, asks ? 0 : 1),
                                          *segment.desk(slice, asks ? 1 : 0), patience_ns);
    segment.leave_slice(slice);
    if (asks && !measured) log::info("the costs of this machine could not be measured");
    if (!measured) return choice::usual;
    const std::string& file = choice::kept_file();
    if (std::strcmp(options().costs, "measure") != 0 &&
        !choice::keep_costs(file, *measured, group_.rank == 0))
      log::info("the costs of this machine could not be kept in '%s'", file.c_str());
    return *measured;
  }

  [[nodiscard]] bool everyone_is_attached() const {
    for (int peer = 0; peer < node_->size(); ++peer)
      if (verdict(peer).attached == 0) return false;
    return true;
  }

  bool agree() {
    if (status_.ok() && !std::exchange(signed_in_, true)) node_->segment_.sign_in(node_->rank_);
    Verdict mine{status_.ok(), allowed_.ways, mailbox_.name()};
    for (int peer = 0; peer < node_->size(); ++peer)
      if (peer != node_->rank_) mine.ways.keep(reach(peer).ways());
    return gather(group_, mine, verdicts_);
  }

  // Whether any member asks, on any host: all members take part in what follows, or none.
  [[nodiscard]] bool asks_anybody() const {
    return std::any_of(verdicts_.begin(), verdicts_.end(),
                       [](const Verdict& verdict) { return verdict.mailbox != 0; });
  }

  bool hand_over() {
    os::Letter letter;
    letter.secret = arrival(node_->rank_).memory.nonce;
    letter.fds = {node_->rank_ == 0 ? invitation_.fd : -1, arrival(node_->rank_).memory.fd};
    std::vector<Neighbour> neighbours;
    for (int peer = 0; peer < node_->size(); ++peer) {
      const memory::Introduction& memory = arrival(peer).memory;
      const bool self = peer == node_->rank_;
      neighbours.push_back({memory.pid, memory.nonce, self ? 0 : verdict(peer).mailbox});
    }
    return engine::hand_over(
        group_, neighbours, letter, mailbox_,
        [this](std::size_t peer, os::Letter& theirs) { receive(static_cast<int>(peer), theirs); });
  }

  void receive(int peer, os::Letter& letter) {
    if (peer == 0 && !status_.ok() && letter.fds[0] >= 0)
      status_ = node_->segment_.attach(invitation_, std::exchange(letter.fds[0], -1));
    if (reach(peer).lacks_descriptor() && letter.fds[1] >= 0)
      reach(peer).open_commons(arrival(peer).memory, allowed_, std::exchange(letter.fds[1], -1));
  }

  bool conclude() {
    const bool attached = everyone_is_attached();
    node_->transports_.ways = memory::TransportSet::all();
    node_->transports_.windows = &node_->windows_;
    node_->windows_.bound(bounds_of_windows(), memory::resident_of_peers, [node = node_.get()] {
      for (const memory::PeerMemory& reach : node->reaches_) reach.forget();
    });
    for (int peer = 0; peer < node_->size(); ++peer)
      node_->transports_.ways.keep(verdict(peer).ways);
    return attached;
  }

  [[nodiscard]] std::size_t index_of(int peer) const {
    return indices_[static_cast<std::size_t>(peer)];
  }
  [[nodiscard]] const Arrival& arrival(int peer) const { return arrivals_[index_of(peer)]; }
  [[nodiscard]] const Verdict& verdict(int peer) const { return verdicts_[index_of(peer)]; }
  [[nodiscard]] memory::PeerMemory& reach(int peer) {
    return node_->reaches_[static_cast<std::size_t>(peer)];
  }

  const Exchange& group_;
  memory::Allowed allowed_;
  std::shared_ptr<Node> node_ = std::make_shared<Node>();
  std::vector<std::size_t> indices_;  // of the node's members in the group
  std::vector<Arrival> arrivals_;
  std::vector<Invited> invitations_;
  std::vector<Verdict> verdicts_;
  segment::Invitation invitation_;
  os::Mailbox mailbox_;
  bool signed_in_ = false;
  Status status_;  // of this process and the segment
};

Status Node::join(const Exchange& group, std::shared_ptr<Node>& joined) {
  return Joining(group).run(joined);
}

}  // namespace tutti::engine
