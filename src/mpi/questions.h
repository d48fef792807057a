// SPDX-License-Identifier: BSD-3-Clause
// Who waits for long for a rank of another node asks it: are you in this call? All members of a
// communicator number their calls alike, so one that has made another call of that number will
// never meet the others in it, and answers. One that has not come so far is late, and answers when
// it comes to another one.
//
// A rank looks for questions about all of its communicators, as it may have gone on to another one:
// whenever it looks after the MPI (mpi/looks.h), and while it waits for requests (mpi/requests.h).
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "mpi/native.h"
#include "os/occasion.h"

namespace tutti::mpi {

// The last calls of one communicator: its blocking collectives, or its nonblocking ones. One thread
// at a time adds calls, any thread reads them.
class CallLog {
 public:
  // `name` is the communicator's.
  CallLog(std::uint64_t name, bool blocking) : name_(name), blocking_(blocking) {}

  // Never 0: what tells this call from others.
  void add(std::uint64_t call) {
    if (calls_ == nullptr) calls_ = std::make_unique<Calls>();
    const std::uint64_t number = number_.load(std::memory_order_relaxed) + 1;
    // Who reads this one in the place of an older one sees the number before it as the last, too.
    (*calls_)[number % kept].store(call, std::memory_order_release);
    number_.store(number, std::memory_order_release);
  }
  // Of the last call; 0: there was none.
  [[nodiscard]] std::uint64_t number() const { return number_.load(std::memory_order_acquire); }
  // What this call was; 0: it has not been made, or nobody knows any more.
  [[nodiscard]] std::uint64_t call(std::uint64_t number) const {
    const auto knows = [&] {
      const std::uint64_t last = this->number();
      // The place of the next call may be written to now.
      return number != 0 && number <= last && number + kept > last + 1;
    };
    if (!knows()) return 0;
    const std::uint64_t call = (*calls_)[number % kept].load(std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_acquire);
    return knows() ? call : 0;
  }
  [[nodiscard]] bool is(std::uint64_t name, bool blocking) const {
    return name == name_ && blocking == blocking_;
  }
  [[nodiscard]] std::uint64_t name() const { return name_; }
  [[nodiscard]] bool blocking() const { return blocking_; }

 private:
  static constexpr std::size_t kept = 256;
  using Calls = std::array<std::atomic<std::uint64_t>, kept>;

  std::uint64_t name_;
  bool blocking_;
  std::atomic<std::uint64_t> number_{0};
  std::unique_ptr<Calls> calls_;
};

template <class H>
class Questions {
 public:
  // What a rank has called that is not in the last call of this one.
  struct Answer {
    int rank;
    std::uint64_t theirs, mine;
  };

  explicit Questions(const Native<H>& native) : native_(native) {}
  ~Questions();
  Questions(const Questions&) = delete;
  Questions& operator=(const Questions&) = delete;

  // Before the first question: they go over this communicator, by this tag.
  void open(H comm, int tag);
  // Receives questions and answers that have come, and answers, once a second, of all that are
  // open. Calls the MPI.
  static void look_now_and_then();
  // The same a last time: of messages that nobody has received UCX says so at the end.
  void close();
  void add(const CallLog& log);
  void remove(const CallLog& log);

  // Asks a rank about the last call; calls the MPI.
  void ask(int rank, const CallLog& log);
  // As look_now_and_then(), but now.
  void look();
  // What has come of a question about the last call.
  [[nodiscard]] std::optional<Answer> answer(const CallLog& log);

 private:
  // A question, or an answer. The call is the sender's own.
  struct Message {
    std::uint64_t name, number, call;
    std::uint32_t blocking, answers;
  };
  struct Sent {
    H request{};
    std::unique_ptr<Message> message;
  };
  struct Heard {
    int rank;
    Message message;
  };
  // A communicator that is no more, and its last call.
  struct Ended {
    std::uint64_t name, number, call;
    bool blocking;
  };
  // The last ones are kept, of each so many. (Questions of more ranks about a call that is not made
  // yet have the same answer.)
  static constexpr std::size_t most_heard = 1024, most_answers = 64, most_ended = 64;

  void send(int rank, const Message& message);
  void forget_sent();
  [[nodiscard]] std::optional<Heard> receive();
  void keep(const Heard& heard);
  [[nodiscard]] const CallLog* log_of(const Message& message) const;
  // What a call was of a communicator that is no more; 0: nobody knows.
  [[nodiscard]] std::uint64_t ended_call(const Message& message) const;
  // Forgets the questions about which there is nothing more to do. Returns what is to be answered.
  [[nodiscard]] std::vector<Heard> settle();

  static inline os::Occasion looking_{1000};
  static inline std::mutex opening_;
  // That are open; under opening_. It stays, as the program's own destructors may call the MPI.
  [[nodiscard]] static std::vector<Questions*>& all() {
    static auto* const value = new std::vector<Questions*>;
    return *value;
  }
  static inline std::atomic<bool> any_is_open_{false};

  const Native<H>& native_;
  H comm_{};
  int tag_ = 0;
  std::mutex talking_;  // calls of the MPI, and the following
  std::deque<Sent> sent_;
  // The following. Not held in calls of the MPI: in any of them it may delete a communicator, of
  // which remove() is to hear.
  std::mutex mutex_;
  std::vector<const CallLog*> logs_;
  std::deque<Ended> ended_;
  std::deque<Heard> heard_, answers_;
};

}  // namespace tutti::mpi
