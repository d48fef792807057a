// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>
#include <string>
#include <thread>

#include "job/job.h"
#include "os/relatives.h"

namespace tutti::job {
namespace {

TEST(Roll, WhoIsMissingHasANeighbourInEveryPartOfTheTree) {
  for (const int size : {1, 2, 3, 4, 5, 6, 21, 22, 64, 1000}) {
    std::set<std::pair<int, int>> pairs;
    for (int rank = 0; rank < size; ++rank)
      for (const int other : neighbours_of(rank, size)) {
        ASSERT_GE(other, 0);
        ASSERT_LT(other, size);
        pairs.insert({rank, other});
      }
    EXPECT_EQ(pairs.size(), 2u * static_cast<std::size_t>(size - 1)) << size;
    for (const auto& [rank, other] : pairs) EXPECT_TRUE(pairs.count({other, rank}));
  }
  EXPECT_EQ(neighbours_of(0, 16384).size(), 14u);
  EXPECT_EQ(neighbours_of(16383, 16384), std::vector<int>{16382});
  EXPECT_EQ(neighbours_of(12, 15), (std::vector<int>{8, 13, 14}));
}

TEST(Roll, FewNeighboursAreOnOtherHosts) {
  for (const int near : {1, 2, 4, 8})
    for (const int hosts : {1, 2, 3, 4, 7, 16}) {
      int far = 0;
      for (int rank = 0; rank < hosts * near; ++rank)
        for (const int other : neighbours_of(rank, hosts * near))
          far += other / near != rank / near;
      EXPECT_EQ(far, 2 * (hosts - 1)) << hosts << " hosts of " << near;
    }
}

TEST(Roll, OnlyTheSameTuttiMatches) {
  const Signature mine = Signature::mine();
  const Signature read = Signature::of(mine.text());
  EXPECT_TRUE(read.matches(mine));
  EXPECT_EQ(read.pid, ::getpid());
  EXPECT_EQ(read.host, mine.host);
  Signature other = mine;
  other.tutti += "0";
  EXPECT_FALSE(Signature::of(other.text()).matches(mine));
  for (const char* text : {"", ",", "something else", "0.1.0-1,17"})
    EXPECT_FALSE(Signature::of(text).matches(mine)) << text;
  EXPECT_EQ(mine.text().find(' '), std::string::npos);  // would end a value of PMI-1
}

TEST(Roll, AbsenteesAreNamed) {
  const std::vector<Absentee> one = {{1, "n7", 42, "TUTTI_OFF=1"}};
  EXPECT_EQ(describe(one, 2), "rank 1 of 2 runs without Tutti (pid 42 on n7: TUTTI_OFF=1)");
  const std::vector<Absentee> two = {{0, "", 0, ""}, {3, "n7", 0, ""}};
  EXPECT_EQ(describe(two, 4), "ranks 0 and 3 of 4 run without Tutti (3 is on n7)");
  std::vector<Absentee> many;
  for (int rank = 1; rank < 16384; ++rank)
    if (rank > 8000 || rank % 2 == 1) many.push_back({rank, "node-with-a-name", rank, ""});
  const std::string text = describe(many, 16384);
  EXPECT_EQ(text.find("ranks 1, 3, 5, "), 0u) << text;
  EXPECT_LT(text.size(), 600u) << text;
  many.resize(3);
  many[1].rank = 2;
  EXPECT_EQ(describe(many, 9).find("ranks 1 and 2, 5 of 9"), 0u) << describe(many, 9);
}

TEST(Roll, MapsOfProcesses) {
  EXPECT_EQ(node_of("(vector,(0,1,2))", 1), 0);
  EXPECT_EQ(node_of("(vector,(0,2,2))", 1), 0);
  EXPECT_EQ(node_of("(vector,(0,2,2))", 2), 1);
  EXPECT_EQ(node_of("(vector,(0,1,3),(1,2,1))", 4), 2);
  EXPECT_EQ(node_of("(vector,(0,2,1))", 2), 0);  // again from the first on
  for (const char* text : {"", "(vector,", "(vector,(0,0,0))", "(vector,(0,1))", "node"})
    EXPECT_EQ(node_of(text, 0), -1) << text;
}

// Plays Hydra's proxy for one rank: answers line by line, in pieces.
class Proxy {
 public:
  Proxy() {
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends_), 0);
    ::setenv("PMI_FD", std::to_string(ends_[0]).c_str(), 1);
    ::setenv("PMI_RANK", "1", 1);
    ::setenv("PMI_SIZE", "4", 1);
    ::setenv("MPI_LOCALNRANKS", "2", 1);
    thread_ = std::thread([this] { serve(); });
  }
  ~Proxy() {
    for (const char* name : {"PMI_FD", "PMI_RANK", "PMI_SIZE", "MPI_LOCALNRANKS"}) ::unsetenv(name);
    ::shutdown(ends_[1], SHUT_RDWR);
    thread_.join();
    ::close(ends_[0]);
    ::close(ends_[1]);
  }
  std::map<std::string, std::string> values = {{"PMI_process_mapping", "(vector,(0,2,2))"}};
  std::string said;
  int gets = 1000;  // and then it hangs up

