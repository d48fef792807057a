// SPDX-License-Identifier: BSD-3-Clause
// Which TCP connections there are between hosts, after MPI_Init and after each of some calls.
//
//   connections DIRECTORY [CALL[:BYTES]]...     all hosts see the directory, which is empty
//
// Each rank writes into DIRECTORY/RANK, for each point and each connection of its host with another
// one, "POINT|LOCAL|REMOTE|1" if it has the socket itself, and else "POINT|LOCAL|REMOTE|0". For a
// point without connections that is "POINT|||0". A point is "MPI_Init", or a call as above.
//
// Ranks meet by a file there, so that nothing is sent between hosts but what the calls send.
#include <dirent.h>
#include <fcntl.h>
#include <mpi.h>
#include <sched.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace {

const MPI_Comm world = MPI_COMM_WORLD;

// Each rank that comes makes the file longer by a byte.
class Meeting {
 public:
  Meeting(const std::string& path, int ranks)
      : file_(open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0644)), ranks_(ranks) {}
  Meeting(const Meeting&) = delete;
  ~Meeting() { close(file_); }

  // Meanwhile the MPI ends what it has begun: of two ranks that connect to each other at the same
  // time, one takes its connection back. To look for messages sends none.
  void meet() {
    if (write(file_, "x", 1) != 1) MPI_Abort(world, 1);
    awaited_ += ranks_;
    for (struct stat now = {}; fstat(file_, &now) == 0 && now.st_size < awaited_; sched_yield()) {
      int flag;
      MPI_Iprobe(0, 0, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE);
    }
  }

 private:
  int file_, ranks_;
  off_t awaited_ = 0;
};

// "socket:[NUMBER]" of each that this process has.
std::set<std::string> own_sockets() {
  std::set<std::string> found;
  const std::string folder = "/proc/self/fd/";
  DIR* const files = opendir(folder.c_str());
  while (const dirent* const file = readdir(files)) {
    char target[64];
    const ssize_t length = readlink((folder + file->d_name).c_str(), target, sizeof target);
    if (length > 0) found.insert(std::string(target, static_cast<std::size_t>(length)));
  }
  closedir(files);
  return found;
}

struct Connection {
  std::string local, remote, socket;
};

// ADDRESS:PORT as the kernel writes them, those of IPv4 alike in both tables.
std::string short_address(const std::string& address) {
  const std::string mapped = "0000000000000000FFFF0000";
  return address.compare(0, mapped.size(), mapped) == 0 ? address.substr(mapped.size()) : address;
}

// The established ones of this host with others.
std::vector<Connection> connections() {
  std::vector<Connection> found;
  for (const char* const table : {"/proc/net/tcp", "/proc/net/tcp6"}) {
    std::ifstream lines(table);
    std::string line, local, remote, state, skipped, inode;
    std::getline(lines, line);  // the heading
    while (std::getline(lines, line)) {
      std::istringstream words(line);
      words >> skipped >> local >> remote >> state;
      for (int i = 0; i < 5; ++i) words >> skipped;
      words >> inode;
      local = short_address(local);
      remote = short_address(remote);
      const auto host = [](const std::string& address) {
        return address.substr(0, address.find(':'));
      };
      // On the loopback and elsewhere in a host both ends have one address.
      if (state == "01" && host(local) != host(remote))
        found.push_back({local, remote, "socket:[" + inode + "]"});
    }
  }
  return found;
}

// Of the buffers, in doubles.
constexpr int most = 1 << 17;
std::vector<double> g_from(most), g_to(most);

int rank_in_world() {
  int rank;
  MPI_Comm_rank(world, &rank);
  return rank;
}

int ranks_in_world() {
  int ranks;
  MPI_Comm_size(world, &ranks);
  return ranks;
}

void split_by_host() {
  char name[256];
  gethostname(name, sizeof name);
  MPI_Comm node;
  MPI_Comm_split(world, static_cast<int>(std::hash<std::string>{}(name) >> 33), 0, &node);
  MPI_Comm_free(&node);
}

void duplicate() {
  MPI_Comm other;
  MPI_Comm_dup(world, &other);
  MPI_Comm_free(&other);
}

// Each rank sends to its parent, which has its number without the last one bit.
void send_in_tree() {
  const int rank = rank_in_world();
  for (int bit = 1; (rank & bit) == 0 && rank + bit < ranks_in_world(); bit *= 2)
    MPI_Recv(nullptr, 0, MPI_INT, rank + bit, 0, world, MPI_STATUS_IGNORE);
  if (rank > 0) MPI_Send(nullptr, 0, MPI_INT, rank & (rank - 1), 0, world);
}

void iallreduce(int n) {
  MPI_Request request;
  MPI_Iallreduce(g_from.data(), g_to.data(), n, MPI_DOUBLE, MPI_SUM, world, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}

void bcast(int n, int root) { MPI_Bcast(g_to.data(), n, MPI_DOUBLE, root, world); }

// What `name` stands for, with `n` doubles a block.
void call(const std::string& name, int n) {
  double *const from = g_from.data(), *const to = g_to.data();
  const MPI_Datatype type = MPI_DOUBLE;
  if (name == "Barrier")
    MPI_Barrier(world);
  else if (name == "Bcast")
    bcast(n, 0);
  else if (name == "Bcast-from-last")
    bcast(n, ranks_in_world() - 1);
  else if (name == "Reduce")
    MPI_Reduce(from, to, n, type, MPI_SUM, 0, world);
  else if (name == "Allreduce")
    MPI_Allreduce(from, to, n, type, MPI_SUM, world);
  else if (name == "Iallreduce")
    iallreduce(n);
  else if (name == "Gather")
    MPI_Gather(from, n, type, to, n, type, 0, world);
  else if (name == "Scatter")
    MPI_Scatter(from, n, type, to, n, type, 0, world);
  else if (name == "Allgather")
    MPI_Allgather(from, n, type, to, n, type, world);
  else if (name == "Alltoall")
    MPI_Alltoall(from, n, type, to, n, type, world);
  else if (name == "Reduce_scatter_block")
    MPI_Reduce_scatter_block(from, to, n, type, MPI_SUM, world);
  else if (name == "Scan")
    MPI_Scan(from, to, n, type, MPI_SUM, world);
  else if (name == "Comm_split-by-host")
    split_by_host();
  else if (name == "Comm_dup")
    duplicate();
  else if (name == "binomial-tree")
    send_in_tree();
  else
    MPI_Abort(world, 2);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  if (argc < 2) MPI_Abort(world, 2);
  const std::string directory = std::string(argv[1]) + "/";
  Meeting all(directory + "meeting", ranks_in_world());
  std::ofstream out(directory + std::to_string(rank_in_world()));
  for (int i = 1; i < argc; ++i) {
    const std::string point = i == 1 ? "MPI_Init" : argv[i];
    if (i > 1) {
      const std::size_t colon = point.find(':');
      const bool sized = colon != std::string::npos;
      call(point.substr(0, colon), sized ? std::stoi(point.substr(colon + 1)) / 8 : 0);
    }
    all.meet();  // Nobody is in the call any more, ...
    all.meet();  // and what it has begun has ended.
    const std::set<std::string> own = own_sockets();
    const std::vector<Connection> found = connections();
    if (found.empty()) out << point << "|||0\n";
    for (const Connection& each : found)
      out << point << '|' << each.local << '|' << each.remote << '|' << own.count(each.socket)
          << '\n';
    all.meet();  // All have looked.
  }
  MPI_Finalize();
}
