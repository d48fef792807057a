// SPDX-License-Identifier: BSD-3-Clause
// How the members of a group become a team.
#include <algorithm>

#include "engine/links.h"
#include "engine/team_member.h"

namespace tutti::engine {
namespace {

constexpr std::uint32_t devices_mark = 1;  // a rank of the node has a runtime of GPUs
constexpr const char* no_slice = "the node segment is full";

// What a member says when its group becomes a team.
struct Enrolment {
  std::uint64_t host;
  std::uint64_t node;  // 0: none
  std::uint64_t slice;
  std::int32_t node_rank;
  std::int32_t devices;  // Exchange::has_devices
};

bool same_node(const std::vector<Enrolment>& members) {
  return std::all_of(members.begin(), members.end(), [&](const Enrolment& member) {
    return member.node != 0 && member.node == members[0].node;
  });
}

bool same_host(const std::vector<Enrolment>& members) {
  return std::all_of(members.begin(), members.end(),
                     [&](const Enrolment& member) { return member.host == members[0].host; });
}

constexpr const char* too_many = "it has more than 4096 ranks on one node";
bool has_room_for(int ranks) { return static_cast<std::uint64_t>(ranks) <= segment::most_members; }
static_assert(segment::most_members == 4096);

bool enrol(const Exchange& group, const std::shared_ptr<Node>& node,
           std::vector<Enrolment>& members) {
  Enrolment mine{host_id(), 0, 0, 0, group.has_devices};
  if (node != nullptr) {
    mine.node = node->id();
    mine.node_rank = node->rank();
    if (group.rank == 0) mine.slice = node->segment().allocate_slice(group.size, desks_each);
  }
  members.resize(static_cast<std::size_t>(group.size));
  const bool met = group.allgather(&mine, members.data(), sizeof mine);
  if (met && same_node(members) && has_room_for(group.size)) return true;
  for (int i = 0; mine.slice != 0 && i < group.size; ++i) node->segment().leave_slice(mine.slice);
  return met;
}

}  // namespace

std::shared_ptr<Team> Team::create(const Exchange& group, const std::shared_ptr<Node>& home,
                                   const char*& why) {
  std::shared_ptr<Node> node = home;
  std::vector<Enrolment> members;
  why = "the MPI's Allgather failed";
  if (!enrol(group, node, members)) return nullptr;
  if (!same_node(members)) {
    why = several_nodes;
    if (!same_host(members)) return nullptr;
    why = "its ranks could not meet";
    node.reset();
    const Status status = Node::join(group, node);
    if (!status.ok()) {
      why = status.what;
      return nullptr;
    }
    if (!enrol(group, node, members) || !same_node(members)) return nullptr;
  }
  why = too_many;
  if (!has_room_for(group.size)) return nullptr;
  why = no_slice;
  if (members[0].slice == 0) return nullptr;
  std::vector<int> ranks;
  bool has_devices = false;
  for (const Enrolment& member : members) {
    ranks.push_back(member.node_rank);
    has_devices = has_devices || member.devices != 0;
  }
  return std::make_shared<TeamMember>(std::move(node), members[0].slice, std::move(ranks),
                                      group.rank, has_devices);
}

std::shared_ptr<Team> Team::join(const std::shared_ptr<Node>& node, std::uint64_t name,
                                 std::vector<int> members, int rank, bool has_devices,
                                 const char*& why, std::unique_ptr<Links> links) {
  if (!has_room_for(static_cast<int>(members.size()))) {
    why = too_many;
    return nullptr;
  }
  segment::Segment& segment = node->segment();
  if (has_devices) segment.mark(devices_mark);
  std::uint32_t marks = 0;
  const std::uint64_t slice =
      segment.find_slice(name, static_cast<int>(members.size()), desks_each, &marks);
  if (slice == 0) {
    why = no_slice;
    return nullptr;
  }
  return std::make_shared<TeamMember>(node, slice, std::move(members), rank,
                                      links == nullptr && (marks & devices_mark) != 0,
                                      std::move(links));
}

}  // namespace tutti::engine
