// SPDX-License-Identifier: BSD-3-Clause
#include "choice/kept.h"

#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <memory>

#include "arch/arch.h"
#include "choice/measure.h"

namespace tutti::choice {
namespace {

// What was measured in another way than today's says nothing.
constexpr int version = 1;

struct Close {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, Close>;

std::string cache_folder() {
  if (::getuid() != ::geteuid()) return "";
  const char* cache = std::getenv("XDG_CACHE_HOME");
  if (cache != nullptr && cache[0] == '/') return cache;
  const char* home = std::getenv("HOME");
  return home != nullptr && home[0] == '/' ? std::string(home) + "/.cache" : "";
}

}  // namespace

std::string kept_file() {
  const std::string folder = cache_folder();
  if (folder.empty()) return "";
  utsname name{};
  ::uname(&name);
  char processor[32];
  std::snprintf(processor, sizeof processor, "%08x", arch::processor());
  return folder + "/tutti/costs-" + name.nodename + "-" + processor;
}

std::optional<Costs> load_costs(const std::string& name) {
  const File file(name.empty() ? nullptr : std::fopen(name.c_str(), "re"));
  if (file == nullptr) return std::nullopt;
  Costs costs;
  int found = 0, back = 0;
  const int values =
      std::fscanf(file.get(), "costs %d flag_ns %lf line_ns %lf slot_ns %lf copy_ns %lf back %d",
                  &found, &costs.flag_ns, &costs.line_ns, &costs.slot_ns, &costs.copy_ns, &back);
  if (values != 6 || found != version) return std::nullopt;
  costs.hands_back = back != 0;
  costs.direct_bytes = least_direct_bytes(costs);
  if (!are_plausible(costs)) return std::nullopt;
  return costs;
}

bool keep_costs(const std::string& name, const Costs& costs) {
  if (name.empty()) return false;
  const std::string folder = name.substr(0, name.rfind('/'));
  (void)::mkdir(folder.substr(0, folder.rfind('/')).c_str(), 0700);
  (void)::mkdir(folder.c_str(), 0700);
  const std::string draft = name + "." + std::to_string(::getpid());
  {
    const File file(std::fopen(draft.c_str(), "we"));
    if (file == nullptr) return false;
    std::fprintf(file.get(),
                 "costs %d\nflag_ns %.1f\nline_ns %.1f\nslot_ns %.1f\ncopy_ns %.1f\nback %d\n",
                 version, costs.flag_ns, costs.line_ns, costs.slot_ns, costs.copy_ns,
                 costs.hands_back ? 1 : 0);
    if (std::fflush(file.get()) == 0 && ::rename(draft.c_str(), name.c_str()) == 0) return true;
  }
  (void)::unlink(draft.c_str());
  return false;
}

}  // namespace tutti::choice
