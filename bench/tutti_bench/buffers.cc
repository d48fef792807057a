// SPDX-License-Identifier: BSD-3-Clause
#include "tutti_bench/buffers.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <string>

#include "base/options.h"

namespace tutti::bench {
namespace {

// Memory that is neither heap nor stack, for --memory static.
constexpr std::size_t static_bytes = std::size_t{512} << 20;
alignas(page_bytes) std::byte static_memory[static_bytes];

std::size_t machine_bytes() {
  return static_cast<std::size_t>(sysconf(_SC_PHYS_PAGES)) *
         static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

bool is_prime(std::size_t n) {
  for (std::size_t i = 2; i * i <= n; ++i)
    if (n % i == 0) return false;
  return n > 0;  // 1 will do: hot benchmarks have one slot
}

// Bytes that one rank's slots are to fill.
std::size_t rotated_bytes(int ranks) {
  const std::size_t all =
      std::min(2 * last_level_cache_bytes() + (std::size_t{16} << 20), machine_bytes() / 4);
  return all / static_cast<std::size_t>(ranks);
}

// Calls `write` for every `stride`-th element, as the type that `type` stands for.
template <class T>
void write_as(std::byte* buffer, std::size_t count, std::size_t stride, std::uint64_t mask,
              std::uint64_t seed) {
  T* element = reinterpret_cast<T*>(buffer);
  for (std::size_t i = 0; i < count; i += stride)
    element[i] = static_cast<T>(1 + ((i * 5 + (i >> 9) + seed) & mask));
}

void write(const Arguments& a, std::byte* buffer, std::size_t count, std::size_t stride,
           std::uint64_t seed) {
  // Products grow fast: powers of two stay exact in any number of ranks.
  const std::uint64_t mask = a.op->op == reduce::Op::prod ? 1 : 7;
  switch (a.type->type) {
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
  for (const Pair& slab : slabs_) {
    if (!owned_) break;
    std::free(slab.send);
    std::free(slab.recv);
  }
}

bool Buffers::allocate(const Arguments& a, const Problem& p) {
  // Below this size a buffer has company, and below any threshold of the commons stays with libc.
  constexpr std::size_t slab_least = 16384;
  const bool cold = a.cache == Cache::cold && p.bytes > 0;
  stride_ = round_up(p.bytes, line_bytes);
  const std::size_t bytes =
      cold ? std::max(stride_, slab_least) : std::max<std::size_t>(p.bytes, 1);
  if (cold) per_slab_ = bytes / stride_;
  const std::size_t pairs = cold ? divide_up(rotated_bytes(p.ranks), 2 * bytes) + 1 : 1;
  const std::size_t static_stride = round_up(bytes, page_bytes);
  owned_ = a.memory == Memory::heap;
  if (!owned_ && pairs * 2 * static_stride > static_bytes) return false;
  slabs_.reserve(pairs);
  for (std::size_t i = 0; i < pairs; ++i) {
    Pair slab{static_memory + 2 * i * static_stride, static_memory + (2 * i + 1) * static_stride};
    if (owned_)
      slab = {static_cast<std::byte*>(std::malloc(bytes)),
              static_cast<std::byte*>(std::malloc(bytes))};
    slabs_.push_back(slab);
    if (slab.send == nullptr || slab.recv == nullptr) return false;
    fill(a, slab.send, bytes / p.element, i + static_cast<std::size_t>(p.rank));
    fill(a, slab.recv, bytes / p.element, i);
  }
  // A prime, so that in the long run MPI and Tutti get every slot equally often, whatever the
  // number of calls between their turns, and so that any step visits all slots.
  for (slots_ = slabs_.size() * per_slab_; !is_prime(slots_);) --slots_;
  step_ = slots_ > 2 ? slots_ * 5 / 8 + 1 : 1;
  return true;
}

Slot Buffers::next() {
  const Pair& slab = slabs_[at_ / per_slab_];
  const std::size_t offset = at_ % per_slab_ * stride_;
  at_ = (at_ + step_) % slots_;
  return {slab.send + offset, slab.recv + offset};
}

void fill(const Arguments& a, std::byte* buffer, std::size_t count, std::uint64_t seed) {
  write(a, buffer, count, 1, seed);
}

void touch(const Arguments& a, std::byte* buffer, std::size_t count, std::uint64_t seed) {
  write(a, buffer, count, page_bytes / reduce::size_of(a.type->type), seed);
}

}  // namespace tutti::bench
