// SPDX-License-Identifier: BSD-3-Clause
// PMI-1: a request is a line, and so is its answer. The MPI speaks it on the same socket, in
// MPI_Init and from then on seldom, so all that is asked here has been answered before.
#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>

#include "job/launcher.h"

namespace tutti::job {
namespace {

constexpr int patience_ms = 10'000;  // for an answer; the launcher's proxy is on this node
constexpr const char* key = "tutti-";

// What `name` is in a line of "name=value" words; "" without it.
std::string value_in(const std::string& line, const char* name) {
  const std::string wanted = std::string(" ") + name + "=";
  const std::size_t at = line.find(wanted);
  if (at == std::string::npos) return "";
  const std::size_t begin = at + wanted.size();
  return line.substr(begin, line.find_first_of(" \n", begin) - begin);
}

class Pmi final : public Launcher {
 public:
  Pmi(int fd, int rank) : fd_(fd), rank_(rank) {}

  // MPICH 4.0's proxy forgets what was put before somebody has said this, whom it answers as often
  // as it is asked.
  bool begin() {
    std::string answer;
    if (!ask("cmd=init pmi_version=1 pmi_subversion=1\n", answer)) return false;
    if (value_in(answer, "rc") != "0" || !ask("cmd=get_my_kvsname\n", answer)) return false;
    space_ = value_in(answer, "kvsname");
    return !space_.empty();
  }

  [[nodiscard]] int rank() const override { return rank_; }
  [[nodiscard]] const char* rank_variable() const override { return "PMI_RANK"; }

  // The MPI may be waiting for an answer there, too.
  [[nodiscard]] bool bears_threads() const override { return false; }

  bool put(const std::string& value) override {
    const std::lock_guard lock(asking_);
    std::string answer;
    return ask("cmd=put kvsname=" + space_ + " key=" + key + std::to_string(rank_) +
                   " value=" + value + "\n",
               answer) &&
           value_in(answer, "rc") == "0";
  }

  bool get(std::span<const int> ranks, int, std::vector<std::string>& values) override {
    values.assign(ranks.size(), "");
    for (std::size_t i = 0; i < ranks.size(); ++i)
      if (!look_up(key + std::to_string(ranks[i]), values[i])) return false;
    return true;
  }

  std::string host_of(int rank, std::span<const std::string> hosts) override {
    if (mapping_.empty() && !look_up("PMI_process_mapping", mapping_)) return "";
    const int node = node_of(mapping_, rank);
    for (std::size_t other = 0; node >= 0 && other < hosts.size(); ++other)
      if (!hosts[other].empty() && node_of(mapping_, static_cast<int>(other)) == node)
        return hosts[other];
    return node < 0 ? "" : "node " + std::to_string(node + 1) + " of the job";
  }

 private:
  bool look_up(const std::string& name, std::string& value) {
    const std::lock_guard lock(asking_);
    std::string answer;
    if (!ask("cmd=get kvsname=" + space_ + " key=" + name + "\n", answer)) return false;
    value = value_in(answer, "rc") == "0" ? value_in(answer, "value") : "";
    return true;
  }

  bool ask(const std::string& request, std::string& answer) {
    answer.clear();
    if (!answers_) return false;
    answers_ = false;  // a proxy that has failed once is not asked again
    for (std::size_t sent = 0; sent < request.size();) {
      const ssize_t some = ::send(fd_, request.data() + sent, request.size() - sent, MSG_NOSIGNAL);
      if (some < 0 && errno == EINTR) continue;
      if (some <= 0) return false;
      sent += static_cast<std::size_t>(some);
    }
    while (answer.empty() || answer.back() != '\n') {
      pollfd ready{fd_, POLLIN, 0};
      const int found = ::poll(&ready, 1, patience_ms);
      if (found < 0 && errno == EINTR) continue;
      char text[4096];
      const ssize_t length = found == 1 ? ::recv(fd_, text, sizeof text, 0) : -1;
      if (length < 0 && found == 1 && errno == EINTR) continue;
      if (length <= 0) return false;
      answer.append(text, static_cast<std::size_t>(length));
    }
    answers_ = true;
    return true;
  }

  const int fd_;
  const int rank_;
  bool answers_ = true;
  std::mutex asking_;
  std::string space_, mapping_;
};

// A number of the environment; -1 without it.
int number(const char* name) {
  const char* text = std::getenv(name);
  return text != nullptr && *text != '\0' ? std::atoi(text) : -1;
}

bool is_set_to_other(const char* name, const char* to) {
  const char* text = std::getenv(name);
  return text != nullptr && std::strcmp(text, to) != 0;
}

}  // namespace

std::unique_ptr<Launcher> find_pmi() {
  // Others that set PMI_FD may speak PMI-2 there, as Slurm does.
  const bool hydra = std::getenv("MPI_LOCALNRANKS") != nullptr;
  const bool other = is_set_to_other("I_MPI_PMI", "pmi1") ||
                     is_set_to_other("MPIR_CVAR_PMI_VERSION", "1") ||
                     std::getenv("I_MPI_PMI_LIBRARY") != nullptr;
  const int fd = number("PMI_FD"), rank = number("PMI_RANK");
  if (!hydra || other || fd < 0 || rank < 0 || number("PMI_SIZE") < 2) return nullptr;
  auto pmi = std::make_unique<Pmi>(fd, rank);
  if (!pmi->begin()) return nullptr;
  return pmi;
}

int node_of(const std::string& mapping, int rank) {
  const std::size_t start = mapping.find("(vector,");
  if (start == std::string::npos) return -1;
  for (int first_rank = 0;;) {
    const int before = first_rank;
    const char* at = mapping.c_str() + start + std::strlen("(vector,");
    int first = 0, nodes = 0, ranks = 0, length = 0;
    while (std::sscanf(at, "(%d,%d,%d)%n", &first, &nodes, &ranks, &length) == 3 && length > 0) {
      if (nodes < 1 || ranks < 1) return -1;
      if (rank < first_rank + nodes * ranks) return first + (rank - first_rank) / ranks;
      first_rank += nodes * ranks;
      at += length;
      if (*at == ',') ++at;
      length = 0;
    }
    if (first_rank == before) return -1;  // what is there begins anew when it is over
  }
}

}  // namespace tutti::job
