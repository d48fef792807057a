// SPDX-License-Identifier: BSD-3-Clause
// What communicators of several nodes need of the MPI: which node each rank is on, and messages
// between ranks of a communicator. All that are made of one another, as of MPI_COMM_WORLD, share
// their links: messages go over one communicator, a duplicate of the first, as an MPI may have few;
// a communicator's have tags of their own, of a number on which its members agree when they meet.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <vector>

#include "coll/leaders/way.h"
#include "fabric/messages.h"
#include "mpi/membership.h"
#include "mpi/native.h"
#include "mpi/questions.h"
#include "os/occasion.h"
#include "topology/topology.h"

namespace tutti::mpi {

// The numbers of communicators that are in use, of those that share their links. Several threads
// may agree on one with the members of their communicators. All members of a communicator are there
// before any of them chooses, and the one with the lowest name goes first, so no two wait for each
// other.
class Tags {
 public:
  static constexpr std::size_t words = 32;
  static constexpr int most = 64 * words;  // every MPI has at least 32767
  using Mask = std::array<std::uint64_t, words>;

  // Those that are taken, for an agreement about communicator `name`. False: another thread is
  // agreeing on one; all taken then.
  [[nodiscard]] bool begin_choice(std::uint64_t name, Mask& taken);
  // After a begin_choice() that was true: it is to be made again.
  void put_off_choice();
  // There is no more to choose for `name`.
  void give_up_choice(std::uint64_t name, bool chooses);
  // After a begin_choice() that was true: the lowest one that nobody has taken is; -1: none.
  [[nodiscard]] int end_choice(std::uint64_t name, const Mask& taken);
  void release(int tag);

  // Messages may be on their way that nobody will receive.
  std::atomic<bool> spoiled{false};

 private:
  std::mutex mutex_;
  Mask taken_{};
  bool choosing_ = false;
  std::vector<std::uint64_t> waiting_;  // names
};

// The kinds of calls whose messages have tags of their own, so that a message of one call is not
// taken for one of another: by collective, and as far as the MPI's tags reach by root and
// operation.
class CallKinds {
 public:
  // Tags of one kind: of all communicators' blocking collectives, and of their nonblocking ones.
  static constexpr int tags = 2 * Tags::most;
  // Before them come the tags of errors, as many, and that of questions.
  static constexpr int first = 2;
  static constexpr int tag_of_questions = tags;

  explicit constexpr CallKinds(int largest_tag)
      : groups_(static_cast<int>(std::clamp<std::int64_t>(
            ((std::int64_t{largest_tag} + 1) / tags - first) / collective_count, 0, most_groups))) {
  }

  [[nodiscard]] constexpr int count() const { return std::max(1, groups_ * collective_count); }
  [[nodiscard]] constexpr int of(Collective collective, int root, int op) const {
    if (groups_ == 0) return 0;
    const int group = ((is_rooted(collective) ? root : 0) + op) % groups_;
    return group * collective_count + static_cast<int>(collective);
  }

 private:
  static constexpr int most_groups = 16;
  int groups_;  // root plus operation is told apart modulo this; 0: nor are collectives
};

// A communicator's number, its name, and who its members are. The number is given back in the end,
// unless messages of it may still come, which must not be taken for another's. Then no later
// communicator that this rank is in has it.
struct TaggedMembers {
  Tags& tags;
  int number;
  std::uint64_t name;
  std::shared_ptr<const Membership> membership;
  std::atomic<bool> spoiled{false};

  [[nodiscard]] const Runs& ranks() const { return membership->ranks; }

  void spoil() { spoiled = tags.spoiled = true; }
  ~TaggedMembers() {
    if (!spoiled) tags.release(number);
  }
};

// The messages of one communicator's blocking collectives, or of its nonblocking ones. `keeps`:
// what all else is of.
template <class H>
class TaggedMessages : public fabric::Messages {
 public:
  TaggedMessages(std::shared_ptr<const void> keeps, const Native<H>& native, H comm,
                 CallKinds kinds, Questions<H>& questions, std::shared_ptr<TaggedMembers> members,
                 bool blocking)
      : keeps_(std::move(keeps)),
        native_(native),
        comm_(comm),
        kinds_(kinds),
        questions_(questions),
        members_(std::move(members)),
        tag_of_errors_(members_->number + (blocking ? 0 : Tags::most)),
        calls_(members_->name, blocking) {
    questions_.add(calls_);
  }
  ~TaggedMessages() override { questions_.remove(calls_); }

