// SPDX-License-Identifier: BSD-3-Clause
#include "choice/kept.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <memory>

#include "arch/arch.h"
#include "choice/measure.h"

namespace tutti::choice {
namespace {

// What was measured in another way than today's says nothing.
constexpr int version = 4;
// To be written and read. In whole picoseconds, as the program's locale may have other points.
constexpr const char* text =
    "costs %d\nflag_ps %lld\nline_ps %lld\nleft_ps %lld\nhanded_back_ps %lld\nshort_ps %lld\n"
    "reserved_ps %lld\ncopy_ps %lld\nswitch_ps %lld\n";
// A host may get other neighbours, another kernel, or be another one of that name.
constexpr std::time_t longest_kept_s = 7 * 24 * 3600;
constexpr std::time_t skew_s = 3600;  // between the clocks of hosts and file servers

bool is_recent(const struct stat& about) {
  const std::time_t age_s = std::time(nullptr) - about.st_mtime;
  return -skew_s < age_s && age_s < longest_kept_s;
}

struct Close {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, Close>;

// A plain file of ours, and nothing that one would wait for.
File open_kept(const char* name) {
  const int fd = ::open(name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (fd < 0) return nullptr;
  struct stat found {};
  const bool good = ::fstat(fd, &found) == 0 && S_ISREG(found.st_mode) &&
                    found.st_uid == ::geteuid() && is_recent(found);
  File file(good ? ::fdopen(fd, "r") : nullptr);
  if (file == nullptr) ::close(fd);
  return file;
}

bool write(int fd, const Costs& costs) {
  std::FILE* const file = ::fdopen(fd, "w");
  if (file == nullptr) {
    ::close(fd);
    return false;
  }
  const auto ps = [](double ns) { return std::llround(ns * 1000); };
  const bool written =
      std::fprintf(file, text, version, ps(costs.flag_ns), ps(costs.line_ns), ps(costs.left_ns),
                   ps(costs.handed_back_ns), ps(costs.short_ns), ps(costs.reserved_ns),
                   ps(costs.copy_ns), ps(costs.switch_ns)) > 0;
  return std::fclose(file) == 0 && written;  // some file systems are full only then
}

// Costs that are too old to be read, of hosts that may be gone, and drafts that a process has left.
void remove_old(const std::string& folder) {
  const std::unique_ptr<DIR, int (*)(DIR*)> all(::opendir(folder.c_str()), ::closedir);
  if (all == nullptr) return;
  while (const dirent* const entry = ::readdir(all.get())) {
    struct stat about {};
    const int dir = ::dirfd(all.get());
    if (std::strncmp(entry->d_name, "costs-", 6) == 0 &&
        ::fstatat(dir, entry->d_name, &about, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(about.st_mode) &&
        !is_recent(about))
      (void)::unlinkat(dir, entry->d_name, 0);
  }
}

}  // namespace

std::string file_in(const char* cache, const char* home) {
  std::string folder;
  if (cache != nullptr && cache[0] == '/')  // relative ones are to be ignored
    folder = cache;
  else if (home != nullptr && home[0] == '/')
    folder = std::string(home) + "/.cache";
  if (folder.empty()) return "";
  utsname name{};
  ::uname(&name);
  char processor[32];
  std::snprintf(processor, sizeof processor, "%08x", arch::processor());
  // Another version of Tutti keeps its own.
  return folder + "/tutti/costs-" + std::to_string(version) + "-" + name.nodename + "-" + processor;
}

const std::string& kept_file() {
  // Of another user's cache nothing is to be known, and the program may change its environment.
  static const std::string file = ::getuid() == ::geteuid() && ::getgid() == ::getegid()
                                      ? file_in(std::getenv("XDG_CACHE_HOME"), std::getenv("HOME"))
                                      : "";
  return file;
}

std::optional<Costs> load_costs(const std::string& name) {
  const File file = open_kept(name.c_str());
  if (file == nullptr) return std::nullopt;
  int found = 0;
  long long flag = 0, line = 0, left = 0, back = 0, brief = 0, reserved = 0, copy = 0, turn = 0;
  const int values = std::fscanf(file.get(), text, &found, &flag, &line, &left, &back, &brief,
                                 &reserved, &copy, &turn);
  if (values != 9 || found != version) return std::nullopt;
  const auto ns = [](long long ps) { return static_cast<double>(ps) / 1000; };
  Costs costs{.flag_ns = ns(flag),
              .line_ns = ns(line),
              .left_ns = ns(left),
              .handed_back_ns = ns(back),
              .short_ns = ns(brief),
              .reserved_ns = ns(reserved),
              .copy_ns = ns(copy),
              .switch_ns = ns(turn)};
  if (!are_plausible(costs)) return std::nullopt;
  return costs;
}

bool keep_costs(const std::string& name, const Costs& costs, bool tidies) {
  if (name.empty()) return false;
  const std::string folder = name.substr(0, name.rfind('/'));
  (void)::mkdir(folder.substr(0, folder.rfind('/')).c_str(), 0700);
  (void)::mkdir(folder.c_str(), 0700);
  std::string draft = name + ".XXXXXX";
  const int fd = ::mkostemp(draft.data(), O_CLOEXEC);
  if (fd < 0) return false;
  if (write(fd, costs) && ::rename(draft.c_str(), name.c_str()) == 0) {
    if (tidies) remove_old(folder);
    return true;
  }
  (void)::unlink(draft.c_str());
  return false;
}

}  // namespace tutti::choice
