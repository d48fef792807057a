// SPDX-License-Identifier: BSD-3-Clause
// tutti-probe: what this machine offers, and what the library's model says, as JSON on standard
// output. The `tutti` command reads it.
#include <charconv>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>

#include "base/base.h"
#include "probe/probe.h"

namespace tutti::probe {

std::optional<std::string> first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  if (!std::getline(file, line)) return std::nullopt;
  return line;
}

void options(Json& json) {
  json.array();
  for (const OptionRow& row : option_rows()) {
    json.object()
        .add("name", row.name)
        .add("type", row.type)
        .add("default", row.fallback)
        .add("meaning", row.meaning)
        .end_object();
  }
  json.end_array();
}

namespace {

struct Document {
  const char* name;
  void (*write)(Json&);
};
constexpr Document documents[] = {{"machine", machine}, {"memory", memory}, {"options", options}};

int print(const Json& json) {
  return std::puts(json.text().c_str()) < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}

bool read_cores(const char* word, int& cores) {
  const char* end = word + std::strlen(word);
  const auto [stopped, error] = std::from_chars(word, end, cores);
  return error == std::errc() && stopped == end && cores >= least_cores && cores <= most_cores;
}

int main(int count, char** words) {
  std::signal(SIGXFSZ, SIG_IGN);  // a file that may not be so large is an answer, too
  if (count == 2) {
    for (const Document& document : documents) {
      if (std::strcmp(words[1], document.name) != 0) continue;
      Json json;
      document.write(json);
      return print(json);
    }
  }
  int cores = 0;
  if (count == 3 && std::strcmp(words[1], "model") == 0 && read_cores(words[2], cores)) {
    Json json;
    model(json, cores);
    return print(json);
  }
  std::fprintf(stderr, "usage: tutti-probe machine|memory|options|model CORES (%d to %d)\n",
               least_cores, most_cores);
  return 2;
}

}  // namespace
}  // namespace tutti::probe

int main(int count, char** words) { return tutti::probe::main(count, words); }
