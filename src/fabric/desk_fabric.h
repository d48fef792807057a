// SPDX-License-Identifier: BSD-3-Clause
// The fabric over desks (segment/desk.h). A Provider says how one waits and how one reaches memory:
//   Await<Condition>     an awaiter made of {provider, condition}; it may stay suspended for ever
//                        when an error has been met, and the collective then is not done
//   wake(word, sleepers), mismatch(peer, theirs, mine), truncation(peer, sent, room)
//   withdrawn(peer)      that member has failed in this call, and its buffers are not to be touched
//   may_fold()           whether this thread may apply the operation of a late reduction
//   has_read_in_vain()   whether memory that was read or written may have been that of a peer that
//                        has gone; the provider then has failed
//   offer, populate, map, read, write, scratch
// A condition is a struct with three functions. `bool poll(Watch&)` says whether it holds, and
// fills in the word to watch if not. `bool accept()` then looks whether all is well. `resume()`
// yields the awaited value.
#pragma once

#include <algorithm>
#include <cassert>
#include <cstring>

#include "arch/arch.h"
#include "choice/limits.h"
#include "fabric/fabric.h"

namespace tutti::fabric {

using segment::Desk;

// The word whose change is awaited and what it held. And the step that the wait is about, with the
// desks of all members: a member that has finished that step cannot be the one that is waited for.
struct Watch {
  const std::atomic<std::uint64_t>* word = nullptr;
  std::atomic<std::uint32_t>* sleepers = nullptr;
  std::uint64_t seen = 0;
  Step step = 0;
  std::span<Desk* const> desks = {};
  int poster = -1;  // who is to post the step, if that is awaited
};

template <class Provider>
class DeskFabric {
 public:
  // `desks` holds one pointer for each member, in rank order, and outlives the fabric. Steps are
  // counted from `before` on, so that tests can see what happens after years.
  DeskFabric(Provider& provider, std::span<Desk* const> desks, int rank, Step before = 0)
      : provider_(provider), desks_(desks), rank_(rank), step_(before), everyone_done_(before) {}

  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] int size() const { return static_cast<int>(desks_.size()); }
  [[nodiscard]] Provider& provider() { return provider_; }
  [[nodiscard]] std::span<Desk* const> desks() const { return desks_; }
  // What things cost here; the usual until somebody knows better. The costs outlive the fabric.
  [[nodiscard]] const choice::Costs& costs() const { return *costs_; }
  void set_costs(const choice::Costs& costs) { costs_ = &costs; }

  // A collective begins; `call` says which, and must be the same on every member. `wary`: its
  // number, if members may have withdrawn from it (fabric/inside.h).
  void begin(std::uint64_t call, std::uint64_t wary = 0) {
    call_ = call;
    wary_ = wary;
    expected_ = wary == 0 ? call : call ^ expects_none;
    first_step_ = step_ + 1;
  }
  // A collective that is a part of this one begins: what comes before is over for whoever gets
  // there.
  void begin_stage() { first_step_ = step_ + 1; }
  [[nodiscard]] Step next_step() { return ++step_; }
  [[nodiscard]] Step first_step() const { return first_step_; }
  [[nodiscard]] Step last_step() const { return step_; }
  [[nodiscard]] std::uint64_t call() const { return call_; }

  void post(Step step, Bytes payload) {
    assert(payload.size() <= segment::payload_bytes);
    post_with(step, [&](std::byte* to) {
      if (!payload.empty()) std::memcpy(to, payload.data(), payload.size());
    });
  }
  template <class Fill>
  void post_with(Step step, Fill fill) {
    Desk& mine = *desks_[static_cast<std::size_t>(rank_)];
    segment::Line& line = mine.lines[step % segment::ring];
    line.call = call_;
    fill(line.payload);
    line.step.store(step, std::memory_order_release);  // pairs with the load in Posted::poll
    provider_.wake(line.step, mine.sleepers);
    // The line of the next post is in the caches of those who read it last. To take it back takes
    // as long as to post it. Only its first cache line, which has the flag: to take the second one,
    // too, made payloads of both slower where cores are far from each other.
    arch::prefetch_for_writing(&mine.lines[(step + 1) % segment::ring]);
  }

  void finish(Step step) {
    if (provider_.has_read_in_vain()) [[unlikely]]
      return;
    Desk& mine = *desks_[static_cast<std::size_t>(rank_)];
    mine.done.store(step, std::memory_order_release);  // pairs with the load in Room::poll
    provider_.wake(mine.done, mine.sleepers);
  }

  void everyone_arrived() { everyone_done_ = std::max(everyone_done_, first_step_ - 1); }

  struct Posted {
    DeskFabric* fabric;
    int peer;
    Step step;
    bool poll(Watch& watch) const {
      Desk& desk = *fabric->desks_[static_cast<std::size_t>(peer)];
      const segment::Line& line = desk.lines[step % segment::ring];
      const Step seen = line.step.load(std::memory_order_acquire);  // pairs with post()
      if (seen == step) return true;
      watch = {&line.step, &desk.sleepers, seen, step, fabric->desks_, peer};
      return false;
    }
    [[nodiscard]] const segment::Line& line() const {
      return fabric->desks_[static_cast<std::size_t>(peer)]->lines[step % segment::ring];
    }
    [[nodiscard]] bool accept() const {
      const std::uint64_t call = line().call;
      return call == fabric->expected_ || fabric->look_into(peer, call);
    }
    const std::byte* resume() const { return line().payload; }
  };
  [[nodiscard]] auto posted(int peer, Step step) { return await(Posted{this, peer, step}); }

