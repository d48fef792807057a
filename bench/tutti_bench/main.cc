// SPDX-License-Identifier: BSD-3-Clause
// tutti-bench: times MPI_X against PMPI_X of the same MPI in one process and prints JSON, one
// object a line. `tutti bench` starts it; see arguments.h for its options, point.cc and overlap.cc
// for how it measures.
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "tutti_bench/arguments.h"
#include "tutti_bench/buffers.h"
#include "tutti_bench/collectives.h"
#include "tutti_bench/json.h"
#include "tutti_bench/mpi.h"
#include "tutti_bench/overlap.h"
#include "tutti_bench/page.h"
#include "tutti_bench/point.h"

namespace tutti::bench {
namespace {

// The sizes of a collective: a single 0 where it has no data.
std::vector<std::uint64_t> sizes_of(const Arguments& a, const Collective& collective) {
  return collective.has_data ? a.sizes : std::vector<std::uint64_t>{0};
}

void print_plan(const Arguments& a, const Mpi& mpi, const Page& page) {
  std::size_t points = 0;
  for (const Collective* collective : a.collectives) points += sizes_of(a, *collective).size();
  Json("plan")
      .add("points", static_cast<double>(points))
      .add("ranks", mpi.ranks)
      .add("cores", page.cores())
      .add("mpi", mpi.version)
      .add("kernels", reduce::target_name())
      .add("llc_bytes", static_cast<double>(last_level_cache_bytes()))
      .print();
}

void print_row(const Arguments& a, const Mpi& mpi, const Collective& collective,
               std::uint64_t bytes, const Row& row) {
  Json("row")
      .add("collective", collective.name)
      .add("ranks", mpi.ranks)
      .add("bytes", static_cast<double>(bytes))
      .add("cache", a.cache == Cache::hot ? "hot" : "cold")
      .add("base_us", row.base.median_us)
      .add("tutti_us", row.tutti.median_us)
      .add("ratio", row.base.median_us / row.tutti.median_us)
      .add("limit_us", row.limit.median_us)
      .add("way", row.way)
      .add("base_best_us", row.base.best_us)
      .add("tutti_best_us", row.tutti.best_us)
      .add("limit_best_us", row.limit.best_us)
      .add("limit_stores", row.limit_streams ? "streaming" : "plain")
      .add("samples", row.base.samples)
      .add("base_calls", row.base.calls)
      .add("tutti_calls", row.tutti.calls)
      .print();
}

// "base_pure_us" for "base_" and what is measured of that library.
void add_overlap(Json& row, const std::string& library, const Overlap& overlap) {
  const auto add = [&](const char* what, double value) {
    row.add((library + what).c_str(), value);
  };
  add("blocking_us", overlap.blocking.median_us);
  add("pure_us", overlap.pure.median_us);
  add("overlapped_us", overlap.overlapped.median_us);
  add("overlap_percent", overlap.percent);
  add("post_us", overlap.post.median_us);
  add("calls", overlap.pure.calls);
}

void print_overlap(const Arguments& a, const Mpi& mpi, const Collective& collective,
                   std::uint64_t bytes, const OverlapRow& measured) {
  Json row("row");
  row.add("collective", std::string("i") + collective.name)
      .add("ranks", mpi.ranks)
      .add("bytes", static_cast<double>(bytes))
      .add("cache", a.cache == Cache::hot ? "hot" : "cold")
      .add("work", measured.work)
      .add("compute_us", measured.compute.median_us)
      .add("samples", measured.compute.samples);
  add_overlap(row, "base_", measured.base);
  add_overlap(row, "tutti_", measured.tutti);
  row.add("pure_ratio", measured.base.pure.median_us / measured.tutti.pure.median_us)
      .add("overlapped_ratio",
           measured.base.overlapped.median_us / measured.tutti.overlapped.median_us)
      .print();
}

// The point of that number.
bool measure_and_print(const Mpi& mpi, Page& page, const Arguments& a, const Collective& collective,
                       std::uint64_t bytes, std::size_t number, std::string& why) {
  if (a.what == What::overlap) {
    OverlapRow row;
    const std::uint64_t work = a.work.empty() ? 0 : a.work[number];
    if (!measure_overlap(mpi, page, a, collective, bytes, work, row, why)) return false;
    if (mpi.rank == 0) print_overlap(a, mpi, collective, bytes, row);
    return true;
  }
  Row row;
  if (!measure(mpi, page, a, collective, bytes, row, why)) return false;
  if (mpi.rank == 0) print_row(a, mpi, collective, bytes, row);
  return true;
}

// 0, or the exit code.
int run(const Mpi& mpi, const Arguments& a, std::string& why) {
  Page page;
  if (a.root >= mpi.ranks) {
    why = "--root " + std::to_string(a.root) + " is no rank of " + std::to_string(mpi.ranks);
    return 2;
  }
  if (!page.open(mpi, why)) return 1;
  const bool speaks = mpi.rank == 0;
  if (speaks) print_plan(a, mpi, page);
  std::size_t done = 0;
  for (const Collective* collective : a.collectives)
    for (const std::uint64_t bytes : sizes_of(a, *collective)) {
      if (!measure_and_print(mpi, page, a, *collective, bytes, done, why)) return 1;
      ++done;
      if (speaks) Json("progress").add("done", static_cast<double>(done)).print();
    }
  if (speaks) Json("done").print();
  return 0;
}

// Before MPI says who is who, the launcher's variables do.
bool first_rank() {
  for (const char* name : {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK", "SLURM_PROCID"})
    if (const char* text = std::getenv(name)) return std::atoi(text) == 0;
  return true;
}

// Only the first rank fails where all do: some launchers kill the others at the first exit code,
// and the sentence with them.
int fail(bool speaks, const std::string& why, int code) {
  if (!speaks) return 0;
  Json("error").add("message", why).print();
  return code;
}

int main(int count, char** words) {
  Arguments arguments;
  Mpi mpi{};
  std::string why;
  if (!parse(count, words, arguments, why) || !load_mpi(mpi, why))
    return fail(first_rank(), why, 2);
  int code = run(mpi, arguments, why);
  if (code != 0) code = fail(mpi.rank == 0, why, code);
  mpi.finalize();
  return code;
}

}  // namespace
}  // namespace tutti::bench

int main(int count, char** words) { return tutti::bench::main(count, words); }
