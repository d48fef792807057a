// SPDX-License-Identifier: BSD-3-Clause
#include "engine/node.h"

#include <fcntl.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/base.h"
#include "engine/forks.h"
#include "os/process.h"

namespace tutti::engine {
namespace {

std::uint64_t hash(std::uint64_t seed, const char* text) {  // FNV-1a
  for (; *text != '\0'; ++text) seed = (seed ^ static_cast<unsigned char>(*text)) * 0x100000001b3u;
  return seed;
}

}  // namespace

std::uint64_t machine_id() {
  char boot[64] = "";
  const int fd = ::open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
  if (fd >= 0) {
    if (::read(fd, boot, sizeof boot - 1) < 0) boot[0] = '\0';
    ::close(fd);
  }
  return hash(0xcbf29ce484222325u, boot);
}

std::uint64_t host_id() {
  utsname name{};
  ::uname(&name);
  return hash(machine_id(), name.nodename) | 1;
}

topology::Claim Node::claim(int node) {
  const os::CpuMask cpus = os::usable_cpus();
  std::uint64_t id = machine_id();
  for (const std::uint64_t word : cpus.words) id = mix(id, word);
  return {id, cpus.count(), node};
}

void Node::wait_as(double ranks_per_core, bool asymmetric_fence) {
  const Options& chosen = options();
  ranks_per_core_ = ranks_per_core;
  const bool shares_core = oversubscribed();
  // A rank that shares a core lets the others have it at once: the one it waits for may need it. It
  // also sleeps so often that the interrupts of the asymmetric fence cost more than they save.
  wait_policy_ = {.polls = shares_core ? 0 : chosen.spin,
                  .yields = chosen.yield,
                  .asymmetric_fence = asymmetric_fence && !shares_core,
                  .shares_core = shares_core};
  progress_.wait_policy = wait_policy_;
}

Node::~Node() { disagree_on_forks(*this); }

void Node::look_for_losses() {
  const std::unique_lock lock(looking_for_losses_, std::try_to_lock);
  if (!lock) return;
  for (int peer = 0; peer < size(); ++peer) {
    const auto& presence = segment_.presence(peer);
    if (peer == rank_ || reach(peer).is_lost() || !segment::Segment::marked_as_ended(presence))
      continue;
    // Perhaps only the thread that had signed in has ended.
    if (os::has_gone(member(peer).pid, segment::Segment::signer_of(presence))) lose(peer);
  }
}

void Node::let_go_of_peers() {
  for (int peer = 0; peer < size(); ++peer)
    if (peer != rank_) reaches_[static_cast<std::size_t>(peer)].let_go();
}

const char* Node::why_not(memory::Transport transport) const {
  if (transports_.ways.has(transport) || !memory::can_copy(transport)) return "";
  for (int peer = 0; peer < size(); ++peer)
    if (peer != rank_ && *reach(peer).why_not(transport) != '\0')
      return reach(peer).why_not(transport);
  return "not possible between two other ranks";
}

}  // namespace tutti::engine
