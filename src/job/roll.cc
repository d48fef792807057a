// SPDX-License-Identifier: BSD-3-Clause
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <iterator>

#include "base/base.h"
#include "job/job.h"
#include "os/program.h"

namespace tutti::job {
namespace {

// How long a launcher may wait for ranks that have not signed; all have, or never will. By the
// first ranks decide, by the second those that cannot look for a greeting after it. The third is
// for the sentence.
constexpr int deciding_s = 3, alone_s = 10, naming_s = 1;
// A launcher answers many questions one after the other.
constexpr std::size_t questions_per_s = 256;

}  // namespace

Signature Signature::mine() {
  char host[256] = "";
  if (::gethostname(host, sizeof host - 1) != 0 || *host == '\0') std::snprintf(host, 2, "?");
  return {protocol, host, ::getpid()};
}

Signature Signature::of(const std::string& text) {
  const std::size_t first = text.find(','), second = text.find(',', first + 1);
  if (first == std::string::npos || second == std::string::npos) return {};
  return {text.substr(0, first), text.substr(second + 1),
          std::atoi(text.c_str() + first + 1)};  // NOLINT(cert-err34-c): 0 is "not known"
}

std::string Signature::text() const { return tutti + "," + std::to_string(pid) + "," + host; }

void Roll::open() {
  const std::lock_guard lock(opening_);
  open_.fetch_add(1, std::memory_order_relaxed);
  if (launcher_ != nullptr) return;
  was_alone_ = os::is_only_thread();
  launcher_ = find_pmi();
  if (launcher_ != nullptr) sign();
}

void Roll::close() {
  const std::lock_guard lock(opening_);
  if (open_.fetch_sub(1, std::memory_order_relaxed) == 1 && threads_ == 0)
    threads_ = os::thread_count();
}

// Whether no thread but this may be in the MPI, which may have threads of its own.
bool Roll::is_alone() {
  const std::lock_guard lock(opening_);
  return was_alone_ && threads_ != 0 && os::thread_count() == threads_;
}

void Roll::pmix_begins(void* library, const void* process) {
  if (open_.load(std::memory_order_relaxed) == 0) return;  // somebody else's use of PMIx
  const std::lock_guard lock(opening_);
  launcher_ = make_pmix(library, process);
  if (launcher_ != nullptr) sign();
}

void Roll::sign() {
  state_ = launcher_->put(Signature::mine().text()) ? State::kept : State::closed;
}

Roll::State Roll::state(int world_rank) const {
  return state_ != State::none && launcher_->rank() == world_rank ? state_ : State::none;
}

bool Roll::read(std::span<const int> ranks, int patience_s, std::vector<Signature>& signatures) {
  std::vector<std::string> values;
  const int more_s = static_cast<int>(ranks.size() / questions_per_s);
  const bool answered = launcher_->get(ranks, patience_s + more_s, values);
  for (const std::string& value : values) signatures.push_back(Signature::of(value));
  return answered;
}

std::vector<bool> Roll::present(std::span<const int> ranks) { return ask(ranks, deciding_s); }

std::vector<bool> Roll::ask(std::span<const int> ranks, int patience_s) {
  std::vector<Signature> signatures;
  std::vector<bool> result(ranks.size(), false);
  if (!read(ranks, patience_s, signatures)) return result;
  const Signature mine = Signature::mine();
  for (std::size_t i = 0; i < ranks.size(); ++i) result[i] = signatures[i].matches(mine);
  return result;
}

std::string Roll::absentees(int world_rank, std::span<const int> ranks) {
  const Signature mine = Signature::mine();
  // Of a large job the first ranks first: usually one of them is there, and will say it.
  constexpr std::size_t most = 256;
  const auto first = ranks.first(std::min(most, ranks.size()));
  std::vector<Signature> signatures;
  for (const auto part : {first, ranks.subspan(first.size())}) {
    if (!read(part, naming_s, signatures)) return "some ranks run without Tutti";
    for (std::size_t i = 0; i < signatures.size(); ++i)
      if (ranks[i] < world_rank && signatures[i].matches(mine)) return "";
  }
  std::vector<Absentee> absent;
  std::vector<std::string> hosts(
      static_cast<std::size_t>(*std::max_element(ranks.begin(), ranks.end()) + 1));
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    const Signature& theirs = signatures[i];
    hosts[static_cast<std::size_t>(ranks[i])] = theirs.host;
    if (ranks[i] == world_rank || theirs.matches(mine)) continue;
    const bool none = theirs.host.empty();
    absent.push_back(
        {ranks[i], theirs.host, theirs.pid, none ? "" : "another version, " + theirs.tutti});
  }
  for (Absentee& each : absent)
    if (each.host.empty()) each.host = launcher_->host_of(each.rank, hosts);
  look_around(absent, launcher_->rank_variable());
  return absent.empty() ? "the launcher did not tell in time which ranks have Tutti"
                        : describe(absent, static_cast<int>(ranks.size()));
}

bool Roll::lacks(int world_rank, std::span<const int> ranks) {
  if (state(world_rank) != State::kept) return false;
  const std::lock_guard lock(lacking_);
  std::vector<int> unknown;
  std::copy_if(ranks.begin(), ranks.end(), std::back_inserter(unknown),
               [&](int rank) { return signed_.count(rank) == 0; });
  if (!unknown.empty()) {
    if (!launcher_->bears_threads() && !is_alone()) return false;
    const std::vector<bool> here = ask(unknown, alone_s);
    for (std::size_t i = 0; i < unknown.size(); ++i) signed_[unknown[i]] = here[i];
  }
  return std::any_of(ranks.begin(), ranks.end(), [&](int rank) { return !signed_[rank]; });
}

// A binomial tree. Where each host has 2^k ranks one behind the other, one edge leads to each host,
// and none is a connection that an Allgather of the MPI by recursive doubling does not need, too.
std::vector<int> neighbours_of(int rank, int size) {
  std::vector<int> ranks;
  if (rank > 0) ranks.push_back(rank & (rank - 1));
  for (std::int64_t bit = 1; (rank & bit) == 0 && rank + bit < size; bit *= 2)
    ranks.push_back(static_cast<int>(rank + bit));
  return ranks;
}

Roll& roll() {
  static auto* const value = new Roll;
  return *value;
}

}  // namespace tutti::job
