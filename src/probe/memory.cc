// SPDX-License-Identifier: BSD-3-Clause
// The ways to a peer's memory and what they depend on, a row each. The two ways that Tutti uses are
// tried for real between two processes; a rank stands to another rank as the child here stands to
// its parent, which is what Yama's ptrace_scope looks at.
#include <linux/membarrier.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "base/bits.h"
#include "base/options.h"
#include "os/huge_file.h"
#include "os/mapping.h"
#include "os/memfd.h"
#include "probe/pair.h"
#include "probe/probe.h"

namespace tutti::probe {
namespace {

struct Answer {
  bool available;
  std::string reason;
  std::string advice;  // what to do about a no
};

struct Row {
  const char* name;
  const char* title;
  Answer (*ask)();
};

const char* mib(std::uint64_t bytes, std::string& text) {
  text = std::to_string(bytes >> 20) + " MiB";
  return text.c_str();
}

Answer commons() {
  const PairResult proc = try_pair(share_through_proc);
  if (proc.ok) return {true, "a process maps a peer's memfd through /proc/PID/fd", ""};
  const PairResult pidfd = try_pair(share_through_pidfd);
  if (pidfd.ok) return {true, "a process maps a peer's memfd through pidfd_getfd", ""};
  const std::string refused = "/proc/PID/fd: " + proc.why + "; pidfd_getfd: " + pidfd.why;
  const PairResult socket = try_pair(share_through_socket);
  if (socket.ok) return {true, "processes send each other their memfds (" + refused + ")", ""};
  return {false, refused + "; socket: " + socket.why,
          "start the ranks in one container, as one user, with a seccomp profile that lets them "
          "open /proc/PID/fd or connect Unix sockets; until then Tutti leaves all to the MPI"};
}

Answer cma() {
  const PairResult copy = try_pair(copy_through_kernel);
  if (copy.ok) return {true, "process_vm_readv reads a peer's memory", ""};
  return {
      false, copy.why,
      "allow ptrace (container: --cap-add SYS_PTRACE; host: sysctl kernel.yama.ptrace_scope=0); "
      "without it static and stack buffers go through the node segment"};
}

Answer device(const char* path, const char* advice) {
  if (access(path, R_OK | W_OK) == 0) return {true, std::string(path) + " can be opened", ""};
  return {false, std::string(path) + ": " + std::strerror(errno), advice};
}
Answer xpmem() {
  return device("/dev/xpmem", "nothing: Tutti needs no kernel module, the commons does its work");
}
Answer knem() {
  return device("/dev/knem", "nothing: Tutti needs no kernel module, CMA does its work");
}

Answer ptrace_scope() {
  const auto scope = first_line("/proc/sys/kernel/yama/ptrace_scope");
  if (!scope) return {true, "no Yama: processes of one user may read each other", ""};
  return {*scope == "0", "kernel.yama.ptrace_scope is " + *scope,
          "as root: sysctl kernel.yama.ptrace_scope=0 (CMA needs it, the commons does not)"};
}

// Whether a page that is touched in the file is a huge one.
bool gives_huge_pages(int fd) {
  void* at = os::map_range(fd, os::huge_page_bytes);
  if (at == nullptr) return false;
  struct stat status {};
  os::prefer_huge_pages(at, os::huge_page_bytes);
  if (os::make_accessible(at, os::huge_page_bytes)) *static_cast<volatile char*>(at) = 1;
  const bool huge = fstat(fd, &status) == 0 && status.st_blocks * 512 >= off_t{os::huge_page_bytes};
  os::unmap(at, os::huge_page_bytes);
  return huge;
}

// As the commons does it: in a file system of its own, or where the kernel's setting allows it.
Answer huge_pages() {
  constexpr std::size_t bytes = std::size_t{4} << 20;
  os::FileId id;
  const char* refused = "";
  const char* way = "a file system in a user namespace gives them, whatever shmem_enabled says";
  int fd = os::create_huge_file("tutti-probe", bytes, &id, &refused);
  if (fd < 0) {
    fd = os::create_memfd("tutti-probe", bytes, &id);
    way = "memfds have them, by shmem_enabled";
  }
  const bool huge = fd >= 0 && gives_huge_pages(fd);
  if (fd >= 0) close(fd);
  if (huge && os::huge_pages_take_long())
    return {true,
            std::string(way) +
                "; not used by default, as this machine's host takes free memory back, so that "
                "they take long to get (programs may ask; TUTTI_COMMONS_HUGE=1 always does)",
            ""};
  if (huge) return {true, way, ""};
  const std::string setting =
      first_line("/sys/kernel/mm/transparent_hugepage/shmem_enabled").value_or("unknown");
  if (*refused == '\0')
    return {false, "a file system of its own gives none; shmem_enabled is " + setting,
            "as root: echo never > /sys/kernel/mm/transparent_hugepage/shmem_enabled (never is "
            "enough, deny forbids all)"};
  return {
      false, std::string(refused) + "; shmem_enabled is " + setting,
      "allow user namespaces (docker: a seccomp profile with clone, fsopen, fsconfig, fsmount; "
      "Ubuntu: sysctl kernel.apparmor_restrict_unprivileged_userns=0), or as root: echo advise > "
      "/sys/kernel/mm/transparent_hugepage/shmem_enabled (fewer faults and TLB misses; without "
      "them "
      "the kernel copies the first uses of a buffer)"};
}

Answer dev_shm() {
  struct statvfs fs {};
  std::string size, left;
  if (statvfs("/dev/shm", &fs) != 0)
    return {false, std::string("/dev/shm: ") + std::strerror(errno),
            "mount it for the MPI (Tutti itself needs none)"};
  const std::uint64_t bytes = std::uint64_t{fs.f_blocks} * fs.f_frsize;
  const std::uint64_t available = std::uint64_t{fs.f_bavail} * fs.f_frsize;
  return {available >= (std::uint64_t{64} << 20),
          std::string(mib(bytes, size)) + ", " + mib(available, left) + " of it free",
          "give the container more (docker: --shm-size=1g) for the MPI; Tutti itself needs none"};
}

Answer membarrier() {
  const long commands = syscall(SYS_membarrier, MEMBARRIER_CMD_QUERY, 0, 0);
  const bool yes = commands >= 0 && (commands & MEMBARRIER_CMD_GLOBAL_EXPEDITED) != 0;
  return {yes, yes ? "membarrier offers expedited fences" : "membarrier has no expedited fences",
          "nothing: waiting ranks use full fences instead (Linux 4.16 has them)"};
}

// The commons reserves several times the machine's memory as address space that holds nothing yet.
Answer address_space() {
  rlimit limit{};
  getrlimit(RLIMIT_AS, &limit);
  std::string size;
  if (limit.rlim_cur != RLIM_INFINITY)
    return {false, std::string("RLIMIT_AS is ") + mib(limit.rlim_cur, size),
            "ulimit -v unlimited, or a smaller TUTTI_COMMONS_RANGE"};
  getrlimit(RLIMIT_DATA, &limit);
  if (limit.rlim_cur != RLIM_INFINITY)
    return {false, std::string("RLIMIT_DATA is ") + mib(limit.rlim_cur, size),
            "ulimit -d unlimited, or a smaller TUTTI_COMMONS_RANGE"};
  getrlimit(RLIMIT_FSIZE, &limit);
  if (limit.rlim_cur != RLIM_INFINITY)
    return {false, std::string("RLIMIT_FSIZE is ") + mib(limit.rlim_cur, size),
            "ulimit -f unlimited: memory that ranks share is a file"};
  const auto mode = first_line("/proc/sys/vm/overcommit_memory");
  if (mode && *mode == "2")
    return {false, "vm.overcommit_memory is 2: the commons stays off",
            "sysctl vm.overcommit_memory=0"};
  return {true,
          "no RLIMIT_AS, RLIMIT_DATA or RLIMIT_FSIZE, vm.overcommit_memory is " +
              mode.value_or("unknown"),
          ""};
}

Answer page_size() {
  const std::size_t bytes = kernel_page_bytes();
  if (bytes == page_bytes) return {true, std::to_string(bytes) + " bytes", ""};
  return {false, std::to_string(bytes) + " bytes: Tutti stays off, and the MPI does all",
          "a kernel with pages of " + std::to_string(page_bytes) + " bytes"};
}

constexpr Row rows[] = {
    {"page_size", "page size", page_size},
    {"commons", "commons", commons},
    {"cma", "CMA", cma},
    {"xpmem", "XPMEM", xpmem},
    {"knem", "KNEM", knem},
    {"ptrace_scope", "ptrace scope", ptrace_scope},
    {"huge_pages", "huge pages for shared memory", huge_pages},
    {"dev_shm", "/dev/shm", dev_shm},
    {"membarrier", "membarrier", membarrier},
    {"address_space", "address space", address_space},
};

}  // namespace

void memory(Json& json) {
  json.array();
  for (const Row& row : rows) {
    const Answer answer = row.ask();
    json.object()
        .add("name", row.name)
        .add("title", row.title)
        .add("available", answer.available)
        .add("reason", answer.reason)
        .add("advice", answer.advice)
        .end_object();
  }
  json.end_array();
}

}  // namespace tutti::probe
