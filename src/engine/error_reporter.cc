// SPDX-License-Identifier: BSD-3-Clause
#include "engine/error_reporter.h"

#include <array>
#include <cctype>
#include <cstdio>
#include <cstring>

#include "base/base.h"
#include "engine/account.h"
#include "engine/call_signature.h"

namespace tutti::engine {
namespace {

// So long a mix-up must last to be believed. Ranks that only call the same in another order are
// mostly less late.
constexpr std::chrono::seconds believed_after{1};
constexpr std::chrono::seconds believed_though_met_after{60};

// "MPI_Allreduce (MPI_SUM) of 8 bytes". 0: some call, not known which.
std::array<char, 96> describe(bool blocking, std::uint64_t word) {
  std::array<char, 96> text;
  int length = 0;
  const auto end = [&] { return text.data() + length; };
  const auto rest = [&] { return text.size() - static_cast<std::size_t>(length); };
  if (word == 0) {
    std::snprintf(end(), rest(), "%s", blocking ? "a blocking collective" : "a nonblocking one");
    return text;
  }
  const CallSignature call = CallSignature::decode(word);
  length = std::snprintf(end(), rest(), "MPI_%s",
                         name_of_kind(kind_of(call.collective, blocking)).data());
  if (coll::is_rooted(call.collective))
    length += std::snprintf(end(), rest(), ", root %d", call.root);
  if (call.op == coll::user_op) {
    length += std::snprintf(end(), rest(), " (an operation of the user)");
  } else if (call.op > 0) {
    char op[16];
    std::snprintf(op, sizeof op, "%s", reduce::name_of(static_cast<reduce::Op>(call.op - 1)));
    for (char* c = op; *c != '\0'; ++c) *c = static_cast<char>(std::toupper(*c));
    length += std::snprintf(end(), rest(), " (MPI_%s)", op);
  }
  if (call.bytes > 0)
    std::snprintf(end(), rest(), " of %llu bytes", static_cast<unsigned long long>(call.bytes));
  return text;
}

// Whether `peer`'s call is the same as mine but for its size, and sends me more than I have room
// for.
bool sends_too_much(std::uint64_t theirs, std::uint64_t mine, int peer, int rank) {
  const CallSignature call = CallSignature::decode(mine);
  CallSignature sent = CallSignature::decode(theirs);
  if (theirs == 0 || computes(call.collective) || sent.bytes <= call.bytes) return false;
  sent.bytes = call.bytes;
  if (sent.encode() != call.encode()) return false;
  switch (root_of(call.collective)) {
    case Root::sends:
      return peer == call.root;
    case Root::receives:
      return rank == call.root;
    case Root::none:
      return true;
  }
  return false;
}

}  // namespace

bool only_sends(coll::Collective collective, int rank, int root) {
  if (computes(collective)) return false;
  if (root_of(collective) == Root::receives) return rank != root;
  return collective == coll::Collective::bcast && rank == root;
}

int ErrorReporter::world_rank(int member) const {
  return node_.member(members_[static_cast<std::size_t>(member)]).rank;
}

int ErrorReporter::rank_of(int member) const {
  if (map_ == nullptr) return member;
  return map_->members(map_->node())[static_cast<std::size_t>(member)];
}

int ErrorReporter::size() const {
  return map_ == nullptr ? static_cast<int>(members_.size()) : map_->size();
}

bool ErrorReporter::find_mixup() {
  const Desks desks = desks_.first(members_.size());
  const auto mixup = blocking_
                         ? find_mixup_in_call(desks, rank_, first_step_(fabric_), call_(fabric_))
                         : find_mixup_in_wait(desks, rank_);
  if (!mixup) {
    suspicion_.reset();
    return false;
  }
  const auto now = std::chrono::steady_clock::now();
  if (!suspicion_ || !suspicion_->same_as(*mixup)) {
    suspicion_ = mixup;
    suspected_ = now;
  }
  if (now - suspected_ < (mixup->met ? believed_though_met_after : believed_after)) return false;
  error_code_ = ErrorCode::mismatched;
  log::fatal(
      "the ranks of a communicator of %d ranks called different things: rank %d %s, rank %d %s; "
      "blocking and nonblocking collectives do not match",
      size(), world_rank(mixup->starter), describe(false, mixup->started).data(),
      world_rank(mixup->blocker), describe(true, mixup->blocking).data());
  // The error concerns both kinds of collectives, so both desks say so. Each member that waits in
  // either kind, this rank included, looks at one of them.
  for (std::size_t i = static_cast<std::size_t>(rank_); i < desks_.size(); i += members_.size())
    desks_[i]->fail(segment::Ending::broken);
  return is_mixup_ = true;
}

void ErrorReporter::tell_mismatch(int peer, std::uint64_t theirs) {
  const std::uint64_t mine = call_(fabric_);
  const CallSignature call = CallSignature::decode(mine);
  const int sender = rank_of(peer), receiver = rank_of(rank_);
  if (only_sends(call.collective, receiver, call.root) &&
      sends_too_much(mine, theirs, receiver, sender)) {
    error_code_ = ErrorCode::unasked;
    return;
  }
  const bool truncated = sends_too_much(theirs, mine, sender, receiver);
  error_code_ = truncated ? ErrorCode::truncated : ErrorCode::mismatched;
  log::fatal(
      "the ranks of a communicator of %d ranks called different things: rank %d %s, rank %d %s",
      size(), world_rank(peer), describe(blocking_, theirs).data(), world_rank(rank_),
      describe(blocking_, mine).data());
}

void ErrorReporter::tell_mismatch_across(int rank, std::uint64_t theirs, std::uint64_t mine) {
  error_code_ = ErrorCode::mismatched;
  log::fatal(
      "the ranks of a communicator of %d ranks called different things: its rank %d %s, its rank "
      "%d %s",
      size(), rank, describe(blocking_, theirs).data(), rank_of(rank_),
      describe(blocking_, mine).data());
}

std::array<char, 96> ErrorReporter::my_call() const { return describe(blocking_, call_(fabric_)); }

// What a member has called from `step` on.
std::uint64_t ErrorReporter::call_of(int peer, fabric::Step step) const {
  const std::size_t first = blocking_ ? 0 : members_.size();
  return call_after(*desks_[first + static_cast<std::size_t>(peer)], step - 1);
}

// Another member has met an error. It may be one that sends me too much and has seen it first.
void ErrorReporter::hear() {
  for (int peer = 0; peer < static_cast<int>(members_.size()); ++peer) {
    const std::uint64_t theirs = call_of(peer, first_step_(fabric_));
    if (sends_too_much(theirs, call_(fabric_), rank_of(peer), rank_of(rank_)))
      return tell_mismatch(peer, theirs);
  }
  error_code_ = ErrorCode::peer_error;
}

void ErrorReporter::tell_lost(int peer) {
  error_code_ = ErrorCode::lost;
  log::fatal(
      "rank %d (process %d) ended while rank %d was waiting for it in %s on a communicator of %d "
      "ranks, step %llu",
      world_rank(peer), node_.member(members_[static_cast<std::size_t>(peer)]).pid,
      world_rank(rank_), my_call().data(), size(),
      static_cast<unsigned long long>(last_step_(fabric_)));
}

void ErrorReporter::tell_astray(int peer, fabric::Step step) {
  tell_mismatch(peer, call_of(peer, step));
}

void ErrorReporter::tell_truncation(int peer, std::size_t sent, std::size_t room) {
  error_code_ = ErrorCode::truncated;
  log::fatal(
      "rank %d sends %zu bytes to rank %d in %s on a communicator of %d ranks, which has room for "
      "%zu",
      world_rank(peer), sent, world_rank(rank_), my_call().data(), size(), room);
}

void ErrorReporter::tell_truncation_across(int rank, std::size_t sent, std::size_t room) {
  error_code_ = ErrorCode::truncated;
  log::fatal(
      "on a communicator of %d ranks its rank %d sends %zu bytes to its rank %d in %s, which has "
      "room for %zu",
      size(), rank, sent, rank_of(rank_), my_call().data(), room);
}

void ErrorReporter::tell_unreachable(int peer, const Status& status) {
  error_code_ = ErrorCode::unreachable;
  log::fatal(
      "rank %d could not reach the buffer of rank %d in %s: %s: %s; is it valid memory? "
      "TUTTI_MEMORY=commons,bounce does without the kernel's copy",
      world_rank(rank_), world_rank(peer), my_call().data(), status.what,
      strerrordesc_np(status.error));
}

void ErrorReporter::tell_messages_lost() {
  error_code_ = ErrorCode::lost;
  log::fatal(
      "rank %d, in %s on a communicator of %d ranks, lost its messages to other nodes, or they "
      "were of another length: have their ranks ended, or called something else?",
      world_rank(rank_), my_call().data(), size());
}

bool ErrorReporter::is_called_off() const { return is_called_off_ != nullptr && is_called_off_(); }

bool ErrorReporter::find_stray() {
  if (find_stray_ == nullptr) return false;
  const auto stray = find_stray_();
  if (stray) tell_mismatch_across(stray->member, stray->theirs, stray->mine);
  return stray.has_value();
}

fabric::Emergencies ErrorReporter::emergencies() {
  using R = ErrorReporter;
  return {
      .context = this,
      .peer_lost = call_on<&R::tell_lost>,
      .mismatch = [](void* context, int peer, std::uint64_t theirs,
                     std::uint64_t) { call_on<&R::tell_mismatch>(context, peer, theirs); },
      .astray = call_on<&R::tell_astray>,
      .truncation = call_on<&R::tell_truncation>,
      .unreachable = call_on<&R::tell_unreachable>,
      .peer_error = [](void* context, int) { call_on<&R::hear>(context); },
      .mixed_up = call_on<&R::find_mixup>,
      .mismatch_across = call_on<&R::tell_mismatch_across>,
      .truncation_across = call_on<&R::tell_truncation_across>,
      .called_off = call_on<&R::is_called_off>,
      .strayed = call_on<&R::find_stray>,
      .messages_lost = call_on<&R::tell_messages_lost>,
  };
}

}  // namespace tutti::engine
