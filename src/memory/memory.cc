// SPDX-License-Identifier: BSD-3-Clause
#include "memory/memory.h"

#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <mutex>

#include "base/base.h"
#include "base/words.h"
#include "commons/commons.h"
#include "os/os.h"
#include "reduce/reduce.h"

namespace tutti::memory {
namespace {

// Static, so that a peer may read it at any time of this process's life.
std::uint64_t g_probe = 0;

}  // namespace

const char* name_of(Transport transport) {
  switch (transport) {
    case Transport::mapped:
      return "commons";
    case Transport::copied:
      return "cma";
    case Transport::staged:
      return "bounce";
  }
  return "?";
}

Allowed allowed(const char* option) {
  Allowed found{.ways = {}};
  for (const Transport transport : every_transport)
    if (has_word(option, name_of(transport))) found.ways.add(transport);
  return found;
}

Introduction introduce(const Allowed& allowed) {
  static constinit std::mutex introducing;  // threads may join their first nodes at once
  static std::uint64_t* mapped_probe = nullptr;
  const std::lock_guard lock(introducing);
  if (g_probe == 0 && ::getrandom(&g_probe, sizeof g_probe, 0) != sizeof g_probe)
    g_probe = static_cast<std::uint64_t>(::getpid());
  Introduction self{
      .pid = ::getpid(), .probe = reinterpret_cast<std::uint64_t>(&g_probe), .nonce = g_probe};
  if (!allowed.ways.has(Transport::mapped)) return self;
  const commons::Handle share = commons::handle();
  if (share.fd < 0) return self;
  if (mapped_probe == nullptr)
    mapped_probe = static_cast<std::uint64_t*>(commons::allocate(
        std::max<std::size_t>(options().commons_threshold, page_bytes), page_bytes, false));
  if (mapped_probe == nullptr) return self;
  if (commons::shared(mapped_probe, sizeof *mapped_probe) == nullptr)
    return self;  // it locks its pages
  *mapped_probe = g_probe;
  self.fd = share.fd;
  self.base = reinterpret_cast<std::uint64_t>(share.base);
  self.bytes = share.bytes;
  self.mapped_probe = reinterpret_cast<std::uint64_t>(mapped_probe);
  return self;
}

Card offer(const void* buffer, std::size_t bytes, const Transports& transports, bool full) {
  const std::byte* in_range =
      transports.ways.has(Transport::mapped) ? commons::offer(buffer, bytes, full) : nullptr;
  if (in_range != nullptr && commons::offset_of(in_range) + bytes <= transports.window_bytes) {
    return {reinterpret_cast<std::uint64_t>(in_range), Transport::mapped,
            static_cast<std::uint32_t>((bytes >> 20) + 1)};
  }
  return {reinterpret_cast<std::uint64_t>(buffer),
          transports.ways.has(Transport::copied) ? Transport::copied : no_transport};
}

const char* PeerMemory::why_not(Transport transport) const {
  switch (transport) {
    case Transport::mapped:
      return no_commons_;
    case Transport::copied:
      return no_cma_;
    case Transport::staged:
      return "";
  }
  return "";
}

TransportSet PeerMemory::ways() const {
  TransportSet found;
  for (const Transport transport : every_transport)
    if (*why_not(transport) == '\0') found.add(transport);
  return found;
}

void PeerMemory::open(const Introduction& peer, const Allowed& allowed) {
  constexpr const char* off = "switched off by TUTTI_MEMORY";
  pid_ = peer.pid;
  no_commons_ = allowed.ways.has(Transport::mapped) ? borrow_commons(peer, allowed) : off;
  no_cma_ = allowed.ways.has(Transport::copied) ? open_cma(peer) : off;
}

Status PeerMemory::read(const Card& card, std::size_t offset, void* to, std::size_t bytes) const {
  if (const std::byte* from = map(card)) {
    reduce::copy(to, from + offset, bytes);
    return {};
  }
  return os::read_memory(pid_, to, card.address + offset, bytes);
}

Status PeerMemory::write(const Card& card, std::size_t offset, const void* from,
                         std::size_t bytes) const {
  if (std::byte* to = map(card)) {
    reduce::copy(to + offset, from, bytes);
    return {};
  }
  return os::write_memory(pid_, card.address + offset, from, bytes);
}

}  // namespace tutti::memory