 private:
  static std::string word(const std::string& line, const std::string& name) {
    const std::size_t at = line.find(name + "=");
    if (at == std::string::npos) return "";
    const std::size_t begin = at + name.size() + 1;
    return line.substr(begin, line.find_first_of(" \n", begin) - begin);
  }
  std::string answer(const std::string& line) {
    const std::string request = word(line, "cmd"), key = word(line, "key");
    if (request == "init") return "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0\n";
    if (request == "get_my_kvsname") return "cmd=my_kvsname kvsname=kvs_7_0\n";
    if (word(line, "kvsname") != "kvs_7_0") return "cmd=bad rc=-1\n";
    if (request == "put") {
      values[key] = word(line, "value");
      return "cmd=put_result rc=0 msg=success\n";
    }
    if (values.count(key) == 0) return "cmd=get_result rc=-1 msg=no_key value=unknown\n";
    return "cmd=get_result rc=0 msg=success value=" + values[key] + "\n";
  }
  void serve() {
    std::string line;
    char letter = 0;
    while (::read(ends_[1], &letter, 1) == 1) {
      line += letter;
      if (letter != '\n') continue;
      said += line;
      if (word(line, "cmd") == "get" && gets-- == 0) {
        ::shutdown(ends_[1], SHUT_RDWR);
        return;
      }
      for (const char each : answer(line))
        if (::write(ends_[1], &each, 1) != 1) return;
      line.clear();
    }
  }
  int ends_[2] = {-1, -1};
  std::thread thread_;
};

TEST(Pmi, PutsAndGets) {
  Proxy proxy;
  const std::unique_ptr<Launcher> pmi = find_pmi();
  ASSERT_NE(pmi, nullptr);
  EXPECT_EQ(pmi->rank(), 1);
  EXPECT_TRUE(pmi->put("mine"));
  proxy.values["tutti-3"] = "theirs";
  std::vector<std::string> values;
  ASSERT_TRUE(pmi->get(std::vector<int>{0, 1, 3}, 1, values));
  EXPECT_EQ(values, (std::vector<std::string>{"", "mine", "theirs"}));
  EXPECT_EQ(proxy.said.find("cmd=init "), 0u);  // else a proxy may forget what is put
  const std::vector<std::string> hosts = {"", "n1", "", ""};
  EXPECT_EQ(pmi->host_of(0, hosts), "n1");
  EXPECT_EQ(pmi->host_of(2, hosts), "node 2 of the job");
}

TEST(Pmi, AProxyThatHasGoneIsAnError) {
  Proxy proxy;
  proxy.gets = 1;
  const std::unique_ptr<Launcher> pmi = find_pmi();
  ASSERT_NE(pmi, nullptr);
  std::vector<std::string> values;
  EXPECT_FALSE(pmi->get(std::vector<int>{0, 1}, 1, values));
  EXPECT_FALSE(pmi->put("mine"));
}

TEST(Pmi, OtherLanguagesAreNotSpoken) {
  Proxy proxy;
  ::setenv("I_MPI_PMI", "pmi2", 1);
  EXPECT_EQ(find_pmi(), nullptr);
  ::unsetenv("I_MPI_PMI");
  ::unsetenv("MPI_LOCALNRANKS");
  EXPECT_EQ(find_pmi(), nullptr);
  EXPECT_EQ(proxy.said, "");
}

TEST(Relatives, AreFoundWithWhatTheyHaveBeenStartedWith) {
  int go[2], back[2];
  ASSERT_EQ(::pipe(go), 0);
  ASSERT_EQ(::pipe(back), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    ::dup2(go[0], 0);
    ::dup2(back[1], 1);
    for (const int end : {go[0], go[1], back[0], back[1]}) ::close(end);
    const char* const variables[] = {"XRANK=1", "RANK=17", "LAST=", nullptr};
    ::execle("/bin/cat", "cat", nullptr, const_cast<char**>(variables));
    ::_exit(1);
  }
  // What cat gives back, it has got after the dynamic linker has loaded its libraries.
  char echo = 0;
  ASSERT_EQ(::write(go[1], "x", 1), 1);
  ASSERT_EQ(::read(back[0], &echo, 1), 1);
  std::string value;
  EXPECT_TRUE(os::variable_of(child, "RANK", value));
  EXPECT_EQ(value, "17");
  EXPECT_EQ(os::parent_of(child), ::getpid());
  const std::vector<pid_t> children = os::children_of(::getpid());
  EXPECT_NE(std::find(children.begin(), children.end(), child), children.end());
  EXPECT_TRUE(os::variable_of(child, "LAST", value));
  EXPECT_EQ(value, "");
  EXPECT_FALSE(os::variable_of(child, "AST", value));
  EXPECT_TRUE(os::has_mapped(child, "libc"));
  EXPECT_FALSE(os::has_mapped(child, "libtutti"));
  for (const int end : {go[0], go[1], back[0], back[1]}) ::close(end);
  ::waitpid(child, nullptr, 0);
}

}  // namespace
}  // namespace tutti::job
