// SPDX-License-Identifier: BSD-3-Clause
// Nonblocking collectives and their requests, which are the MPI's generalized ones, so that they
// are good wherever a request is. Only a thread that is in a call of this file completes them: at
// MPI_THREAD_FUNNELED and below no other may. What kinds of requests there are: RequestKind.
#pragma once

#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "mpi/answers.h"
#include "mpi/datatypes.h"
#include "mpi/entries.h"
#include "mpi/questions.h"
#include "mpi/started.h"
#include "mpi/world.h"
#include "progress/progress.h"

namespace tutti::mpi {

template <class H>
class Requests {
 public:
  // There is one in a process.
  Requests(const Native<H>& native, Datatypes<H>& datatypes, const World<H>& world,
           Answers<H>& answers);

  // Puts in what completes requests or looks at them, and what frees what one may need still.
  static void add_entries(Entries& entries);

  // A call that is to give a request: to be prepared, and then begun or answered.
  [[nodiscard]] std::unique_ptr<Started<H>> make(Collective collective, H comm);
  // What MPI_Ix returns, or `left`. The team runs it; or it is over at once.
  [[nodiscard]] int begin(std::unique_ptr<Started<H>> started, void* request);
  [[nodiscard]] int answer(std::unique_ptr<Started<H>> started, void* request);

  // MPI_Wait, of any request.
  static int wait(void* request, void* status);
  // Waits for something else than requests. test(flag) says whether it has come; native() waits for
  // it where nothing of Tutti's is under way any more.
  template <class Test, class Native>
  int wait_for(Test test, Native native) {
    int there = 0;
    const int code = test(&there);
    return code != 0 || there != 0 ? code : drive_until({&native_.null_request, 1}, test, native);
  }

  // Brings forward what is under way, once.
  void look();
  // Waits for all that is under way. Requests that were freed may be so still.
  void drain();

 private:
  // What a call is to complete. Of one that may complete several, errors are told in the statuses:
  // one for each request, or for each of those that it lists.
  struct Wanted {
    const void* requests = nullptr;
    int count = 0;
    bool several = false;
    void* statuses = nullptr;
    const int* done = nullptr;  // how many it lists
    const int* indices = nullptr;
    const int* all_over = nullptr;  // of MPI_Testall: whether it has completed them

    // None if the arguments are wrong, which is the MPI's to say.
    [[nodiscard]] std::span<const H> handles() const {
      if (requests == nullptr || count < 0) return {};
      return {static_cast<const H*>(requests), static_cast<std::size_t>(count)};
    }
  };

  [[nodiscard]] int give(Started<H>& started, void* request);
  void reap();
  // `may_still_send`: after an error between nodes messages may be under way.
  void end(Started<H>& started, bool may_still_send = false);
  // The requests before the call, which the MPI forgets when they are over; if they will be asked
  // for.
  [[nodiscard]] std::vector<H> before(const Wanted& wanted) const;
  template <class Complete>
  int tell_failures(const Wanted& wanted, const std::vector<H>& before, Complete complete);
  int tell(const Wanted& wanted, const std::vector<H>& before, const Completed<H>& completed,
           int code);
  [[nodiscard]] bool all_ours(const Wanted& wanted);
  template <class Test, class Native>
  int wait_until(const Wanted& wanted, Test test, Native native);
  template <class Test, class Native>
  int drive_until(const Wanted& wanted, Test test, Native native);
  template <class Native>
  int look_with(Native native);  // completes nothing
  template <class Native>
  int test_with(const Wanted& wanted, Native native);
  int free_or_keep(typename Given<H>::Sort sort, int (*native)(H*), void* freed, H null);
  void set_unfinished(H request, void* status);
  int get_statuses(int count, const void* requests, void* statuses, int* done, int* indices,
                   int most);

  // What the MPI calls.
  static int on_query(void* started, void* status);
  static int on_free(void* started);
  static int on_cancel(void* started, int complete);

  // The entries, beside wait().
  static int op_free(void* op);
  static int type_free(void* type);
  static int test(void* request, int* flag, void* status);
  static int waitall(int count, void* requests, void* statuses);
  static int testall(int count, void* requests, int* flag, void* statuses);
  static int waitany(int count, void* requests, int* index, void* status);
  static int testany(int count, void* requests, int* index, int* flag, void* status);
  static int waitsome(int count, void* requests, int* done, int* indices, void* statuses);
  static int testsome(int count, void* requests, int* done, int* indices, void* statuses);
  static int request_get_status(Word request, int* flag, void* status);
  static int request_get_status_all(int count, const void* requests, int* flag, void* statuses);
  static int request_get_status_any(int count, const void* requests, int* index, int* flag,
                                    void* status);
  static int request_get_status_some(int count, const void* requests, int* done, int* indices,
                                     void* statuses);

  static constexpr int undefined = -32766;  // MPI_UNDEFINED, in all families
  static inline Requests* self_ = nullptr;

  const Native<H>& native_;
  Datatypes<H>& datatypes_;
  const World<H>& world_;
  Answers<H>& answers_;
  progress::Driver& driver_ = engine::driver();
  Given<H> given_;
};

// `test` sets its flag when there is nothing to wait for any more; `native` waits for the rest,
// once nothing of Tutti's is under way.
template <class H>
template <class Test, class Native>
int Requests<H>::drive_until(const Wanted& wanted, Test test, Native native) {
  constexpr int steps_per_test = 8;  // the MPI must go on, too
  if (driver_.outstanding() == 0) [[likely]]
    return native();
  const bool ours = all_ours(wanted);
  // What the MPI is through with waits for nobody, who may have to give the core away first.
  int over = 0;
  if (const int code = ours ? 0 : test(&over); code != 0 || over != 0) return code;
  const trace::Span span(trace::on(), trace::Kind::waiting, trace::wait, 0);
  if (driver_.steps_aside() && !driver_.has_finished() && ours) driver_.step_aside();
  {
    progress::Driver::Wait wait(driver_);
    while (driver_.outstanding() != 0) {
      if (wait.would_sleep())
        wait.step(all_ours(wanted));
      else
        for (int steps = 0; steps < steps_per_test && !driver_.has_finished(); ++steps)
          wait.step(false);
      reap();
      Questions<H>::look_now_and_then();
      int flag = 0;
      const int code = test(&flag);
      if (code != 0 || flag != 0) return code;
    }
  }
  return native();
}

}  // namespace tutti::mpi