  // What posted(peer, step) yielded.
  [[nodiscard]] const std::byte* payload(int peer, Step step) const {
    return desks_[static_cast<std::size_t>(peer)]->lines[step % segment::ring].payload;
  }

  // A hint that posted(peer, step) will be awaited and may hold already.
  void expect(int peer, Step step) const {
    __builtin_prefetch(&desks_[static_cast<std::size_t>(peer)]->lines[step % segment::ring]);
  }

  struct Room {
    static constexpr bool comes_before_post = true;
    DeskFabric* fabric;
    Step step;
    Step reuse;  // a line or slot is used again after so many steps
    bool poll(Watch& watch) const {
      if (step <= fabric->everyone_done_ + reuse) return true;
      Step everyone = ~Step{0};
      for (int peer = 0; peer < fabric->size(); ++peer) {
        if (peer == fabric->rank_) continue;
        Desk& desk = *fabric->desks_[static_cast<std::size_t>(peer)];
        const Step done = desk.done.load(std::memory_order_acquire);  // pairs with finish()
        if (done + reuse < step) {
          watch = {&desk.done, &desk.sleepers, done, step - reuse, fabric->desks_};
          return false;
        }
        everyone = std::min(everyone, done);
      }
      fabric->everyone_done_ = std::max(fabric->everyone_done_, everyone);
      return true;
    }
    [[nodiscard]] bool accept() const { return true; }
    void resume() const {}
  };
  [[nodiscard]] auto room(Step step) { return await(Room{this, step, segment::ring}); }
  [[nodiscard]] auto staging_room(Step step) { return await(Room{this, step, segment::slots}); }

  [[nodiscard]] auto drained(Step step) { return await(Room{this, step, 0}); }

  void open_share(Step step) {
    segment::Share& share = desks_[static_cast<std::size_t>(rank_)]->share;
    // Published by the release in the post() that follows.
    share.claimed.store(step << segment::share_count_bits, std::memory_order_relaxed);
    // A member that still waits for the chunks of an earlier step may see this word instead. It
    // must then see what the members that landed those chunks wrote: pairs with Landed::poll.
    share.landed.store(step << segment::share_count_bits, std::memory_order_release);
  }

  [[nodiscard]] std::int64_t claim(int peer, Step step, std::uint32_t chunks) {
    assert(chunks <= segment::most_chunks);
    std::atomic<std::uint64_t>& claimed = desks_[static_cast<std::size_t>(peer)]->share.claimed;
    std::uint64_t seen = claimed.load(std::memory_order_relaxed);
    for (;;) {
      const std::uint64_t front = seen & segment::most_chunks;
      const std::uint64_t back = seen >> segment::share_front_bits & segment::most_chunks;
      if (!of_step(seen, step) || front + back >= chunks) return no_chunk;
      const bool mine = peer == rank_;
      const std::uint64_t next = seen + (mine ? 1 : std::uint64_t{1} << segment::share_front_bits);
      if (claimed.compare_exchange_weak(seen, next, std::memory_order_relaxed))
        return static_cast<std::int64_t>(mine ? front : chunks - 1 - back);
    }
  }

  void land(int peer, Step) {
    if (provider_.has_read_in_vain()) [[unlikely]]
      return;
    Desk& desk = *desks_[static_cast<std::size_t>(peer)];
    desk.share.landed.fetch_add(1, std::memory_order_release);  // pairs with Landed::poll
    provider_.wake(desk.share.landed, desk.sleepers);
  }

  struct Landed {
    DeskFabric* fabric;
    int peer;
    Step step;
    std::uint32_t chunks;
    bool poll(Watch& watch) const {
      // Another step there, a later one, means that its owner saw all chunks land and went on.
      return fabric->counted(&segment::Share::landed, peer, step, chunks, true, watch);
    }
    [[nodiscard]] bool accept() const { return true; }
    void resume() const {}
  };
  [[nodiscard]] auto landed(int peer, Step step, std::uint32_t chunks) {
    return await(Landed{this, peer, step, chunks});
  }

  // The same; holds also when this member may take chunks itself.
  struct Folding {
    Landed landed;
    bool poll(Watch& watch) const {
      return landed.fabric->provider_.may_fold() || landed.poll(watch);
    }
    [[nodiscard]] bool accept() const { return true; }
    void resume() const {}
  };
  [[nodiscard]] auto folding(int peer, Step step, std::uint32_t chunks) {
    return await(Folding{{this, peer, step, chunks}});
  }

