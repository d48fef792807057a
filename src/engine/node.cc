// SPDX-License-Identifier: BSD-3-Clause
#include "engine/node.h"

#include <fcntl.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "base/base.h"
#include "os/os.h"
#include "topology/topology.h"

namespace tutti::engine {
namespace {

// Three rounds of exchange. 1: who is here.
struct Arrival {
  std::uint64_t host;
  memory::Introduction memory;
  topology::Seat seat;
  std::int32_t asymmetric_fence;
};
// 2: the maker's invitation to the segment (others send nothing of use).
struct Invited {
  segment::Invitation invitation;
  std::int32_t ok;
};
// 3: what worked between this process and all the others of its host.
struct Verdict {
  std::int32_t attached;
  std::int32_t mapped;
  std::int32_t copied;
};

std::uint64_t hash(std::uint64_t seed, const char* text) {  // FNV-1a
  for (; *text != '\0'; ++text) seed = (seed ^ static_cast<unsigned char>(*text)) * 0x100000001b3u;
  return seed;
}

segment::Patience patience_for(bool oversubscribed, bool asymmetric_fence) {
  const Options& chosen = options();
  // Who shares a core lets the other have it at once: the one it waits for may need it.
  if (oversubscribed) return {0, chosen.yield, asymmetric_fence};
  // With a core of its own a rank loses nothing by yielding, and the way back from sleep is long.
  return {chosen.spin, 50 * chosen.yield, asymmetric_fence};
}

template <class T>
bool gather(const Exchange& group, const T& mine, std::vector<T>& all) {
  all.resize(static_cast<std::size_t>(group.size));
  return group.allgather(&mine, all.data(), sizeof(T));
}

}  // namespace

std::uint64_t host_id() {
  char boot[64] = "";
  const int fd = ::open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
  if (fd >= 0) {
    if (::read(fd, boot, sizeof boot - 1) < 0) boot[0] = '\0';
    ::close(fd);
  }
  utsname name{};
  ::uname(&name);
  return hash(hash(0xcbf29ce484222325u, boot), name.nodename) | 1;
}

Status Node::join(const Exchange& group, std::shared_ptr<Node>& joined) {
  const memory::Allowed allowed = memory::allowed(options().memory);
  const Arrival mine{host_id(),
                     memory::introduce(allowed),
                     {os::usable_cpus(), os::cgroup_cpu_quota_milli()},
                     os::enable_asymmetric_fence()};
  std::vector<Arrival> arrivals;
  if (!gather(group, mine, arrivals)) return Status::unsupported("the MPI's Allgather failed");

  auto node = std::make_shared<Node>();
  std::vector<topology::Seat> seats;
  bool asymmetric_fence = true;
  for (int rank = 0; rank < group.size; ++rank) {
    const Arrival& arrival = arrivals[static_cast<std::size_t>(rank)];
    if (arrival.host != mine.host) continue;
    if (rank == group.rank) node->rank_ = node->size();
    node->members_.push_back({arrival.memory.pid, rank});
    seats.push_back(arrival.seat);
    asymmetric_fence = asymmetric_fence && arrival.asymmetric_fence != 0;
  }
  node->oversubscribed_ = topology::oversubscribed(seats);
  node->patience_ = patience_for(node->oversubscribed_, asymmetric_fence);

  Invited invited{};
  Status status;
  if (node->rank_ == 0) {
    status = node->segment_.create();
    if (status.ok()) invited = {node->segment_.invitation(), 1};
  }
  std::vector<Invited> invitations;
  if (!gather(group, invited, invitations))
    return Status::unsupported("the MPI's Allgather failed");
  const Invited& host = invitations[static_cast<std::size_t>(node->members_[0].rank)];
  if (host.ok == 0) {
    if (status.ok()) status = Status::unsupported("the node segment could not be made");
  } else if (node->rank_ != 0) {
    status = node->segment_.attach(host.invitation);
  }

  if (status.ok()) node->segment_.sign_in(node->rank_);
  Verdict verdict{status.ok(), allowed.commons, allowed.cma};
  node->reaches_.resize(node->members_.size());
  for (int peer = 0; peer < node->size(); ++peer) {
    memory::Reach& reach = node->reaches_[static_cast<std::size_t>(peer)];
    if (peer == node->rank_) continue;
    reach.open(arrivals[static_cast<std::size_t>(node->member(peer).rank)].memory, allowed);
    verdict.mapped = verdict.mapped && *reach.why_not(memory::Way::mapped) == '\0';
    verdict.copied = verdict.copied && *reach.why_not(memory::Way::copied) == '\0';
  }
  std::vector<Verdict> verdicts;
  if (!gather(group, verdict, verdicts)) return Status::unsupported("the MPI's Allgather failed");
  node->segment_.close_descriptor();
  node->ways_ = {true, true};
  bool attached = true;
  for (const Member& member : node->members_) {
    const Verdict& theirs = verdicts[static_cast<std::size_t>(member.rank)];
    attached = attached && theirs.attached != 0;
    node->ways_.mapped = node->ways_.mapped && theirs.mapped != 0;
    node->ways_.copied = node->ways_.copied && theirs.copied != 0;
  }
  if (!attached)
    return status.ok() ? Status::unsupported("another rank could not open the node segment")
                       : status;
  node->id_ = host.invitation.nonce | 1;
  joined = std::move(node);
  return {};
}

const char* Node::why_not(memory::Way way) const {
  if (way == memory::Way::mapped && ways_.mapped) return "";
  if (way == memory::Way::copied && ways_.copied) return "";
  for (int peer = 0; peer < size(); ++peer)
    if (peer != rank_ && *reach(peer).why_not(way) != '\0') return reach(peer).why_not(way);
  return "not possible between two other ranks";
}

}  // namespace tutti::engine
