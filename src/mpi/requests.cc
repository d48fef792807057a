// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/requests.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "mpi/piecemeal.h"
#include "progress/rounding.h"

namespace tutti::mpi {

template <class H>
Requests<H>::Requests(const Native<H>& native, Datatypes<H>& datatypes, const World<H>& world,
                      Answers<H>& answers)
    : native_(native), datatypes_(datatypes), world_(world), answers_(answers) {
  self_ = this;
}

template <class H>
void Requests<H>::add_entries(Entries& entries) {
  static_cast<Completing<Word>&>(entries) = {wait,
                                             test,
                                             waitall,
                                             testall,
                                             waitany,
                                             testany,
                                             waitsome,
                                             testsome,
                                             request_get_status,
                                             request_get_status_all,
                                             request_get_status_any,
                                             request_get_status_some};
  entries.op_free = op_free;
  entries.type_free = type_free;
}

template <class H>
std::unique_ptr<Started<H>> Requests<H>::make(Collective collective, H comm) {
  return std::make_unique<Started<H>>(native_, datatypes_.layouts(), collective, comm,
                                      world_.packs_on());
}

template <class H>
int Requests<H>::begin(std::unique_ptr<Started<H>> started, void* request) {
  Call<H>& call = started->call;
  engine::Team* const team = call.team;  // the call may be over before start() is
  if (const auto error_code = team->may_start(call.collective, call.work);
      error_code != engine::ErrorCode::none) [[unlikely]] {
    // It may be waited for all the same.
    std::memcpy(request, &native_.null_request, sizeof native_.null_request);
    return answers_.fail(call, error_code);
  }
  // The others may have begun: there is no way back to the MPI.
  if (const int code = give(*started, request); code != 0) {
    team->end_start();
    tell_error(native_, call.site.comm, code);
    return code;
  }
  started->collective = call.collective;
  started->work = call.work;
  if (call.reduction != nullptr) {
    started->bind = UserOperation<H>::bind;
    started->bound = &call.reduction->operation;
  }
  given_.add(*started);
  if (team->spans_nodes()) g_messages_under_way.fetch_add(1, std::memory_order_relaxed);
  team->start(*started.release());
  team->end_start();
  return 0;
}

// With a request that is complete.
template <class H>
int Requests<H>::answer(std::unique_ptr<Started<H>> started, void* request) {
  Call<H>& call = started->call;
  if (const int code = answers_.answer(call); code != 0) return code;
  if (const int code = give(*started, request); code != 0) {
    tell_error(native_, call.site.comm, code);
    return code;
  }
  given_.add(*started);
  end(*started.release());
  return 0;
}

// What the program has of it. Not 0: an error of the MPI's.
template <class H>
int Requests<H>::give(Started<H>& started, void* request) {
  int code = 0;
  switch (started.kind) {
    case RequestKind::nonblocking:
      code = native_.grequest_start(on_query, on_free, on_cancel, &started, &started.request);
  }
  if (code == 0) std::memcpy(request, &started.request, sizeof started.request);
  return code;
}

// Waits for nothing of the MPI's.
template <class H>
void Requests<H>::drain() {
  wait_until(
      {}, [](int*) { return 0; }, [] { return 0; });
}

// When the request is completed, or its status asked for.
template <class H>
int Requests<H>::on_query(void* started, void* status) {
  Completed<H>::keep(*static_cast<Started<H>*>(started));
  self_->native_.status_set_elements(status, self_->native_.byte, 0);
  self_->native_.status_set_cancelled(status, 0);
  return 0;
}

// When the MPI needs it no more: by the thread that has completed the request or the collective; in
// some MPIs, as soon as the program frees it.
template <class H>
int Requests<H>::on_free(void* started) {
  Started<H>::release(static_cast<Started<H>*>(started));
  return 0;
}

// A collective cannot be cancelled.
template <class H>
int Requests<H>::on_cancel(void*, int) {
  return 0;
}

// Completes what has finished.
template <class H>
void Requests<H>::reap() {
  progress::OperationList finished = driver_.finished();
  while (progress::Operation* operation = finished.pop()) {
    auto* started = static_cast<Started<H>*>(operation);
    const bool across = started->call.team->spans_nodes();
    if (across) g_messages_under_way.fetch_sub(1, std::memory_order_relaxed);
    const engine::ErrorCode error_code = engine::Team::finish(*started);  // the team may be gone
    const bool failed = error_code != engine::ErrorCode::none;
    if (!failed) [[likely]] {
      const progress::Rounding rounding(started->float_control);
      started->call.conclude(started->work);
    } else {
      started->error_code.store(error_code, std::memory_order_relaxed);
    }
    end(*started, failed && across);
    driver_.completed();
    fabric::Upkeep::skip_look();  // the MPI's own would have looked
  }
}

template <class H>
void Requests<H>::end(Started<H>& started, bool may_still_send) {
  started.keeper.release();
  given_.remove(started, [this](const auto& freed) {
    H handle = freed.handle;
    (freed.sort == Given<H>::Sort::type ? native_.type_free : native_.op_free)(&handle);
  });
  if (may_still_send) started.call.abandon();
  switch (started.kind) {
    case RequestKind::nonblocking:
      native_.grequest_complete(started.request);
      Started<H>::release(&started);
  }
}

template <class H>
int Requests<H>::op_free(void* op) {
  return self_->free_or_keep(Given<H>::Sort::operation, self_->native_.op_free, op,
                             self_->native_.null_op);
}

template <class H>
int Requests<H>::type_free(void* type) {
  const bool own =
      type != nullptr && self_->datatypes_.predefined().slot_of(*static_cast<H*>(type)) == nullptr;
  if (!own) return self_->native_.type_free(static_cast<H*>(type));
  return self_->free_or_keep(Given<H>::Sort::type, self_->native_.type_free, type,
                             self_->native_.null_type);
}

template <class H>
int Requests<H>::free_or_keep(typename Given<H>::Sort sort, int (*native)(H*), void* freed,
                              H null) {
  auto* const place = static_cast<H*>(freed);
  if (place == nullptr || !given_.frees_later({*place, sort})) return native(place);
  *place = null;
  return 0;
}

template <class H>
std::vector<H> Requests<H>::before(const Wanted& wanted) const {
  if (!wanted.several || status_layout(native_.family).ignores(wanted.statuses)) return {};
  const std::span<const H> handles = wanted.handles();
  return {handles.begin(), handles.end()};
}

// A generalized request has no communicator, so the MPI would take an error of it to another
// handler: it is told here, by the function that has completed the request.
template <class H>
template <class Complete>
int Requests<H>::tell_failures(const Wanted& wanted, const std::vector<H>& before,
                               Complete complete) {
  const Completed<H> completed;
  const int code = complete();
  // MPICH asks what became of one that is over, though it does not complete it.
  const bool none = wanted.all_over != nullptr && *wanted.all_over == 0 && code == 0;
  return none || completed.failed() == nullptr ? code : tell(wanted, before, completed, code);
}

template <class H>
int Requests<H>::tell(const Wanted& wanted, const std::vector<H>& before,
                      const Completed<H>& completed, int code) {
  const StatusLayout layout = status_layout(native_.family);
  const int statuses = before.empty() ? 0 : wanted.done != nullptr ? *wanted.done : wanted.count;
  for (int i = 0; i < statuses; ++i) {
    const auto at = static_cast<std::size_t>(wanted.indices != nullptr ? wanted.indices[i] : i);
    const Started<H>* failed = completed.failed(before[at]);
    if (failed == nullptr && code != 0) continue;  // the MPI has said
    layout.set_error(layout.at(wanted.statuses, static_cast<std::size_t>(i)),
                     failed != nullptr ? answers_.code_of(*failed) : 0);
  }
  const Started<H>& failed = *completed.failed();
  const int told =
      wanted.several ? error_classes(native_.family).in_status : answers_.code_of(failed);
  // Of a communicator that is gone: to the world, if there is one.
  const bool gone = failed.call.team->disbanded();
  if (!gone || world_.has_world())
    tell_error(native_, gone ? native_.world : failed.call.site.comm, told);
  return told;
}

// While one waits for these alone, nothing is missed by sleeping until Tutti has done something.
template <class H>
bool Requests<H>::all_ours(const Wanted& wanted) {
  constexpr int most = 16;  // to be looked for among many
  if (wanted.count > most) return false;
  const std::span<const H> handles = wanted.handles();
  return std::all_of(handles.begin(), handles.end(),
                     [this](H request) { return given_.holds(request); });
}

template <class H>
template <class Test, class Native>
int Requests<H>::wait_until(const Wanted& wanted, Test test, Native native) {
  return tell_failures(wanted, before(wanted), [&] { return drive_until(wanted, test, native); });
}

template <class H>
template <class Native>
int Requests<H>::look_with(Native native) {
  look();
  return native();
}

template <class H>
void Requests<H>::look() {
  if (driver_.outstanding() == 0) [[likely]]
    return;
  const trace::Span span(trace::on(), trace::Kind::waiting, trace::test, 0);
  driver_.drive();
  reap();
}

template <class H>
template <class Native>
int Requests<H>::test_with(const Wanted& wanted, Native native) {
  return look_with([&] { return tell_failures(wanted, before(wanted), native); });
}

template <class H>
int Requests<H>::wait(void* request, void* status) {
  const Native<H>& native = self_->native_;
  return self_->wait_until(
      {request, 1}, [&](int* flag) { return native.test(request, flag, status); },
      [&] { return native.wait(request, status); });
}

// MPI_Testall would do to ask again and again, but where MPI_Waitall is right, it may not be:
// MPICH's fails of persistent collectives, and one of Open MPI's fails of every success.
template <class H>
int Requests<H>::waitall(int count, void* requests, void* statuses) {
  const Native<H>& native = self_->native_;
  const Wanted wanted{requests, count, true, statuses};
  Piecemeal over(status_layout(self_->native_.family), statuses, count);
  const auto wait_for_rest = [&] {
    const int code = native.waitall(count, requests, statuses);
    over.put([](std::size_t, void*) {});
    return code;
  };
  const auto test = [&](int* flag) {
    int done = 0;
    const int code = native.testsome(count, requests, &done, over.indices(), statuses);
    over.keep(done, code != 0);
    if (code != 0 && requests != nullptr)
      over.put(
          [&](std::size_t i, void* status) { self_->set_unfinished(wanted.handles()[i], status); });
    *flag = done == undefined;
    return *flag != 0 && code == 0 ? wait_for_rest() : code;  // it sets the empty statuses
  };
  return self_->wait_until(wanted, test, wait_for_rest);
}

// An error has ended an MPI_Waitall.
template <class H>
void Requests<H>::set_unfinished(H request, void* status) {
  const Family family = native_.family;
  const bool over = request == native_.null_request;
  int flag = 0;
  if (over) native_.request_get_status(request, &flag, status);  // an empty one
  status_layout(family).set_error(status, over ? 0 : error_classes(family).pending);
}

template <class H>
int Requests<H>::waitany(int count, void* requests, int* index, void* status) {
  const Native<H>& native = self_->native_;
  return self_->wait_until(
      {requests, count},
      [&](int* flag) { return native.testany(count, requests, index, flag, status); },
      [&] { return native.waitany(count, requests, index, status); });
}

template <class H>
int Requests<H>::waitsome(int count, void* requests, int* done, int* indices, void* statuses) {
  const Native<H>& native = self_->native_;
  const auto test = [&](int* flag) {
    const int code = native.testsome(count, requests, done, indices, statuses);
    *flag = *done != 0;  // MPI_UNDEFINED when there is nothing to wait for
    return code;
  };
  return self_->wait_until({requests, count, true, statuses, done, indices}, test, [&] {
    return native.waitsome(count, requests, done, indices, statuses);
  });
}

template <class H>
int Requests<H>::test(void* request, int* flag, void* status) {
  return self_->test_with({request, 1}, [&] { return self_->native_.test(request, flag, status); });
}

template <class H>
int Requests<H>::testall(int count, void* requests, int* flag, void* statuses) {
  return self_->test_with({.requests = requests,
                           .count = count,
                           .several = true,
                           .statuses = statuses,
                           .all_over = flag},
                          [&] { return self_->native_.testall(count, requests, flag, statuses); });
}

template <class H>
int Requests<H>::testany(int count, void* requests, int* index, int* flag, void* status) {
  return self_->test_with({requests, count}, [&] {
    return self_->native_.testany(count, requests, index, flag, status);
  });
}

template <class H>
int Requests<H>::testsome(int count, void* requests, int* done, int* indices, void* statuses) {
  return self_->test_with({requests, count, true, statuses, done, indices}, [&] {
    return self_->native_.testsome(count, requests, done, indices, statuses);
  });
}

template <class H>
int Requests<H>::request_get_status(Word request, int* flag, void* status) {
  return self_->look_with(
      [&] { return self_->native_.request_get_status(handle_from<H>(request), flag, status); });
}

// Those of MPI 4.1 for several requests. An MPI without them is asked for one after the other: a
// program may look for them in the process, and finds Tutti's.
template <class H>
int Requests<H>::get_statuses(int count, const void* requests, void* statuses, int* done,
                              int* indices, int most) {
  const StatusLayout layout = status_layout(native_.family);
  const auto* handles = static_cast<const H*>(requests);
  bool active = false;
  *done = 0;
  for (int i = 0; i < count && *done < most; ++i) {
    if (handles[i] == native_.null_request) continue;
    active = true;
    int flag = 0;
    const int code = native_.request_get_status(
        handles[i], &flag, layout.at(statuses, static_cast<std::size_t>(*done)));
    if (code != 0) return code;
    if (flag != 0) indices[(*done)++] = i;
  }
  if (!active) *done = undefined;
  return 0;
}

template <class H>
int Requests<H>::request_get_status_all(int count, const void* requests, int* flag,
                                        void* statuses) {
  const auto native = self_->native_.request_get_status_all;
  return self_->look_with([&] {
    if (native != nullptr) return native(count, requests, flag, statuses);
    const StatusLayout layout = status_layout(self_->native_.family);
    const auto* handles = static_cast<const H*>(requests);
    int code = 0;
    *flag = 1;
    for (int i = 0; i < count && *flag != 0 && code == 0; ++i)
      code = self_->native_.request_get_status(handles[i], flag,
                                               layout.at(statuses, static_cast<std::size_t>(i)));
    return code;
  });
}

template <class H>
int Requests<H>::request_get_status_any(int count, const void* requests, int* index, int* flag,
                                        void* status) {
  const auto native = self_->native_.request_get_status_any;
  return self_->look_with([&] {
    if (native != nullptr) return native(count, requests, index, flag, status);
    int done = 0;
    *index = undefined;
    const int code = self_->get_statuses(count, requests, status, &done, index, 1);
    *flag = done != 0;
    if (done != undefined || code != 0) return code;
    // An empty status, of which not every MPI sets the error.
    status_layout(self_->native_.family).set_error(status, 0);
    return self_->native_.request_get_status(self_->native_.null_request, flag, status);
  });
}

template <class H>
int Requests<H>::request_get_status_some(int count, const void* requests, int* done, int* indices,
                                         void* statuses) {
  const auto native = self_->native_.request_get_status_some;
  return self_->look_with([&] {
    if (native != nullptr) return native(count, requests, done, indices, statuses);
    return self_->get_statuses(count, requests, statuses, done, indices, count);
  });
}

template class Requests<int>;
template class Requests<void*>;

}  // namespace tutti::mpi
