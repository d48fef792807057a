// SPDX-License-Identifier: BSD-3-Clause
// How fast layouts are packed and unpacked, against memcpy of the same bytes.
//
//   layout_bench --benchmark_filter='columns/4/' --benchmark_repetitions=5
//
// Names are what/way/pieces. columns/4/1024x1000: an element is a column of 1024 4-byte numbers of
// a matrix of 1000 columns, and all columns are moved. A piece is what a pipeline would move at
// once, cut at multiples of grain(); all: the whole in one call. Bytes per second count the packed
// bytes once; `best` is the fastest repetition, which is the one to look at on a machine that is
// not idle.
#include <benchmark/benchmark.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "layout/layout.h"

namespace tutti::layout {
namespace {

enum class Direction { pack, unpack, copy };

// Small pages, as the memory of most programs has.
class Memory {
 public:
  explicit Memory(std::size_t bytes) : bytes_(bytes) {
    memory_ = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory_ == MAP_FAILED) std::abort();
    madvise(memory_, bytes, MADV_NOHUGEPAGE);
    std::memset(memory_, 1, bytes);
  }
  ~Memory() { munmap(memory_, bytes_); }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  std::byte* data() { return static_cast<std::byte*>(memory_); }

 private:
  std::size_t bytes_;
  void* memory_;
};

// Elements of a type, and where the first lies in memory of `span` bytes.
struct Subject {
  Typemap type;
  std::size_t elements;
  std::size_t span;
  std::ptrdiff_t first = 0;
};

double best_of(const std::vector<double>& all) { return *std::max_element(all.begin(), all.end()); }

void add(const std::string& what, const Subject& subject, Direction way, std::size_t piece) {
  const char* const ways[] = {"/pack/", "/unpack/", "/copy/"};
  const std::string name =
      what + ways[static_cast<int>(way)] + (piece == 0 ? "all" : std::to_string(piece));
  const auto body = [=](benchmark::State& state) {
    const Layout layout(subject.type);
    const std::size_t all = subject.elements * layout.bytes();
    const std::size_t grain = layout.grain();
    const std::size_t step = piece == 0 ? all : (piece + grain - 1) / grain * grain;
    Memory memory(subject.span), packed(all);
    std::byte* base = memory.data() + subject.first;
    for (auto _ : state) {
      for (std::size_t at = 0; at < all; at += step) {
        const std::size_t some = std::min(step, all - at);
        if (way == Direction::pack) layout.pack(packed.data() + at, base, at, some);
        if (way == Direction::unpack) layout.unpack(base, packed.data() + at, at, some);
        if (way == Direction::copy) std::memcpy(packed.data() + at, memory.data() + at, some);
      }
      benchmark::ClobberMemory();
    }
    state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations() * all));
  };
  benchmark::RegisterBenchmark(name.c_str(), body)->ComputeStatistics("best", best_of);
}

void add_all_ways(const std::string& what, const Subject& subject) {
  for (const Direction way : {Direction::pack, Direction::unpack, Direction::copy})
    add(what, subject, way, 0);
}

void add_columns(std::size_t size, std::size_t rows, std::size_t columns, bool pieces) {
  const auto signed_size = static_cast<std::ptrdiff_t>(size);
  const auto stride = static_cast<std::ptrdiff_t>(columns * size);
  const auto count = static_cast<std::int64_t>(rows);
  const Typemap column = Typemap(size).vector(count, 1, stride).resized(0, signed_size);
  const Subject subject{column, columns, rows * columns * size};
  const std::string what = "columns/" + std::to_string(size) + "/" + std::to_string(rows) + "x" +
                           std::to_string(columns);
  add_all_ways(what, subject);
  if (!pieces) return;
  for (const std::size_t piece : {std::size_t{32} << 10, std::size_t{256} << 10})
    for (const Direction way : {Direction::pack, Direction::unpack}) add(what, subject, way, piece);
}

// Of a cube of n^3 numbers: the face whose numbers lie a row apart, and the one a plane apart.
void add_faces(std::size_t size, std::int64_t n) {
  const std::vector<std::int64_t> sizes{n, n, n}, starts{0, 0, 0};
  const std::size_t span = static_cast<std::size_t>(n * n * n) * size;
  for (std::int64_t thick : {1, 4}) {
    const std::vector<std::int64_t> side{n, n, thick}, middle{n, thick, n};
    const std::string what = std::to_string(size) + "/" + std::to_string(n) + "^3x";
    const auto face = [&](const std::vector<std::int64_t>& part) {
      return Subject{Typemap(size).subarray(sizes, part, starts, Typemap::Order::c), 1, span};
    };
    add_all_ways("side/" + what + std::to_string(thick), face(side));
    add_all_ways("middle/" + what + std::to_string(thick), face(middle));
  }
}

// Blocks with gaps of the same size.
void add_blocks(std::size_t block) {
  const std::size_t count = (std::size_t{4} << 20) / block;
  const auto stride = static_cast<std::ptrdiff_t>(2 * block);
  const Typemap blocks = Typemap(block).vector(static_cast<std::int64_t>(count), 1, stride);
  add_all_ways("blocks/" + std::to_string(block), {blocks, 1, 2 * count * block});
}

void add_all() {
  for (const std::size_t size : {4, 8}) {
    for (const std::size_t n : {64, 100, 128, 256, 512, 1000, 1024, 2048, 4096})
      add_columns(size, n, n, n >= 1000);
    add_faces(size, 128);
  }
  for (const std::size_t size : {1, 2, 12, 16, 24, 32}) add_columns(size, 1024, 1024, false);
  add_columns(8, 16, 65536, false);
  add_columns(8, 65536, 16, false);
  add_columns(8, 3, 65536, false);
  add_columns(8, 65536, 3, false);
  for (const std::size_t block : {8, 16, 24, 32, 48, 64}) add_blocks(block);
}

}  // namespace
}  // namespace tutti::layout

int main(int argc, char** argv) {
  tutti::layout::add_all();
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
