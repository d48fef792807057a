// SPDX-License-Identifier: BSD-3-Clause
// The machine through hwloc, and how much of it this process may use.
#include <hwloc.h>
#include <sched.h>
#include <sys/sysinfo.h>
#include <sys/utsname.h>

#include <cstdlib>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "os/cgroup.h"
#include "os/limits.h"
#include "probe/probe.h"

namespace tutti::probe {
namespace {

std::string cpu_model(hwloc_topology_t topology) {
  if (hwloc_obj_t package = hwloc_get_obj_by_type(topology, HWLOC_OBJ_PACKAGE, 0))
    if (const char* model = hwloc_obj_get_info_by_name(package, "CPUModel")) return model;
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("model name")) return line.substr(line.find(':') + 2);
  utsname names{};
  return uname(&names) == 0 ? names.machine : "unknown CPU";
}

int count(hwloc_topology_t topology, hwloc_obj_type_t type) {
  return std::max(0, hwloc_get_nbobjs_by_type(topology, type));
}

void numa_nodes(hwloc_topology_t topology, Json& json) {
  json.key("numa_nodes").array();
  for (int i = 0; i < count(topology, HWLOC_OBJ_NUMANODE); ++i) {
    hwloc_obj_t node = hwloc_get_obj_by_type(topology, HWLOC_OBJ_NUMANODE, i);
    json.object()
        .add("index", node->os_index)
        .add("memory_bytes", std::uint64_t{node->attr->numanode.local_memory})
        .add("pus", hwloc_bitmap_weight(node->cpuset))
        .end_object();
  }
  json.end_array();
}

const char* kind_of(hwloc_obj_cache_type_t type) {
  if (type == HWLOC_OBJ_CACHE_DATA) return "data";
  return type == HWLOC_OBJ_CACHE_INSTRUCTION ? "instruction" : "unified";
}

struct CacheKind {
  unsigned level;
  std::string kind;
  std::uint64_t bytes;
  int pus;  // that share one
  auto operator<=>(const CacheKind&) const = default;
};

void caches(hwloc_topology_t topology, Json& json) {
  std::map<CacheKind, int> found;
  for (int depth = 0; depth < hwloc_topology_get_depth(topology); ++depth) {
    if (!hwloc_obj_type_is_cache(hwloc_get_depth_type(topology, depth))) continue;
    for (unsigned i = 0; i < hwloc_get_nbobjs_by_depth(topology, depth); ++i) {
      hwloc_obj_t cache = hwloc_get_obj_by_depth(topology, depth, i);
      const auto& a = cache->attr->cache;
      ++found[{a.depth, kind_of(a.type), a.size, hwloc_bitmap_weight(cache->cpuset)}];
    }
  }
  json.key("caches").array();
  for (const auto& [cache, number] : found) {
    json.object()
        .add("level", cache.level)
        .add("kind", cache.kind)
        .add("bytes", cache.bytes)
        .add("count", number)
        .add("pus", cache.pus)
        .end_object();
  }
  json.end_array();
}

// What /proc/meminfo says: on machines whose memory grows while they run, the NUMA nodes, which
// hwloc adds up, may lag behind.
std::uint64_t memory_bytes(hwloc_topology_t topology) {
  struct sysinfo info {};
  if (hwloc_topology_is_thissystem(topology) && sysinfo(&info) == 0)
    return std::uint64_t{info.totalram} * info.mem_unit;
  return hwloc_get_root_obj(topology)->total_memory;
}

// The PUs of the affinity mask, and how many cores they belong to.
void usable(hwloc_topology_t topology, Json& json) {
  hwloc_bitmap_t mask = hwloc_bitmap_alloc();
  if (hwloc_get_cpubind(topology, mask, HWLOC_CPUBIND_PROCESS) != 0)
    hwloc_bitmap_copy(mask, hwloc_topology_get_topology_cpuset(topology));
  std::set<hwloc_obj_t> cores;
  json.key("usable_pus").array();
  for (int pu = hwloc_bitmap_first(mask); pu >= 0; pu = hwloc_bitmap_next(mask, pu)) {
    json.value(pu);
    hwloc_obj_t object = hwloc_get_pu_obj_by_os_index(topology, static_cast<unsigned>(pu));
    hwloc_obj_t core =
        object ? hwloc_get_ancestor_obj_by_type(topology, HWLOC_OBJ_CORE, object) : nullptr;
    if (object != nullptr) cores.insert(core ? core : object);
  }
  json.end_array().add("usable_cores", std::uint64_t{cores.size()});
  hwloc_bitmap_free(mask);
}

void limits(Json& json) {
  const std::int64_t quota_milli = os::cgroup_cpu_quota_milli();
  const std::uint64_t memory_bytes = os::cgroup_memory_limit_bytes();
  json.key("cgroup").object().key("cpus");
  quota_milli > 0 ? json.value(static_cast<double>(quota_milli) / 1000) : json.null();
  json.key("memory_bytes");
  memory_bytes != os::unlimited ? json.value(memory_bytes) : json.null();
  json.end_object();
}

}  // namespace

void machine(Json& json) {
  // Debian's hwloc loads plugins (GPUs, PCI) that nobody asks for here and that would bring a
  // second, shared hwloc into the process.
  setenv("HWLOC_PLUGINS_PATH", "/nonexistent", 1);
  hwloc_topology_t topology = nullptr;
  if (hwloc_topology_init(&topology) != 0 ||
      hwloc_topology_set_all_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_ALL) != 0 ||
      hwloc_topology_set_io_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_NONE) != 0 ||
      hwloc_topology_load(topology) != 0) {
    std::fputs("hwloc cannot read this machine's topology\n", stderr);
    std::exit(EXIT_FAILURE);
  }
  const int pus = count(topology, HWLOC_OBJ_PU);
  const int cores = count(topology, HWLOC_OBJ_CORE);
  utsname names{};
  json.object()
      .add("cpu", cpu_model(topology))
      .add("kernel", uname(&names) == 0 ? names.release : "")
      .add("packages", count(topology, HWLOC_OBJ_PACKAGE))
      .add("cores", cores > 0 ? cores : pus)
      .add("pus", pus)
      .add("memory_bytes", memory_bytes(topology));
  numa_nodes(topology, json);
  caches(topology, json);
  usable(topology, json);
  limits(json);
  json.end_object();
  hwloc_topology_destroy(topology);
}

}  // namespace tutti::probe