  bool send(int member, const void* from, std::size_t bytes, fabric::Whole whole) override;
  bool receive(int member, void* to, std::size_t bytes, fabric::Whole whole) override;
  void enter(Collective collective, int root, int op, std::uint64_t call) override {
    kind_ = kinds_.of(collective, root, op);
    calls_.add(call);
  }
  std::optional<Stray> find_stray() override;
  void cut(const fabric::Cut& cut) override { cut_ = cut; }
  State test_oldest() override;
  void abandon() override;
  void call_off() override;
  bool is_called_off() override;

 private:
  // Of what call_off() sends. One looks for it of so many members at a time.
  static constexpr std::size_t most_looks = 64;
  [[nodiscard]] int tag_of(int kind) const {
    return tag_of_errors_ + (CallKinds::first + kind) * CallKinds::tags;
  }
  [[nodiscard]] int rank_of(int member) const {
    return members_->ranks()[static_cast<std::size_t>(member)];
  }

  // A message is one part or several (fabric::Cut).
  struct Part {
    H request{};
    int member = 0;
    std::int64_t awaited = -1;  // bytes, where it is received
    bool last = true;
  };
  template <class Start>
  bool start(int member, std::size_t bytes, fabric::Whole whole, bool receives, Start start);
  void take_oldest() {
    parts_.pop_front();
    ++taken_;
  }

  std::shared_ptr<const void> keeps_;
  const Native<H>& native_;
  H comm_;
  CallKinds kinds_;
  Questions<H>& questions_;
  std::shared_ptr<TaggedMembers> members_;
  int tag_of_errors_;  // the lowest of these tags
  int kind_ = 0;       // of the call
  fabric::Cut cut_;
  // What was sent to each member since one waited for it to receive that, in bytes.
  MemberCounts unreceived_;
  std::deque<Part> parts_;
  std::uint64_t taken_ = 0;  // out of parts_
  CallLog calls_;
  // Who waits for the same message at two looks asks its member, once: for the first message behind
  // `taken_`.
  std::uint64_t waited_ = 0, asked_about_ = 0;
  os::Occasion comparing_{1000};
  os::Occasion looking_{20};
  std::size_t next_look_ = 0;
  bool abandoned_ = false;
  std::atomic<bool> called_off_{false};
};

template <class H>
class SharedLinks {
 public:
  explicit SharedLinks(const Native<H>& native) : native_(native), questions_(native) {}

  // Collective over `comm`, whose ranks are on several nodes. `host` is equal on the ranks of one
  // node alone; negative: this rank has no node, or is to leave such communicators to the MPI.
  // `contested`: as engine::Links; what any rank says is so on all. `shares_core`: it shares its
  // core with others of its node. `has_core`: its progress thread has one of its own.
  // `way`, and the longest message in bytes, or 0 where that is to be found out: what rank 0 says
  // is so on all; but of the forced algorithms what any rank says. `claim`: of this rank, on its
  // cores, with the number of its node.
  void open(H comm, int host, bool contested, bool shares_core, bool has_core,
            const coll::leaders::Way& way, std::size_t longest_message,
            const topology::Claim& claim);
  // Whether ranks of this node share cores with each other or with those of others, and whether
  // ranks of any node do, as far as open() has heard.
  [[nodiscard]] bool shares_cores() const { return shares_cores_; }
  [[nodiscard]] bool some_share_cores() const { return some_share_cores_; }
  // Collective over the same, but nobody waits. The communicator is not given back while messages
  // that nobody will receive may be on their way: MPICH ends the job.
  void close();

