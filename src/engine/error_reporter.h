// SPDX-License-Identifier: BSD-3-Clause
// What is said on standard error when the members of a team cannot go on together, and how their
// collectives then end.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "engine/error_code.h"
#include "engine/mixup.h"
#include "engine/node.h"
#include "fabric/messages.h"
#include "fabric/node_map.h"
#include "fabric/peers.h"

namespace tutti::engine {

// Whether a member of a collective gets nothing from it.
[[nodiscard]] bool only_sends(coll::Collective collective, int rank, int root);

class ErrorReporter {
 public:
  // `members` are ranks in the node. `desks` are the team's: first those of blocking collectives,
  // then those of nonblocking ones. `fabric` is asked for its call (see engine/call_signature.h)
  // and its first and last step when there is something to say.
  template <class Fabric>
  ErrorReporter(const Node& node, const std::vector<int>& members,
                std::span<fabric::Desk* const> desks, int rank, bool blocking, const Fabric& fabric)
      : node_(node),
        members_(members),
        desks_(desks),
        rank_(rank),
        blocking_(blocking),
        fabric_(&fabric) {
    call_ = [](const void* asked) { return static_cast<const Fabric*>(asked)->call(); };
    first_step_ = [](const void* asked) { return static_cast<const Fabric*>(asked)->first_step(); };
    last_step_ = [](const void* asked) { return static_cast<const Fabric*>(asked)->last_step(); };
  }
  ErrorReporter(const ErrorReporter&) = delete;
  ErrorReporter& operator=(const ErrorReporter&) = delete;

  // Of a team of several nodes, whose members on this one are these; the map outlives this.
  // The others are as in fabric::Messages.
  void set_across(const fabric::NodeMap& map, std::function<bool()> is_called_off,
                  std::function<std::optional<fabric::Messages::Stray>()> find_stray) {
    map_ = &map;
    is_called_off_ = std::move(is_called_off);
    find_stray_ = std::move(find_stray);
  }

  // The error of a collective that has failed: what this member has said, or `peer_error`.
  [[nodiscard]] ErrorCode error_code() const {
    return error_code_ == ErrorCode::none ? ErrorCode::peer_error : error_code_;
  }
  [[nodiscard]] fabric::Emergencies emergencies();
  // Whether the error was one of find_mixup(), so that it concerns both kinds of collectives.
  [[nodiscard]] bool is_mixup() const { return is_mixup_; }

 private:
  [[nodiscard]] int world_rank(int member) const;
  [[nodiscard]] int rank_of(int member) const;  // in the communicator
  [[nodiscard]] int size() const;               // of it
  [[nodiscard]] bool find_mixup();
  [[nodiscard]] std::array<char, 96> my_call() const;  // in words
  [[nodiscard]] std::uint64_t call_of(int peer, fabric::Step step) const;
  void tell_lost(int peer);
  void tell_mismatch(int peer, std::uint64_t theirs);
  void tell_mismatch_across(int rank, std::uint64_t theirs, std::uint64_t mine);
  void tell_astray(int peer, fabric::Step step);
  void tell_truncation(int peer, std::size_t sent, std::size_t room);
  void tell_truncation_across(int rank, std::size_t sent, std::size_t room);
  void tell_unreachable(int peer, const Status& status);
  void tell_messages_lost();
  void hear();
  [[nodiscard]] bool is_called_off() const;
  [[nodiscard]] bool find_stray();
  // `context` is the reporter.
  template <auto function, class... Given>
  static auto call_on(void* context, Given... given) {
    return (static_cast<ErrorReporter*>(context)->*function)(given...);
  }

  const Node& node_;
  const std::vector<int>& members_;
  std::span<fabric::Desk* const> desks_;
  int rank_;
  bool blocking_;
  const fabric::NodeMap* map_ = nullptr;
  std::function<bool()> is_called_off_;  // whether a member on another node has met an error
  std::function<std::optional<fabric::Messages::Stray>()> find_stray_;
  const void* fabric_;
  std::uint64_t (*call_)(const void*);
  fabric::Step (*first_step_)(const void*);
  fabric::Step (*last_step_)(const void*);
  ErrorCode error_code_ = ErrorCode::none;
  bool is_mixup_ = false;
  std::optional<Mixup> suspicion_;
  std::chrono::steady_clock::time_point suspected_;
};

}  // namespace tutti::engine
