// SPDX-License-Identifier: BSD-3-Clause
#include "engine/losses.h"

#include <signal.h>

#include <algorithm>

#include "engine/node.h"
#include "os/os.h"
#include "os/program.h"

namespace tutti::engine {
namespace {

// A process ends soon after its thread, or its other threads go on, perhaps for long.
constexpr std::int64_t first_nap_ns = 1'000'000;
constexpr std::int64_t never_ns = 1'000'000'000'000'000'000;
constexpr std::size_t stack_bytes = std::size_t{256} << 10;  // static TLS is in it

}  // namespace

Losses::Losses(Node& node, int rank, int members)
    : node_(node), ends_(node.segment(), rank, members) {
  look();
}

Losses::~Losses() {
  if (!has_thread_) return;
  bell_.store(1, std::memory_order_release);
  os::futex_wake_all(bell_);
  ::pthread_join(thread_, nullptr);
}

void Losses::look() {
  const std::unique_lock lock(looking_, std::try_to_lock);
  if (!lock || has_thread_) return;
  if (os::thread_count() > 1 && os::waits_for_several_words())
    start_thread();
  else
    (void)settle();
}

void Losses::start_thread() {
  // Signals are for the program's own threads.
  sigset_t all, before;
  sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_attr_t attributes;
  ::pthread_attr_init(&attributes);
  ::pthread_attr_setstacksize(&attributes, stack_bytes);
  const auto main = [](void* self) -> void* {
    static_cast<Losses*>(self)->watch();
    return nullptr;
  };
  has_thread_ = ::pthread_create(&thread_, &attributes, main, this) == 0;
  ::pthread_attr_destroy(&attributes);
  if (has_thread_) ::pthread_setname_np(thread_, "tutti-losses");
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void Losses::watch() {
  std::int64_t nap_ns = first_nap_ns;
  while (bell_.load(std::memory_order_acquire) == 0) {
    const bool some_end = settle();
    ends_.wait({&bell_, 0}, some_end ? nap_ns : never_ns);
    nap_ns = some_end ? std::min(2 * nap_ns, never_ns) : first_nap_ns;
  }
}

bool Losses::settle() {
  for (int member = ends_.next(); member >= 0; member = ends_.next()) ending_.push_back(member);
  std::erase_if(ending_, [this](int member) {
    const pid_t signer = segment::Segment::signer_of(node_.segment().presence(member));
    if (!os::has_gone(node_.member(member).pid, signer)) return false;
    node_.lose(member);
    return true;
  });
  return !ending_.empty();
}

}  // namespace tutti::engine
