// SPDX-License-Identifier: BSD-3-Clause
#include "reduce/reduce.h"

#include <array>
#include <atomic>

#include "reduce/targets.h"

namespace tutti::reduce {
namespace {

struct TypeInfo {
  const char* name;
  std::size_t bytes;
};

template <class Value, class Index>
constexpr std::size_t pair_bytes = sizeof(Pair<Value, Index>);

// In the order of Type.
constexpr std::array<TypeInfo, type_count> types = {{
    {"i8", 1},
    {"i16", 2},
    {"i32", 4},
    {"i64", 8},
    {"u8", 1},
    {"u16", 2},
    {"u32", 4},
    {"u64", 8},
    {"f32", 4},
    {"f64", 8},
    {"f80", sizeof(long double)},
    {"c64", 8},
    {"c128", 16},
    {"f32_i32", pair_bytes<float, int>},
    {"f64_i32", pair_bytes<double, int>},
    {"i64_i32", pair_bytes<std::int64_t, int>},
    {"i32_i32", pair_bytes<int, int>},
    {"i16_i32", pair_bytes<std::int16_t, int>},
    {"f80_i32", pair_bytes<long double, int>},
    {"f32_f32", pair_bytes<float, float>},
    {"f64_f64", pair_bytes<double, double>},
    {"boolean", 1},
}};

// In the order of Op.
constexpr std::array<const char*, op_count> ops = {
    "sum", "prod", "min", "max", "land", "lor", "lxor", "band", "bor", "bxor", "minloc", "maxloc",
};

const Target& choose() {
  for (const Target& target : targets()) {
    if (target.is_supported()) return target;
  }
  return targets().back();
}

// Threads that come here at once find the same answer, so the race between them is harmless; the
// tables are constants, so nothing need be ordered with the pointer.
const Target& chosen() {
  static constinit std::atomic<const Target*> cached = nullptr;
  const Target* target = cached.load(std::memory_order_relaxed);
  if (target == nullptr) {
    target = &choose();
    cached.store(target, std::memory_order_relaxed);
  }
  return *target;
}

}  // namespace

std::size_t size_of(Type type) { return types[index_of(type)].bytes; }
const char* name_of(Type type) { return types[index_of(type)].name; }
const char* name_of(Op op) { return ops[index_of(op)]; }

const Kernel* find(Op op, Type type) { return chosen().find(op, type); }

const Kernel* find_scalar(Op op, Type type) {
  return is_defined(op, type) ? &scalar::kernel_at(op, type) : nullptr;
}

const char* target_name() { return chosen().name; }

void copy_long(void* to, const void* from, std::size_t bytes, Stores stores) {
  chosen().copies->copy(to, from, bytes, stores);
}
void copy2(void* to_a, void* to_b, const void* from, std::size_t bytes, Stores stores) {
  chosen().copies->copy2(to_a, to_b, from, bytes, stores);
}
void swap(void* a, void* b, std::size_t bytes) { chosen().copies->swap(a, b, bytes); }

}  // namespace tutti::reduce