  void produce(Step step, std::uint32_t pieces) {
    if (provider_.has_read_in_vain()) [[unlikely]]
      return;
    Desk& mine = *desks_[static_cast<std::size_t>(rank_)];
    // Pairs with Produced::poll.
    mine.share.claimed.store(step << segment::share_count_bits | pieces, std::memory_order_release);
    provider_.wake(mine.share.claimed, mine.sleepers);
  }

  struct Produced {
    DeskFabric* fabric;
    int peer;
    Step step;
    std::uint32_t pieces;
    bool poll(Watch& watch) const {
      return fabric->counted(&segment::Share::claimed, peer, step, pieces, false, watch);
    }
    [[nodiscard]] bool accept() const { return true; }
    void resume() const {}
  };
  [[nodiscard]] auto produced(int peer, Step step, std::uint32_t pieces) {
    return await(Produced{this, peer, step, pieces});
  }

  void truncation(int peer, std::size_t sent, std::size_t room) {
    provider_.truncation(peer, sent, room);
  }

  void take(Route route) { provider_.take(route); }
  void begin_work() { provider_.begin_work(); }
  void begin_shared_work() { provider_.begin_shared_work(); }
  void end_work() { provider_.end_work(); }
  [[nodiscard]] auto pause(std::size_t bytes, int transfers = 1) {
    return provider_.pause(bytes, transfers);
  }
  void spend(std::size_t bytes) { provider_.spend(bytes); }
  void step_aside() { provider_.step_aside(); }
  [[nodiscard]] auto on(Executor executor) { return provider_.on(executor); }

  [[nodiscard]] std::byte* staging(int peer, Step step) const {
    Desk& desk = *desks_[static_cast<std::size_t>(peer)];
    if (peer == rank_) desk.note_staged(step % segment::slots);
    return desk.staging[step % segment::slots];
  }
  void reserve(Step step, std::size_t bytes) const {
    if (bytes >= limits::least_reserved_bytes && bytes <= limits::most_reserved_bytes &&
        costs_->reserves())
      segment::reserve(desks_[static_cast<std::size_t>(rank_)]->staging[step % segment::slots],
                       bytes);
  }
  [[nodiscard]] Card offer(const void* buffer, std::size_t bytes, bool full = true) {
    return provider_.offer(buffer, bytes, full);
  }
  void populate(const void* buffer, std::size_t bytes) { provider_.populate(buffer, bytes); }
  [[nodiscard]] std::byte* map(int peer, const Card& card) const {
    return peer == rank_ ? reinterpret_cast<std::byte*>(card.address) : provider_.map(peer, card);
  }
  void read(int peer, const Card& card, std::size_t offset, void* to, std::size_t bytes) {
    provider_.read(peer, card, offset, to, bytes);
  }
  void write(int peer, const Card& card, std::size_t offset, const void* from, std::size_t bytes) {
    provider_.write(peer, card, offset, from, bytes);
  }
  [[nodiscard]] std::byte* scratch(std::size_t bytes) { return provider_.scratch(bytes); }

 private:
  // Where it is changed in a call, no line has that call: all members set it alike.
  static constexpr std::uint64_t expects_none = std::uint64_t{1} << 63;
  static constexpr std::uint64_t count_mask = (std::uint64_t{1} << segment::share_count_bits) - 1;

  // Whether a word of a Share is about `step`; it holds the step without its uppermost bits.
  [[nodiscard]] static bool of_step(std::uint64_t word, Step step) {
    return ((word ^ step << segment::share_count_bits) & ~count_mask) == 0;
  }

  // Whether a word of a peer's share counts `count` of `step`. `other_step`: the answer where the
  // word is of another step.
  [[nodiscard]] bool counted(std::atomic<std::uint64_t> segment::Share::*word, int peer, Step step,
                             std::uint32_t count, bool other_step, Watch& watch) const {
    Desk& desk = *desks_[static_cast<std::size_t>(peer)];
    const std::atomic<std::uint64_t>& counter = desk.share.*word;
    const std::uint64_t seen = counter.load(std::memory_order_acquire);
    if (of_step(seen, step) ? (seen & count_mask) >= count : other_step) return true;
    watch = {&counter, &desk.sleepers, seen, step, desks_};
    return false;
  }

  // Whether a line of that call may be used, although it is not what was expected.
  [[nodiscard, gnu::noinline]] bool look_into(int peer, std::uint64_t call) {
    if (call != call_) {
      provider_.mismatch(peer, call, call_);
      return false;
    }
    const Desk& desk = *desks_[static_cast<std::size_t>(peer)];
    if (desk.withdrawn.load(std::memory_order_acquire) != wary_) return true;
    provider_.withdrawn(peer);
    return false;
  }

  template <class Condition>
  auto await(Condition condition) {
    return typename Provider::template Await<Condition>{provider_, condition};
  }

  Provider& provider_;
  std::span<Desk* const> desks_;
  int rank_;
  Step step_;
  Step first_step_ = 0;
  const choice::Costs* costs_ = &choice::usual;
  Step everyone_done_;  // every peer is known to have finished this one
  std::uint64_t call_ = 0;
  std::uint64_t expected_ = 0;  // what lines are compared with first
  std::uint64_t wary_ = 0;
};

}  // namespace tutti::fabric
