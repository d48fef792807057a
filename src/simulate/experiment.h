// SPDX-License-Identifier: BSD-3-Clause
// The experiment of Denis et al. 2019, section 7, on a simulated chip: a nonblocking collective,
// computation, and the wait for the collective. The computation of all ranks together is fixed: on
// all cores of the chip it takes as long as the blocking collective there, so that with fewer ranks
// it takes longer, and more cores are left for communication.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "choice/plans.h"
#include "coll/coll.h"
#include "lab/timed.h"
#include "progress/placement.h"

namespace tutti::simulate {

// The paper's are the chain and the split trees; direct ones are those of the blocking collectives,
// which the library takes for nonblocking ones, too.
enum class Algorithms : std::uint8_t { paper, direct };

struct Case {
  coll::Collective collective = coll::Collective::scan;
  Algorithms algorithms = Algorithms::paper;
  std::size_t bytes = 0;  // one rank's vector; Gather and Scatter: its block
  std::size_t piece_bytes = 0;
  int levels = 0;
};

struct Outcome {
  bool right = true;                // all ranks ended, with the right results
  std::int64_t blocking_ns = 0;     // all by the ranks themselves, without computation
  std::int64_t pure_ns = 0;         // by progress threads, without computation
  std::int64_t computation_ns = 0;  // of each rank
  std::int64_t overlapped_ns = 0;   // from the call to the end of the wait
};

// Ranks and progress threads on a chip.
class Chip {
 public:
  Chip(lab::Machine machine, const progress::CoreLayout& layout, progress::Placement placement);

  // One run; its time, or -1 when it did not end or a result is wrong.
  [[nodiscard]] std::int64_t run(const Case& what, const lab::Program& program);
  [[nodiscard]] const lab::Trace& trace() const { return timed_->trace(); }

 private:
  int ranks_;
  std::size_t scale_;
  choice::Plans plans_;
  std::unique_ptr<lab::TimedMachine> timed_;
};

// What choice/ weighs for a collective; late: with an operation of the program's own.
[[nodiscard]] std::vector<choice::Algorithm> table_of(coll::Collective collective, bool late);

// How long all cores of the chip take for the blocking collective.
[[nodiscard]] std::int64_t blocking_on_all_ns(const lab::Machine& machine,
                                              const progress::Chip& chip, const Case& what);

[[nodiscard]] Outcome try_case(Chip& chip, const Case& what, std::int64_t computation_ns);

}  // namespace tutti::simulate
