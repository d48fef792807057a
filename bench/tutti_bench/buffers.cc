// SPDX-License-Identifier: BSD-3-Clause
#include "tutti_bench/buffers.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <string>

#include "base/options.h"

namespace tutti::bench {
namespace {

// For --memory static, and as much as --memory mmap asks the kernel for.
constexpr std::size_t arena_bytes = std::size_t{512} << 20;
alignas(page_bytes) std::byte static_memory[arena_bytes];

std::byte* map_arena() {
  void* arena = ::mmap(nullptr, arena_bytes, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return arena == MAP_FAILED ? nullptr : static_cast<std::byte*>(arena);
}

std::size_t machine_bytes() {
  return static_cast<std::size_t>(sysconf(_SC_PHYS_PAGES)) *
         static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

bool is_prime(std::size_t n) {
  for (std::size_t i = 2; i * i <= n; ++i)
    if (n % i == 0) return false;
  return n > 0;  // 1 will do: hot benchmarks have one slot
}

// Bytes that the slots of all ranks together are to fill.
std::size_t rotated_bytes() {
  return std::min(2 * last_level_cache_bytes() + (std::size_t{16} << 20), machine_bytes() / 4);
}

// A number without a pattern in i or seed (Steele et al., SplitMix64, OOPSLA 2014).
std::uint64_t scatter(std::uint64_t i, std::uint64_t seed) {
  std::uint64_t x = i + seed * 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  return ((x ^ (x >> 27)) * 0x94d049bb133111eb) >> 40;
}

// Calls `write` for every `stride`-th element, as the type that `type` stands for.
template <class T>
void write_as(std::byte* buffer, std::size_t count, std::size_t stride, std::uint64_t mask,
              std::uint64_t seed) {
  T* element = reinterpret_cast<T*>(buffer);
  for (std::size_t i = 0; i < count; i += stride)
    element[i] = static_cast<T>(1 + (scatter(i, seed) & mask));
}

void write(const Arguments& a, std::byte* buffer, std::size_t count, std::size_t stride,
           std::uint64_t seed) {
  // Products grow fast: powers of two stay exact in any number of ranks.
  const std::uint64_t mask = a.op->row().op == reduce::Op::prod ? 1 : 7;
  switch (a.type->row().type) {
    case reduce::Type::f32:
      return write_as<float>(buffer, count, stride, mask, seed);
    case reduce::Type::f64:
      return write_as<double>(buffer, count, stride, mask, seed);
    case reduce::Type::i8:
    case reduce::Type::u8:
      return write_as<std::uint8_t>(buffer, count, stride, mask, seed);
    case reduce::Type::i16:
    case reduce::Type::u16:
      return write_as<std::uint16_t>(buffer, count, stride, mask, seed);
    case reduce::Type::i32:
    case reduce::Type::u32:
      return write_as<std::uint32_t>(buffer, count, stride, mask, seed);
    default:
      return write_as<std::uint64_t>(buffer, count, stride, mask, seed);
  }
}

}  // namespace

std::size_t last_level_cache_bytes() {
  static const std::size_t result = [] {
    std::uint64_t largest = 0;
    for (int i = 0; i < 8; ++i) {
      std::ifstream file("/sys/devices/system/cpu/cpu0/cache/index" + std::to_string(i) + "/size");
      std::string text;
      std::uint64_t bytes = 0;
      if (file >> text && parse_bytes(text.c_str(), bytes)) largest = std::max(largest, bytes);
    }
    return static_cast<std::size_t>(largest);
  }();
  return result;
}

Buffers::~Buffers() {
  if (mapped_ != nullptr) ::munmap(mapped_, arena_bytes);
  for (const Pair& slab : slabs_) {
    if (!on_heap_) break;
    std::free(slab.send);
    std::free(slab.recv);
  }
}

bool Buffers::allocate(const Arguments& a, const Collective& collective, const Problem& p) {
  // Below this size a buffer has company, and below any threshold of the commons stays with libc.
  constexpr std::size_t slab_least = 16384;
  const bool cold = a.cache == Cache::cold && p.bytes > 0;
  const Sizes mine = collective.memory(p, p.rank);
  stride_ = {round_up(mine.send, line_bytes), round_up(mine.recv, line_bytes)};
  // The same number of slots on all ranks, whose buffers may differ in size.
  if (cold) per_slab_ = std::max<std::size_t>(1, slab_least / round_up(p.bytes, line_bytes));
  std::size_t team_bytes = 0;  // of a slab pair of each rank
  for (int r = 0; r < p.ranks; ++r) {
    const Sizes of = collective.memory(p, r);
    team_bytes += (round_up(of.send, line_bytes) + round_up(of.recv, line_bytes)) * per_slab_;
  }
  const std::size_t pairs = cold ? divide_up(rotated_bytes(), team_bytes) + 1 : 1;
  const auto slab_bytes = [&](std::size_t bytes, std::size_t stride) {
    return std::max<std::size_t>(cold ? stride * per_slab_ : bytes, 1);
  };
  const std::size_t send_bytes = slab_bytes(mine.send, stride_.send);
  const std::size_t recv_bytes = slab_bytes(mine.recv, stride_.recv);
  const std::size_t send_room = round_up(send_bytes, page_bytes);
  const std::size_t pair_room = send_room + round_up(recv_bytes, page_bytes);
  on_heap_ = a.memory == Memory::heap;
  if (a.memory == Memory::mapped) mapped_ = map_arena();
  std::byte* arena = a.memory == Memory::mapped ? mapped_ : static_memory;
  if (arena == nullptr || (!on_heap_ && pairs * pair_room > arena_bytes)) return false;
  slabs_.reserve(pairs);
  for (std::size_t i = 0; i < pairs; ++i) {
    Pair slab{arena + i * pair_room, arena + i * pair_room + send_room};
    if (on_heap_)
      slab = {static_cast<std::byte*>(std::malloc(send_bytes)),
              static_cast<std::byte*>(std::malloc(recv_bytes))};
    slabs_.push_back(slab);
    if (slab.send == nullptr || slab.recv == nullptr) return false;
    fill(a, slab.send, send_bytes / p.element, i + static_cast<std::size_t>(p.rank));
    fill(a, slab.recv, recv_bytes / p.element, i);
  }
  // A prime, so that in the long run MPI and Tutti get every slot equally often, whatever the
  // number of calls between their turns, and so that any step visits all slots.
  for (slots_ = slabs_.size() * per_slab_; !is_prime(slots_);) --slots_;
  step_ = slots_ > 2 ? slots_ * 5 / 8 + 1 : 1;
  return true;
}

Slot Buffers::next() {
  const Pair& slab = slabs_[at_ / per_slab_];
  const std::size_t index = at_ % per_slab_;
  at_ = (at_ + step_) % slots_;
  return {slab.send + index * stride_.send, slab.recv + index * stride_.recv};
}

void fill(const Arguments& a, std::byte* buffer, std::size_t count, std::uint64_t seed) {
  write(a, buffer, count, 1, seed);
}

void touch(const Arguments& a, std::byte* buffer, std::size_t count, std::uint64_t seed) {
  write(a, buffer, count, page_bytes / reduce::size_of(a.type->row().type), seed);
}

}  // namespace tutti::bench
