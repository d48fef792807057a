// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/links.h"

#include <sched.h>

#include <algorithm>
#include <bit>
#include <ranges>

#include "base/base.h"
#include "mpi/handles.h"
#include "mpi/said.h"
#include "mpi/world.h"

namespace tutti::mpi {

bool Tags::begin_choice(std::uint64_t name, Mask& taken) {
  const std::lock_guard lock(mutex_);
  if (std::ranges::find(waiting_, name) == waiting_.end()) waiting_.push_back(name);
  taken.fill(~std::uint64_t{0});
  if (choosing_ || *std::ranges::min_element(waiting_) != name) return false;
  choosing_ = true;
  taken = taken_;
  return true;
}

void Tags::put_off_choice() {
  const std::lock_guard lock(mutex_);
  choosing_ = false;
}

void Tags::give_up_choice(std::uint64_t name, bool chooses) {
  const std::lock_guard lock(mutex_);
  if (chooses) choosing_ = false;
  std::erase(waiting_, name);
}

int Tags::end_choice(std::uint64_t name, const Mask& taken) {
  const std::lock_guard lock(mutex_);
  choosing_ = false;
  std::erase(waiting_, name);
  for (std::size_t i = 0; i < words; ++i) {
    if (taken[i] == ~std::uint64_t{0}) continue;
    const int bit = std::countr_one(taken[i]);
    taken_[i] |= std::uint64_t{1} << bit;
    return static_cast<int>(64 * i) + bit;
  }
  return -1;
}

void Tags::release(int tag) {
  const std::lock_guard lock(mutex_);
  taken_[static_cast<std::size_t>(tag) / 64] &= ~(std::uint64_t{1} << (tag % 64));
}

namespace {

// An empty message is received here. A longer one may come instead, as sizes do not match. Without
// room Intel MPI waits for ever then, and Open MPI writes where there is none. This has room for a
// piece of a pipeline.
std::byte g_surplus[limits::wire_piece_bytes];

}  // namespace

template <class H>
template <class Start>
bool TaggedMessages<H>::start(int member, std::size_t bytes, fabric::Whole whole, bool receives,
                              Start start) {
  if (abandoned_) return false;
  const std::size_t longest =
      std::min((whole == fabric::Whole::yes ? fabric::Cut{} : cut_).part_of(bytes),
               limits::longest_message_bytes);
  for (std::size_t begin = 0;;) {
    const std::size_t part = std::min(longest, bytes - begin);
    Part& started = parts_.emplace_back();
    started.member = member;
    if (start(begin, static_cast<int>(part), &started.request) != 0) {
      parts_.pop_back();
      return false;
    }
    if (receives) started.awaited = static_cast<std::int64_t>(part);
    begin += part;
    started.last = part < longest;
    if (started.last) return true;
  }
}

template <class H>
bool TaggedMessages<H>::send(int member, const void* from, std::size_t bytes, fabric::Whole whole) {
  const int to = rank_of(member);
  std::uint32_t& unreceived = unreceived_[member];
  return start(member, bytes, whole, false, [&](std::size_t begin, int count, H* request) {
    unreceived += static_cast<std::uint32_t>(count);
    const bool waits = whole == fabric::Whole::yes || unreceived > limits::unreceived_bytes;
    if (waits) unreceived = 0;
    return (waits ? native_.issend : native_.isend)(static_cast<const std::byte*>(from) + begin,
                                                    count, native_.byte, to, tag_of(kind_), comm_,
                                                    request);
  });
}

template <class H>
bool TaggedMessages<H>::receive(int member, void* to, std::size_t bytes, fabric::Whole whole) {
  const int from = rank_of(member);
  return start(member, bytes, whole, true, [&](std::size_t begin, int count, H* request) {
    std::byte* const at = count > 0 ? static_cast<std::byte*>(to) + begin : g_surplus;
    const int room = count > 0 ? count : static_cast<int>(sizeof g_surplus);
    return native_.irecv(at, room, native_.byte, from, tag_of(kind_), comm_, request);
  });
}

template <class H>
fabric::Messages::State TaggedMessages<H>::test_oldest() {
  const CoreKept<H> kept(native_);
  while (!parts_.empty()) {
    Part& oldest = parts_.front();
    int over = 0, count = 0;
    AnyStatus status;
    if (native_.test(&oldest.request, &over, &status) != 0) {
      take_oldest();
      return State::failed;
    }
    if (!over) return State::pending;
    if (oldest.awaited >= 0 &&
        (native_.get_count(&status, native_.byte, &count) != 0 || count != oldest.awaited))
      return State::failed;
    const bool last = oldest.last;
    take_oldest();
    if (last) return State::done;
  }
  return State::failed;
}

template <class H>
void TaggedMessages<H>::abandon() {
  abandoned_ = true;
  members_->spoil();
  for (Part& part : parts_) {
    if (part.request == native_.null_request) continue;
    if (part.awaited >= 0) native_.cancel(&part.request);
    native_.request_free(&part.request);
  }
  parts_.clear();
}

// The messages are never received.
template <class H>
void TaggedMessages<H>::call_off() {
  if (called_off_.exchange(true)) return;
  members_->spoil();
  int rank = 0;
  native_.comm_rank(comm_, &rank);
  for (const int other : members_->ranks()) {
    H request{};
    if (other == rank ||
        native_.isend(nullptr, 0, native_.byte, other, tag_of_errors_, comm_, &request) != 0)
      continue;
    native_.request_free(&request);
  }
}

template <class H>
bool TaggedMessages<H>::is_called_off() {
  if (!looking_.has_come()) return false;
  AnyStatus status;
  const Runs& ranks = members_->ranks();
  for (std::size_t looks = std::min(most_looks, ranks.size()); looks > 0; --looks) {
    next_look_ = (next_look_ + 1) % ranks.size();
    int flag = 0;
    if (native_.iprobe(ranks[next_look_], tag_of_errors_, comm_, &flag, &status) == 0 && flag != 0)
      return true;
  }
  return false;
}

template <class H>
std::optional<fabric::Messages::Stray> TaggedMessages<H>::find_stray() {
  if (abandoned_ || !comparing_.has_come()) return {};
  const std::uint64_t waits = parts_.empty() ? 0 : taken_ + 1;
  if (waits != 0 && waited_ == waits && asked_about_ != waits) {
    questions_.ask(rank_of(parts_.front().member), calls_);
    asked_about_ = waits;
  }
  waited_ = waits;
  const auto answer = questions_.answer(calls_);
  if (!answer) return {};
  const Runs& ranks = members_->ranks();
  const auto member = std::ranges::distance(ranks.begin(), std::ranges::find(ranks, answer->rank));
  return Stray{static_cast<int>(member), answer->theirs, answer->mine};
}

namespace {

template <class H>
std::int32_t largest_tag(const Native<H>& native, H comm) {
  const int* value = nullptr;
  int found = 0;
  const bool known =
      native.comm_get_attr(comm, key_of_largest_tag(native.family), &value, &found) == 0 &&
      found != 0;
  return known ? *value : 0;
}

// Collective over `comm`: what each of its ranks says; empty: the MPI failed.
template <class T, class H>
std::vector<T> all_say(const Native<H>& native, H comm, const T& mine) {
  int size = 0;
  native.comm_size(comm, &size);
  std::vector<T> said(static_cast<std::size_t>(size));
  if (native.small.allgather(&mine, sizeof mine, native.byte, said.data(), sizeof mine, native.byte,
                             comm) != 0)
    said.clear();
  return said;
}

}  // namespace

template <class H>
void SharedLinks<H>::open(H comm, int host, bool contested, bool shares_core, bool has_core,
                          const coll::leaders::Way& way, std::size_t longest_message,
                          const topology::Claim& claim) {
  const std::uint32_t facts =
      (native_.any_thread_may_call() ? 0 : Said::serialized) | (contested ? Said::contested : 0) |
      (shares_core ? Said::shares_core : 0) | (has_core ? 0 : Said::lacks_core) |
      (has_options(way, longest_message) ? Said::has_options : 0) |
      (host < 0 ? Said::unlinked : 0) | fact_of_tag(largest_tag(native_, comm));
  const auto said = all_say(native_, comm, Said{claim, facts});
  if (said.empty()) return;
  const Heard heard = hear(said);
  std::vector<topology::Claim> claims;
  claims.reserve(said.size());
  for (const Said& each : said) claims.push_back(each.claim);
  kinds_ = CallKinds(heard.largest_tag);
  shares_cores_ = topology::overclaimed(claims, claim.node);
  serialized_ = (heard.facts & Said::serialized) != 0;
  contested_ = (heard.facts & Said::contested) != 0;
  have_cores_ = (heard.facts & Said::lacks_core) == 0 && !topology::lack_free_cores(claims);
  some_share_cores_ = topology::overclaimed(claims) || (heard.facts & Said::shares_core) != 0;
  if (some_share_cores_) way_ = coll::leaders::on_shared_cores;
  if ((heard.facts & Said::has_options) != 0) {
    const SaidOptions mine{static_cast<std::int64_t>(way.packed_bytes),
                           static_cast<std::int64_t>(longest_message), way.leaders, way.forced};
    const auto options = all_say(native_, comm, mine);
    if (options.empty()) return;
    follow(options, way_, longest_message_);
  }
  if (!heard.has_two_hosts || native_.comm_dup(comm, &comm_) != 0) return;
  native_.comm_set_errhandler(comm_, native_.errors_return);
  questions_.open(comm_, CallKinds::tag_of_questions);
  hosts_ = Runs(said | std::views::transform(&Said::host));
}

template <class H>
void SharedLinks<H>::confirm_threads(H comm, bool runs) {
  std::uint64_t missing = runs ? 0 : 1;
  have_cores_ = either(comm, &missing, 1) && missing == 0;
}

template <class H>
void SharedLinks<H>::close() {
  if (hosts_.empty()) return;
  hosts_.clear();
  questions_.close();
  AnyStatus status;
  int left = 0;
  const Family family = native_.family;
  native_.iprobe(any_source(family), any_tag(family), comm_, &left, &status);
  if (left == 0 && !tags_.spoiled) native_.comm_free(&comm_);
}

template <class H>
Runs SharedLinks<H>::ranks(H comm, int size) const {
  H all{};
  if (native_.comm_group(comm_, &all) != 0) return {};
  Runs known(ranks_in(native_, all, comm, size));
  native_.group_free(&all);
  return known;
}

template <class H>
bool SharedLinks<H>::either(H comm, std::uint64_t* words, int count) {
  return native_.small.allreduce(native_.in_place, words, count, native_.uint64, native_.bor,
                                 comm) == 0;
}

namespace {

template <class Facts>
std::uint64_t bits_of(const Facts& facts) {
  return std::uint64_t{facts.devices} | std::uint64_t{facts.strict} << 1 |
         std::uint64_t{facts.rank_order} << 2 | std::uint64_t{facts.failed} << 3 |
         std::uint64_t{facts.computed} << 4 | std::uint64_t{facts.cuts} << 8 |
         std::uint64_t{facts.starts} << 16;
}
template <class Facts>
Facts facts_from(std::uint64_t bits) {
  const auto is = [bits](int bit) { return (bits >> bit & 1) != 0; };
  return {is(0),
          is(1),
          is(2),
          is(3),
          is(4),
          static_cast<std::uint8_t>(bits >> 8),
          static_cast<coll::leaders::StartBit>(bits >> 16)};
}
constexpr std::uint64_t busy = 128;  // a thread of the member agrees on the tag of another one

}  // namespace

template <class H>
bool SharedLinks<H>::agree(H comm, std::uint64_t name, Facts& facts, int& tag) {
  for (;;) {
    std::array<std::uint64_t, Tags::words + 1> words;
    Tags::Mask taken;
    const bool chooses = tags_.begin_choice(name, taken);
    std::ranges::copy(taken, words.begin());
    words.back() = bits_of(facts) | (chooses ? 0 : busy);
    if (!either(comm, words.data(), static_cast<int>(words.size()))) {
      tags_.give_up_choice(name, chooses);
      return false;
    }
    if ((words.back() & busy) == 0) {
      std::copy_n(words.begin(), Tags::words, taken.begin());
      tag = tags_.end_choice(name, taken);
      facts = facts_from<Facts>(words.back());
      return tag >= 0;
    }
    if (chooses) tags_.put_off_choice();
    ::sched_yield();
  }
}

template <class H>
bool SharedLinks<H>::agree(H comm, Facts& facts) {
  std::uint64_t word = bits_of(facts);
  if (!either(comm, &word, 1)) return false;
  facts = facts_from<Facts>(word);
  return true;
}

// Its first member counts what it has named.
template <class H>
bool SharedLinks<H>::agree(H comm, bool may, int world_rank, std::uint64_t& name) {
  int rank = 0;
  native_.comm_rank(comm, &rank);
  const auto first = static_cast<std::uint64_t>(world_rank);
  std::uint64_t words[] = {rank == 0 ? mix(mix(~std::uint64_t{0}, first), ++named_) : 0,
                           may ? std::uint64_t{0} : 1};
  const bool all_may = either(comm, words, 2) && words[1] == 0;
  name = all_may ? words[0] : 0;
  return name != 0;
}

template class TaggedMessages<int>;
template class TaggedMessages<void*>;
template class SharedLinks<int>;
template class SharedLinks<void*>;

}  // namespace tutti::mpi
