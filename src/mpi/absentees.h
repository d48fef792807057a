// SPDX-License-Identifier: BSD-3-Clause
// Whether all ranks have Tutti, before anything is asked of them that the program did not ask for.
// A rank without it would not answer, and an MPI matches collectives by their order: its program's
// first would meet Tutti's.
//
// On MPI_COMM_WORLD each rank looks its neighbours in a tree up in the roll, and talks to those
// that are there. They greet each other, then what they know goes up, and what all know down again:
// whether all are there, and whether they are on one host. Whoever is not there is missed by a
// neighbour, in every part that the tree falls into. That is two questions and four messages a
// rank, in the mean, whatever the number of ranks.
#pragma once

#include <atomic>
#include <cstdint>
#include <ctime>
#include <span>
#include <string>

#include "mpi/world.h"

namespace tutti::mpi {

// While it lives the MPI begins, and the roll may be signed.
class Signing {
 public:
  Signing();
  ~Signing();
  Signing(const Signing&) = delete;
  Signing& operator=(const Signing&) = delete;

 private:
  const bool signs_;
};

template <class H>
class Absentees {
 public:
  Absentees(const Native<H>& native, World<H>& world) : native_(native), world_(world) {}

  // MPI_Init was seen, by all ranks.
  void start() { started_ = true; }
  [[nodiscard]] bool started() const { return started_; }
  // Collective over MPI_COMM_WORLD, but only the ranks with Tutti take part. False: some have none,
  // so nobody uses it.
  bool call_the_roll() {
    found_ = look_for_all();
    return !apart();
  }
  [[nodiscard]] bool apart() const { return found_ == some_missing; }
  // Afterwards: all ranks of MPI_COMM_WORLD are on one host.
  [[nodiscard]] bool on_one_host() const { return found_ % 2 != 0; }
  // Whether a communicator of sessions, without MPI_Init, has members without Tutti: each member
  // asks for all.
  [[nodiscard]] bool has_absentees(H comm, int size);
  // Who they are, in a clause, on the rank that says so; else "".
  [[nodiscard]] const std::string& names() const { return absentees_; }

 private:
  // What is known of some ranks: these, or a number of the host that all of them are on, which is
  // odd. Two hosts that have the same are told apart when they meet. As long as an int, which a
  // program without Tutti is likely to have room for.
  using Known = std::uint32_t;
  static constexpr Known some_missing = 0, on_several = 2;
  static constexpr int tag = 32766;
  [[nodiscard]] static Known both(Known some, Known others) {
    if (some == some_missing || others == some_missing) return some_missing;
    return some == others ? some : on_several;
  }
  [[nodiscard]] Known look_for_all();
  struct Doubt {
    std::time_t patience_s;
    const char* how;  // what this rank knows of those it waits for
  };
  void look_for_greetings(std::span<const int> near, std::vector<bool>& here);
  void talk(std::span<const int> ranks, const Known* tell, Known* hear, const Doubt* doubt);
  [[nodiscard]] bool is_over(H* request);

  const Native<H>& native_;
  World<H>& world_;
  bool started_ = false;  // with all of MPI_COMM_WORLD, which have thus all seen MPI_Init
  std::atomic<Known> found_{on_several};  // of all
  std::string absentees_;
};

}  // namespace tutti::mpi
