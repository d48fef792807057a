// SPDX-License-Identifier: BSD-3-Clause
#include "engine/placing.h"

#include <algorithm>

#include "progress/placement.h"

namespace tutti::engine {
namespace {

std::vector<int> list(const os::CpuMask& mask) {
  std::vector<int> cpus;
  for (int cpu = 0; cpu < os::CpuMask::most; ++cpu)
    if (mask.has(cpu)) cpus.push_back(cpu);
  return cpus;
}

// The domain that holds all of `binding`, or -1.
int domain_of(const os::CpuMask& binding, std::span<const os::CpuMask> domains) {
  for (std::size_t d = 0; d < domains.size(); ++d)
    if (binding.within(domains[d])) return static_cast<int>(d);
  return -1;
}

progress::Placement policy_of(std::string_view name) {
  if (name == "bind" || name == "none") return progress::Placement::bind;
  return name == "odd-even" ? progress::Placement::odd_even : progress::Placement::numa;
}

// As many of the `free` cores as there is time for beside the ranks, spread among them. Threads
// that spin on more would take the time of the ranks.
os::CpuMask granted(const os::CpuMask& free, std::int64_t quota_milli, std::size_t ranks) {
  const auto cpus = list(free);
  const auto all = static_cast<std::int64_t>(cpus.size());
  const std::int64_t left = quota_milli / 1000 - static_cast<std::int64_t>(ranks);
  if (quota_milli == 0 || left >= all) return free;
  os::CpuMask some;
  for (std::int64_t nth = 0; nth < left; ++nth)
    some |= os::CpuMask::of(cpus[static_cast<std::size_t>(nth * all / left)]);
  return some;
}

// Some cores are kept free, and the ranks are bound to the others.
Placing keep_free(const PlacingRequest& request, std::size_t ranks, const os::CpuMask& job,
                  std::span<const os::CpuMask> domains) {
  // The chip as progress/placement.h knows it: domains of equal size, one after the other.
  std::vector<int> cpus;
  bool even = !domains.empty();
  std::size_t each = 0;
  int used = 0;
  for (const os::CpuMask& domain : domains) {
    const std::vector<int> inside = list(domain & job);
    if (inside.empty()) continue;
    even = even && (used == 0 || inside.size() == each);
    each = inside.size();
    ++used;
    cpus.insert(cpus.end(), inside.begin(), inside.end());
  }
  if (!even || cpus.size() != static_cast<std::size_t>(job.count())) {
    cpus = list(job);
    used = 1;
  }
  const progress::CoreLayout layout = progress::lay_out(
      {static_cast<int>(cpus.size()), used}, static_cast<int>(request.communication_cores));
  const progress::Placement policy = policy_of(request.policy);
  Placing placing;
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    const auto nth = static_cast<int>(rank % layout.application.size());
    const auto at = static_cast<std::size_t>(layout.application[static_cast<std::size_t>(nth)]);
    placing.ranks.push_back(os::CpuMask::of(cpus[at]));
    if (policy == progress::Placement::bind) {
      placing.progress.push_back(std::nullopt);
      continue;
    }
    auto core = static_cast<std::size_t>(progress::place(policy, layout, nth));
    if (core == at)  // its domain has no free core
      core = static_cast<std::size_t>(progress::place(progress::Placement::odd_even, layout, nth));
    placing.progress.push_back(os::CpuMask::of(cpus[core]));
  }
  return placing;
}

}  // namespace

os::CpuMask cores_of_job(std::span<const Confines> ranks) {
  os::CpuMask cpuset, launcher, homes;
  cpuset.words.fill(~std::uint64_t{0});
  launcher = cpuset;
  for (const Confines& rank : ranks) {
    homes |= rank.home;
    cpuset = cpuset & rank.cpuset;
    if (rank.launcher.count() > 0) launcher = launcher & rank.launcher;
  }
  return homes.within(launcher) ? cpuset & launcher : cpuset;
}

Placing place(const PlacingRequest& request, std::span<const os::CpuMask> bindings,
              const os::CpuMask& job, std::span<const os::CpuMask> domains) {
  const bool keeps_free = request.communication_cores > 0;
  if (keeps_free && request.communication_cores < job.count())
    return keep_free(request, bindings.size(), job, domains);
  Placing placing;
  placing.too_many = keeps_free;
  placing.progress.resize(bindings.size());
  os::CpuMask taken;
  for (const os::CpuMask& binding : bindings) taken |= binding;
  const os::CpuMask free = granted(job - taken, request.quota_milli, bindings.size());
  if (request.policy == "bind" || request.policy == "none" || free.count() == 0) return placing;
  for (std::size_t rank = 0; rank < bindings.size(); ++rank) {
    // Free cores of the rank's own domain, if there are any, shared out among its ranks.
    const int domain = domain_of(bindings[rank], domains);
    std::vector<int> near;
    if (domain >= 0) near = list(free & domains[static_cast<std::size_t>(domain)]);
    const bool at_home = !near.empty();
    if (!at_home) near = list(free);
    const auto shares = [&](const os::CpuMask& binding) {
      return !at_home || domain_of(binding, domains) == domain;
    };
    const auto ranks =
        static_cast<std::size_t>(std::count_if(bindings.begin(), bindings.end(), shares));
    const auto before = static_cast<std::size_t>(std::count_if(
        bindings.begin(), bindings.begin() + static_cast<std::ptrdiff_t>(rank), shares));
    const std::size_t turn =
        request.policy == "odd-even" ? before % near.size() : before * near.size() / ranks;
    placing.progress[rank] = os::CpuMask::of(near[turn]);
  }
  return placing;
}

bool are_in_several(std::span<const os::CpuMask> domains, std::span<const os::CpuMask> cores) {
  os::CpuMask used;
  for (const os::CpuMask& mask : cores) used |= mask;
  return std::ranges::count_if(domains, [&used](const os::CpuMask& domain) {
           return (domain & used).count() > 0;
         }) > 1;
}

}  // namespace tutti::engine
