// SPDX-License-Identifier: BSD-3-Clause
// It goes in rounds: everyone posts what the kernel accepts, all meet, everyone receives. Mostly
// one round is enough. On a large node the kernel bounds how many descriptors a user may have under
// way (RLIMIT_NOFILE), and the rest follows in further rounds. A round in which nobody could post
// anything is the last.
#include "engine/handover.h"

#include <algorithm>

namespace tutti::engine {
namespace {

struct Progress {
  std::int32_t posted;
  std::int32_t left;
};

bool meet(const Exchange& group, const Progress& mine, Progress& all) {
  std::vector<Progress> each(static_cast<std::size_t>(group.size));
  if (!group.allgather(&mine, each.data(), sizeof mine)) return false;
  all = {};
  for (const Progress& one : each) all = {all.posted + one.posted, all.left + one.left};
  return true;
}

Progress post_to(std::vector<Neighbour>& waiting, const os::Letter& letter) {
  Progress progress{};
  std::erase_if(waiting, [&](const Neighbour& neighbour) {
    const os::Posted posted = os::post(neighbour.mailbox, neighbour.pid, letter);
    progress.posted += posted == os::Posted::yes;
    return posted != os::Posted::later;
  });
  progress.left = static_cast<std::int32_t>(waiting.size());
  return progress;
}

void receive_from(const std::vector<Neighbour>& neighbours, os::Mailbox& mailbox,
                  const std::function<void(std::size_t, os::Letter&)>& arrived) {
  for (os::Letter letter; mailbox.receive(letter); letter.close_all())
    for (std::size_t i = 0; i < neighbours.size(); ++i)
      if (neighbours[i].pid == letter.from && neighbours[i].secret == letter.secret)
        arrived(i, letter);
}

}  // namespace

bool hand_over(const Exchange& group, const std::vector<Neighbour>& neighbours,
               const os::Letter& mine, os::Mailbox& mailbox,
               const std::function<void(std::size_t, os::Letter&)>& arrived) {
  std::vector<Neighbour> waiting;
  for (const Neighbour& neighbour : neighbours)
    if (neighbour.mailbox != 0) waiting.push_back(neighbour);
  for (;;) {
    Progress all{};
    if (!meet(group, post_to(waiting, mine), all)) return false;
    receive_from(neighbours, mailbox, arrived);  // all that was posted before
    if (all.left == 0 || all.posted == 0) return true;
    if (!meet(group, {}, all)) return false;  // the next post may rely on it
  }
}

}  // namespace tutti::engine
