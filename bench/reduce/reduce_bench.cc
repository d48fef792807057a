// SPDX-License-Identifier: BSD-3-Clause
// How fast the kernels and copies move bytes, for every instruction set this processor has.
//
//   reduce_bench --benchmark_filter='sum/f32/AVX3'
//
// Names are what/type/instruction set/stores/bytes of one operand/heat. Hot: the same buffers again
// and again. Cold: the buffers rotate through `cold_bytes`, so that none is in a cache of its own;
// make that more than the last-level cache when memory itself is to be measured. Bytes per second
// count what the operation must read and write, not the lines a plain store reads first.
#include <benchmark/benchmark.h>
#include <sys/mman.h>

#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "reduce/targets.h"

namespace tutti::reduce {
namespace {

constexpr std::size_t cold_bytes = std::size_t{768} << 20;

enum class Heat { hot, cold };

// Equal slots of memory that take turns; each slot holds `buffers` buffers of `bytes`.
class Slots {
 public:
  Slots(std::size_t buffers, std::size_t bytes, Heat heat)
      : bytes_(bytes), slot_bytes_(buffers * bytes) {
    const std::size_t slots = heat == Heat::hot ? 1 : cold_bytes / slot_bytes_ + 1;
    length_ = slots * slot_bytes_;
    memory_ = mmap(nullptr, length_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory_ == MAP_FAILED) std::abort();
    // 1.0 as a float and harmless as anything else, so that nothing overflows or is denormal.
    constexpr unsigned pattern = 0x3f800000;
    for (std::size_t i = 0; i < length_; i += 4) std::memcpy(base() + i, &pattern, 4);
  }
  ~Slots() { munmap(memory_, length_); }
  Slots(const Slots&) = delete;
  Slots& operator=(const Slots&) = delete;

  void next() { at_ = at_ + slot_bytes_ < length_ ? at_ + slot_bytes_ : 0; }
  void* buffer(std::size_t index) { return base() + at_ + index * bytes_; }

 private:
  char* base() { return static_cast<char*>(memory_); }

  std::size_t bytes_, slot_bytes_, length_, at_ = 0;
  void* memory_;
};

struct Setting {
  Stores stores;
  std::size_t bytes;
  Heat heat;
};

template <class Body>
void add(const std::string& what, Setting s, std::size_t buffers, Body body) {
  const std::string name = what + (s.stores == Stores::plain ? "/plain/" : "/streaming/") +
                           std::to_string(s.bytes) + (s.heat == Heat::hot ? "/hot" : "/cold");
  benchmark::RegisterBenchmark(name.c_str(), [=](benchmark::State& state) {
    Slots slots(buffers, s.bytes, s.heat);
    for (auto _ : state) {
      body(slots, s);
      benchmark::ClobberMemory();
      slots.next();
    }
    const auto moved = static_cast<std::int64_t>(buffers * s.bytes);
    state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations()) * moved);
  });
}

void add_kernel(const Target& target, Op op, Type type, Setting s) {
  const Kernel* kernel = target.find(op, type);
  const std::size_t count = s.bytes / size_of(type);
  const std::string what = std::string(name_of(op)) + "/" + name_of(type) + "/" + target.name;
  add(what, s, 3, [=](Slots& slots, Setting now) {
    kernel->apply(slots.buffer(2), slots.buffer(0), slots.buffer(1), count, now.stores);
  });
  add(what + "/two", s, 4, [=](Slots& slots, Setting now) {
    kernel->apply2(slots.buffer(2), slots.buffer(3), slots.buffer(0), slots.buffer(1), count,
                   now.stores);
  });
}

void add_copies(const Target& target, Setting s) {
  const Copies* copies = target.copies;
  add(std::string("copy/") + target.name, s, 2, [=](Slots& slots, Setting now) {
    copies->copy(slots.buffer(1), slots.buffer(0), now.bytes, now.stores);
  });
  add(std::string("copy2/") + target.name, s, 3, [=](Slots& slots, Setting now) {
    copies->copy2(slots.buffer(1), slots.buffer(2), slots.buffer(0), now.bytes, now.stores);
  });
}

// What the copies compete with.
void add_rivals(Setting s) {
  if (s.stores != Stores::plain) return;
  add("copy/memcpy", s, 2,
      [](Slots& slots, Setting now) { std::memcpy(slots.buffer(1), slots.buffer(0), now.bytes); });
#if defined(__x86_64__)
  add("copy/rep_movsb", s, 2, [](Slots& slots, Setting now) {
    void* to = slots.buffer(1);
    const void* from = slots.buffer(0);
    std::size_t bytes = now.bytes;
    asm volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(bytes) : : "memory");
  });
#endif
}

void add_all() {
  constexpr std::size_t sizes[] = {64,
                                   std::size_t{4} << 10,
                                   std::size_t{32} << 10,
                                   std::size_t{256} << 10,
                                   std::size_t{1} << 20,
                                   std::size_t{4} << 20,
                                   std::size_t{64} << 20};
  for (const Heat heat : {Heat::hot, Heat::cold}) {
    for (const Stores stores : {Stores::plain, Stores::streaming}) {
      for (const std::size_t bytes : sizes) {
        const Setting s = {stores, bytes, heat};
        for (const Target& target : targets()) {
          if (!target.is_supported()) continue;
          add_copies(target, s);
          for (const Op op : {Op::sum, Op::prod, Op::min, Op::max}) {
            for (const Type type : {Type::f32, Type::f64, Type::i32, Type::i64, Type::u8}) {
              add_kernel(target, op, type, s);
            }
          }
          add_kernel(target, Op::prod, Type::c64, s);
          add_kernel(target, Op::land, Type::i32, s);
          add_kernel(target, Op::minloc, Type::f64_i32, s);
        }
        add_rivals(s);
      }
    }
  }
}

}  // namespace
}  // namespace tutti::reduce

int main(int argc, char** argv) {
  tutti::reduce::add_all();
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
