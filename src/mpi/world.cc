// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/world.h"

#include <cstring>
#include <numeric>

namespace tutti::mpi {

template <class H>
std::vector<int> ranks_in(const Native<H>& native, H group, H comm, int size) {
  std::vector<int> ranks(static_cast<std::size_t>(size)), known(ranks);
  std::iota(ranks.begin(), ranks.end(), 0);
  H theirs{};
  if (native.comm_group(comm, &theirs) != 0) return {};
  native.group_translate_ranks(theirs, size, ranks.data(), group, known.data());
  native.group_free(&theirs);
  return known;
}

template <class H>
bool World<H>::look_for_world() {
  int initialized = 0, finalized = 0;
  if (world_over_ || native_.initialized(&initialized) != 0 || !initialized) return false;
  if (native_.finalized(&finalized) != 0 || finalized)
    has_world_ = false;
  else if (!has_world_ && !session_initializes_)
    enter_world();
  return has_world_;
}

template <class H>
void World<H>::enter_world() {
  native_.comm_rank(native_.world, &world_rank_);
  H parent{};
  spawned_ = native_.comm_get_parent(&parent) == 0 && !native_.is_no_comm(parent);
  has_world_ = true;
}

template <class H>
void World<H>::leave_world() {
  world_over_ = true;
  has_world_ = false;
}

template <class H>
int World<H>::finalize() {
  finalizer_ = std::this_thread::get_id();
  const int result = native_.finalize();
  finalizer_ = std::thread::id{};
  return result;
}

template <class H>
int World<H>::begin_session(H info, H handler, void* session) {
  int before = 0, after = 0;
  native_.initialized(&before);
  const int result = native_.session_init(info, handler, session);
  if (result != 0) return result;
  native_.initialized(&after);
  if (before == 0 && after != 0 && !world_begins_) session_initializes_ = true;
  H opened{};
  std::memcpy(&opened, session, sizeof opened);
  const std::lock_guard lock(living_);
  sessions_.push_back(opened);
  has_sessions_ = true;
  return result;
}

template <class H>
bool World<H>::end_session(H session) {
  const std::lock_guard lock(living_);
  const bool last = std::erase(sessions_, session) != 0 && sessions_.empty();
  has_sessions_ = !sessions_.empty();
  return last;
}

template <class H>
bool World<H>::find_world_group(H* group) {
  if (has_world_) return native_.comm_group(native_.world, group) == 0;
  const std::lock_guard lock(living_);
  return !sessions_.empty() &&
         native_.group_from_session_pset(sessions_.front(), "mpi://WORLD", group) == 0;
}

template <class H>
int World<H>::own_rank() {
  if (has_world_) return world_rank_;
  H group{};
  int rank = -1;
  if (!find_world_group(&group)) return -1;
  native_.group_rank(group, &rank);
  native_.group_free(&group);
  return rank;
}

template <class H>
std::vector<int> World<H>::world_ranks(H comm, int size) {
  H world{};
  if (!find_world_group(&world)) return {};
  std::vector<int> known = ranks_in(native_, world, comm, size);
  native_.group_free(&world);
  return known;
}

template std::vector<int> ranks_in(const Native<int>&, int, int, int);
template std::vector<int> ranks_in(const Native<void*>&, void*, void*, int);
template class World<int>;
template class World<void*>;

}  // namespace tutti::mpi
