// SPDX-License-Identifier: BSD-3-Clause
// Messages as a library gives them that this process can call: the user's MPI, or the pipes of a
// test.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>

#include "base/collective.h"

namespace tutti::fabric {

// What a rank has sent.
struct Sent {
  std::uint64_t messages = 0, bytes = 0;
  void add(std::size_t length) {
    ++messages;
    bytes += length;
  }
  Sent& operator+=(const Sent& other) {
    messages += other.messages;
    bytes += other.bytes;
    return *this;
  }
};

// Messages of least_bytes to most_bytes go in parts of part_bytes, which is no more than
// least_bytes. Others go as one.
struct Cut {
  static constexpr std::size_t never = std::numeric_limits<std::size_t>::max();
  std::size_t part_bytes = never, least_bytes = never, most_bytes = never;

  // All parts of a message of `bytes` have so many, but the last one has fewer, if need be none. So
  // the parts of one length never begin those of another: where the length is not the one that is
  // awaited, a part's is not. For that a message as long as a part is cut, too.
  [[nodiscard]] constexpr std::size_t part_of(std::size_t bytes) const {
    const bool cuts = (bytes >= least_bytes && bytes <= most_bytes) || bytes == part_bytes;
    return cuts ? part_bytes : never;
  }
};

// Whether a message is not to go in parts, so that the library asks the receiver first if it is
// long, and is not done before it is received. Sender and receiver say the same.
enum class Whole : bool { no, yes };

class Messages {
 public:
  enum class State { pending, done, failed };

  Messages() = default;
  Messages(const Messages&) = delete;
  Messages& operator=(const Messages&) = delete;
  virtual ~Messages() = default;

  // They start a message to or from a member. The nth from a member is the nth that it has sent.
  // False: it could not be started.
  [[nodiscard]] virtual bool send(int member, const void* from, std::size_t bytes, Whole whole) = 0;
  [[nodiscard]] virtual bool receive(int member, void* to, std::size_t bytes, Whole whole) = 0;

  // What is sent and received from now on is of the next call: of this collective, root and
  // operation (0: none), and `call` tells it from others; the same on all members. A message is not
  // received in a call of another kind, as far as kinds are told apart.
  virtual void enter(Collective collective, int root, int op, std::uint64_t call) {
    (void)collective;
    (void)root;
    (void)op;
    (void)call;
  }
  // Of who has waited for seconds: whether a member has answered that it has made another call in
  // the place of this one.
  struct Stray {
    int member;
    std::uint64_t theirs, mine;
  };
  [[nodiscard]] virtual std::optional<Stray> find_stray() { return {}; }

  // The same on all members, before the first message, or when those that were started are done.
  // Where that matters.
  virtual void cut(const Cut& cut) { (void)cut; }
  // Brings all messages forward, and says of the oldest one that has not been said to be done how
  // it stands. `failed`: it cannot be done, or was not as long as what was to be received.
  [[nodiscard]] virtual State test_oldest() = 0;
  // Gives up those that are not done. Nothing is started after that.
  virtual void abandon() = 0;
  // Tells all members that nobody can go on. Any thread may call this.
  virtual void call_off() = 0;
  // Whether another member has. It may take a while until that is known.
  [[nodiscard]] virtual bool is_called_off() = 0;
};

}  // namespace tutti::fabric
