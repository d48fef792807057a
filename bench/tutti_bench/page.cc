// SPDX-License-Identifier: BSD-3-Clause
#include "tutti_bench/page.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <string>

#include "arch/arch.h"

namespace tutti::bench {

std::int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

// Polls; yields after a while, and almost at once where another rank may want this core.
template <class Ready>
void Page::wait(Ready ready) const {
  const int patience = oversubscribed_ ? 20 : 20000;
  for (int polls = 0; !ready(); ++polls) {
    if (polls < patience)
      arch::relax();
    else
      sched_yield();
  }
}

bool Page::open(const Mpi& mpi, std::string& why) {
  rank_ = mpi.rank;
  ranks_ = mpi.ranks;
  const std::size_t bytes =
      sizeof(Release) + static_cast<std::size_t>(ranks_) * (sizeof(RankLine) + sizeof(Flag));
  // Rank 0's memfd, opened by the others through /proc; it leaves nothing behind.
  struct Offer {
    std::int32_t pid, fd;
    char host[64];
  } offer{};
  char host[64] = {};
  gethostname(host, sizeof host - 1);
  int fd = -1;
  if (rank_ == 0) {
    fd = memfd_create("tutti-bench", MFD_CLOEXEC);
    if (fd >= 0 && ftruncate(fd, static_cast<off_t>(bytes)) != 0) fd = -1;
    offer = {getpid(), fd, {}};
    std::memcpy(offer.host, host, sizeof host);
  }
  const TypeName& byte = types[6];  // uint8
  mpi.base.bcast(&offer, sizeof offer, mpi.handle(byte.row()), 0, mpi.world);
  if (rank_ != 0 && offer.fd >= 0 && std::memcmp(offer.host, host, sizeof host) == 0) {
    const std::string path =
        "/proc/" + std::to_string(offer.pid) + "/fd/" + std::to_string(offer.fd);
    fd = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  }
  void* memory =
      fd < 0 ? MAP_FAILED
             : mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, 0);
  const float mine = memory == MAP_FAILED ? 1 : 0;
  float failed = 0;
  mpi.base.allreduce(&mine, &failed, 1, mpi.handle(types[0].row()), mpi.handle(ops[0].row()),
                     mpi.world);
  if (fd >= 0) close(fd);
  if (failed > 0) {
    why = "the ranks cannot share memory: they must run on one machine, as one user";
    return false;
  }
  release_ = static_cast<Release*>(memory);
  lines_ = reinterpret_cast<RankLine*>(release_ + 1);
  flags_ = reinterpret_cast<Flag*>(lines_ + ranks_);
  count_cores();
  return true;
}

// The cores that the ranks have between them: launchers bind each rank to some of its own.
void Page::count_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  sched_getaffinity(0, sizeof set, &set);
  std::memcpy(lines_[rank_].cores, &set, std::min(sizeof set, sizeof lines_[rank_].cores));
  barrier();
  int total = 0;
  for (std::size_t word = 0; word < std::size(lines_->cores); ++word) {
    std::uint64_t all = 0;
    for (int r = 0; r < ranks_; ++r) all |= lines_[r].cores[word];
    total += std::popcount(all);
  }
  cores_ = std::max(total, 1);
  oversubscribed_ = ranks_ > cores_;
}

void Page::barrier() {
  const std::uint64_t sequence = ++sequence_;
  lines_[rank_].arrived.store(sequence, std::memory_order_release);  // pairs with rank 0's acquire
  if (rank_ == 0) {
    for (int r = 1; r < ranks_; ++r)
      wait([&] { return lines_[r].arrived.load(std::memory_order_acquire) >= sequence; });
    release_->start_ns = now_ns() + (oversubscribed_ ? 0 : lead_ns);
    release_->sequence.store(sequence, std::memory_order_release);  // pairs with the acquire below
  } else {
    wait([&] { return release_->sequence.load(std::memory_order_acquire) >= sequence; });
  }
}

std::int64_t Page::start_together() {
  barrier();
  const std::int64_t start = release_->start_ns;
  while (!oversubscribed_ && now_ns() < start) arch::relax();
  return start;
}

std::int64_t Page::max(std::int64_t mine) {
  const int parity = static_cast<int>((sequence_ + 1) & 1);
  lines_[rank_].value[parity] = mine;
  barrier();
  std::int64_t result = mine;
  for (int r = 0; r < ranks_; ++r) result = std::max(result, lines_[r].value[parity]);
  return result;
}

std::int64_t Page::from_root(std::int64_t mine) {
  const int parity = static_cast<int>((sequence_ + 1) & 1);
  lines_[rank_].value[parity] = mine;
  barrier();
  return lines_[0].value[parity];
}

void Page::exchange_flags() {
  const std::uint64_t sequence = ++flag_sequence_;
  flags_[rank_].sequence.store(sequence,
                               std::memory_order_release);  // pairs with the acquire below
  for (int r = 0; r < ranks_; ++r)
    wait([&] { return flags_[r].sequence.load(std::memory_order_acquire) >= sequence; });
}

}  // namespace tutti::bench