  // Over which messages go, if there are links. The program cannot revoke it.
  [[nodiscard]] H comm() const { return comm_; }
  // Of each of its ranks; empty: there are no links.
  [[nodiscard]] const Runs& hosts() const { return hosts_; }
  // Which of its ranks those of another communicator are; negative: none; empty: the MPI does not
  // say. There are links.
  [[nodiscard]] Runs ranks(H comm, int size) const;
  // Whether any of its ranks has MPI_THREAD_SERIALIZED or less.
  [[nodiscard]] bool is_serialized() const { return serialized_; }
  [[nodiscard]] bool is_contested() const { return contested_; }
  // Whether all ranks have a thread that may send and receive while they compute or wait for
  // something else: nobody then waits for a leader that brings nothing forward.
  [[nodiscard]] bool in_background() const {
    return !hosts_.empty() && have_cores_ && !serialized_;
  }
  // Collective over the same `comm`, where that is so: whether the thread of each rank runs.
  void confirm_threads(H comm, bool runs);
  // Whether nonblocking collectives are Tutti's.
  [[nodiscard]] bool starts() const { return !contested_ || in_background(); }
  [[nodiscard]] const coll::leaders::Way& way() const { return way_; }
  // What the MPI is given as one message at most, in bytes, as rank 0 has said; 0: that is to be
  // found out.
  [[nodiscard]] std::size_t longest_message() const { return longest_message_; }
  // What communicators of this rank have found out of it: bit k says that those of
  // limits::tried_messages[k] and longer ones are as fast in parts, bit tried_messages.size() that
  // none are.
  [[nodiscard]] std::uint8_t cuts() const { return cuts_; }
  void add_cuts(std::uint8_t cuts) { cuts_ |= cuts; }
  // What communicators of this rank have found out of what a message costs.
  [[nodiscard]] coll::leaders::StartBit message_starts() const { return message_starts_; }
  void add_message_starts(coll::leaders::StartBit bits) { message_starts_ |= bits; }
  // What members of a communicator say when they meet, and hear that any of them said.
  struct Facts {
    bool devices = false, strict = false, rank_order = false, failed = false;
    // A nonblocking collective that computes was the MPI's before they met.
    bool computed = false;
    std::uint8_t cuts = 0;               // as cuts(); the least one counts
    coll::leaders::StartBit starts = 0;  // as message_starts(); the largest one counts
  };
  // Collective over `comm`: gives it a name, which all members know, and no others. False, and 0: a
  // member may not, or the MPI failed. `world_rank`: of this rank.
  [[nodiscard]] bool agree(H comm, bool may, int world_rank, std::uint64_t& name);
  // Collective over `comm`, once all are there: agrees on a tag, and on facts. False: there is none
  // left, or the MPI failed. `name` is as above.
  [[nodiscard]] bool agree(H comm, std::uint64_t name, Facts& facts, int& tag);
  // The same of facts alone.
  [[nodiscard]] bool agree(H comm, Facts& facts);
  // Of a communicator with these members, as ranks(). `rank`: this one's among them.
  [[nodiscard]] std::shared_ptr<const Membership> membership(Runs ranks, int rank) {
    return memberships_.of(std::move(ranks), hosts_, rank);
  }
  [[nodiscard]] std::shared_ptr<TaggedMembers> members(
      int tag, std::uint64_t name, std::shared_ptr<const Membership> membership) {
    return std::make_shared<TaggedMembers>(tags_, tag, name, std::move(membership));
  }
  // `keeps`: whose links these are.
  [[nodiscard]] std::unique_ptr<fabric::Messages> messages(
      std::shared_ptr<const void> keeps, const std::shared_ptr<TaggedMembers>& members,
      bool blocking) {
    return std::make_unique<TaggedMessages<H>>(std::move(keeps), native_, comm_, kinds_, questions_,
                                               members, blocking);
  }

 private:
  [[nodiscard]] bool either(H comm, std::uint64_t* words, int count);

  const Native<H>& native_;
  Runs hosts_;
  bool serialized_ = false, contested_ = false, have_cores_ = false, shares_cores_ = false,
       some_share_cores_ = false;
  coll::leaders::Way way_;
  std::size_t longest_message_ = 0;
  std::atomic<std::uint8_t> cuts_{0};
  std::atomic<coll::leaders::StartBit> message_starts_{0};
  H comm_{};  // if hosts_ are known
  CallKinds kinds_{0};
  Questions<H> questions_;
  Tags tags_;
  Memberships memberships_;
  // Communicators, by any links.
  static inline std::atomic<std::uint64_t> named_{0};
};

}  // namespace tutti::mpi
