// SPDX-License-Identifier: BSD-3-Clause
// job: which ranks of the job have Tutti. They find out without the MPI: nothing may be sent to a
// rank without Tutti that its program might receive.
//
// Every rank signs a roll before MPI begins, and the job's launcher keeps it. MPI_Init lets no rank
// go before all have entered it. So a rank that is not in the roll afterwards never will be.
// Words: docs/glossary.md.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "job/launcher.h"

namespace tutti::job {

// To be raised with any change of what ranks say to each other from MPI_Init on. That is what they
// exchange when they meet, the segment, and the flags with their order.
extern const char protocol[];

// What one rank has signed with. An empty host: what it wrote cannot be read.
struct Signature {
  std::string tutti;  // the version, and what ranks of it say to each other
  std::string host;
  int pid = 0;

  [[nodiscard]] static Signature mine();
  [[nodiscard]] static Signature of(const std::string& text);
  [[nodiscard]] std::string text() const;
  // Whether these two can work together.
  [[nodiscard]] bool matches(const Signature& other) const {
    return !host.empty() && tutti == other.tutti;
  }
};

class Roll {
 public:
  // open() comes before the MPI begins and close() after. Under PMIx a rank can sign only once the
  // MPI has begun PMIx: pmix_begins().
  void open();
  void close();
  void pmix_begins(void* library, const void* process);

  enum class State : std::uint8_t {
    none,    // no launcher that Tutti knows how to ask
    kept,    // this rank has signed, and may ask for others
    closed,  // it could not sign, so the others take it for a rank without Tutti
  };
  // `world_rank`: the rank of this process; the launcher must call it the same.
  [[nodiscard]] State state(int world_rank) const;

  // Whether each of these has signed with the same Tutti. False also where the launcher fails.
  [[nodiscard]] std::vector<bool> present(std::span<const int> ranks);
  // Whether a false one may be an answer that came too late.
  [[nodiscard]] bool may_be_late() const { return launcher_->may_be_late(); }
  // "ranks 1 and 3 of 4 run without Tutti (...)", of these. "" if a lower one of these ranks has
  // signed: that one says it.
  [[nodiscard]] std::string absentees(int world_rank, std::span<const int> ranks);

  // Whether some of these have not signed, for a rank that cannot talk to them. Every rank that
  // asks for the same ranks gets the same answer. Where asking is not safe, that is the answer that
  // it would get without a roll.
  [[nodiscard]] bool lacks(int world_rank, std::span<const int> ranks);

 private:
  [[nodiscard]] std::vector<bool> ask(std::span<const int> ranks, int patience_s);
  [[nodiscard]] bool read(std::span<const int> ranks, int patience_s,
                          std::vector<Signature>& signatures);
  void sign();
  [[nodiscard]] bool is_alone();

  std::mutex opening_;        // sessions may be begun by several threads
  std::atomic<int> open_{0};  // that are beginning the MPI
  bool was_alone_ = false;    // this thread, before the MPI began
  int threads_ = 0;           // and how many there were when it had
  State state_ = State::none;
  std::unique_ptr<Launcher> launcher_;
  std::mutex lacking_;
  std::map<int, bool> signed_;  // what lacks() was told before; under lacking_
};

// This process's; lives to its end.
[[nodiscard]] Roll& roll();

// A rank's neighbours in a tree of `size` ranks: its parent, but for rank 0, and its children.
[[nodiscard]] std::vector<int> neighbours_of(int rank, int size);

// A rank without Tutti, as far as can be known from here.
struct Absentee {
  int rank;
  std::string host;  // "": not known
  int pid = 0;       // 0: not known
  std::string why;   // "": not known
};
// One clause that names them all; the first few with what is known of them.
[[nodiscard]] std::string describe(std::span<const Absentee> absentees, int ranks);
// Finds those of them that are on this node. They are children of the process that has started this
// one, and have a variable with their rank.
void look_around(std::span<Absentee> absentees, const char* rank_variable);

}  // namespace tutti::job
