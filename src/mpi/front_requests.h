// SPDX-License-Identifier: BSD-3-Clause
// Front: nonblocking collectives and their requests, which are the MPI's generalized ones, so that
// they are good wherever a request is. Only a thread that is in a call of this file completes them:
// at MPI_THREAD_FUNNELED and below no other may.
#pragma once

#include <memory>

#include "mpi/front.h"

namespace tutti::mpi {

template <class H>
template <class Prepare>
int Front<H>::enter(H comm, Prepare prepare, void* request) {
  auto started = std::make_unique<Started<H>>(native_, layouts_, comm, world_);
  Call<H>& call = started->call;
  if (!prepare(call)) return left;
  if (native_.grequest_start(on_query, on_free, on_cancel, started.get(), &started->request) != 0)
    return left;
  std::memcpy(request, &started->request, sizeof started->request);
  started->collective = call.collective;
  started->work = call.work;
  call.team->start(*started.release());  // on_free() has it now
  return 0;
}

template <class H>
int Front<H>::on_query(void*, void* status) {
  self_->native_.status_set_elements(status, self_->byte_, 0);
  self_->native_.status_set_cancelled(status, 0);
  return 0;
}

template <class H>
int Front<H>::on_free(void* started) {
  delete static_cast<Started<H>*>(started);
  return 0;
}

// A collective cannot be cancelled.
template <class H>
int Front<H>::on_cancel(void*, int) {
  return 0;
}

// Completes what has finished.
template <class H>
void Front<H>::reap() {
  progress::Queue finished = engine::driver().finished();
  while (progress::Operation* operation = finished.pop()) {
    auto& started = static_cast<Started<H>&>(*operation);
    const bool has_comm = !started.call.team->disbanded();
    const engine::Trouble trouble = engine::Team::finish(started);
    if (trouble == engine::Trouble::none)
      started.call.in.unpack();
    else
      self_->native_.comm_call_errhandler(has_comm ? started.call.comm : self_->world_,
                                          self_->code_of(trouble));
    started.keeper.release();
    self_->native_.grequest_complete(started.request);  // which may be the end of it
  }
}

// `test` sets its flag when there is nothing to wait for any more; `native` waits for the rest,
// once nothing of Tutti's is under way.
template <class H>
template <class Test, class Native>
int Front<H>::wait_until(Test test, Native native) {
  constexpr int steps_per_test = 8;  // the MPI must go on, too
  progress::Driver& driver = engine::driver();
  const trace::Span span(trace::on() && driver.outstanding() != 0, trace::Kind::waiting,
                         trace::wait, 0);
  {
    progress::Driver::Wait wait(driver);
    while (driver.outstanding() != 0) {
      reap();
      int flag = 0;
      if (const int code = test(&flag); code != 0 || flag != 0) return code;
      for (int steps = 0; steps < steps_per_test && !driver.has_finished(); ++steps) wait.step();
    }
  }
  return native();
}

template <class H>
template <class Native>
int Front<H>::test_with(Native native) {
  progress::Driver& driver = engine::driver();
  const trace::Span span(trace::on() && driver.outstanding() != 0, trace::Kind::waiting,
                         trace::test, 0);
  if (driver.outstanding() != 0) {
    driver.drive();
    reap();
  }
  return native();
}

template <class H>
int Front<H>::wait(void* request, void* status) {
  const Native<H>& native = self_->native_;
  return wait_until([&](int* flag) { return native.test(request, flag, status); },
                    [&] { return native.wait(request, status); });
}

template <class H>
int Front<H>::waitall(int count, void* requests, void* statuses) {
  const Native<H>& native = self_->native_;
  return wait_until([&](int* flag) { return native.testall(count, requests, flag, statuses); },
                    [&] { return native.waitall(count, requests, statuses); });
}

template <class H>
int Front<H>::waitany(int count, void* requests, int* index, void* status) {
  const Native<H>& native = self_->native_;
  return wait_until([&](int* flag) { return native.testany(count, requests, index, flag, status); },
                    [&] { return native.waitany(count, requests, index, status); });
}

template <class H>
int Front<H>::waitsome(int count, void* requests, int* done, int* indices, void* statuses) {
  const Native<H>& native = self_->native_;
  const auto test = [&](int* flag) {
    const int code = native.testsome(count, requests, done, indices, statuses);
    *flag = *done != 0;  // MPI_UNDEFINED when there is nothing to wait for
    return code;
  };
  return wait_until(test,
                    [&] { return native.waitsome(count, requests, done, indices, statuses); });
}

template <class H>
int Front<H>::test(void* request, int* flag, void* status) {
  return test_with([&] { return self_->native_.test(request, flag, status); });
}

template <class H>
int Front<H>::testall(int count, void* requests, int* flag, void* statuses) {
  return test_with([&] { return self_->native_.testall(count, requests, flag, statuses); });
}

template <class H>
int Front<H>::testany(int count, void* requests, int* index, int* flag, void* status) {
  return test_with([&] { return self_->native_.testany(count, requests, index, flag, status); });
}

template <class H>
int Front<H>::testsome(int count, void* requests, int* done, int* indices, void* statuses) {
  return test_with(
      [&] { return self_->native_.testsome(count, requests, done, indices, statuses); });
}

template <class H>
int Front<H>::request_get_status(Word request, int* flag, void* status) {
  return test_with(
      [&] { return self_->native_.request_get_status(handle(request), flag, status); });
}

}  // namespace tutti::mpi
