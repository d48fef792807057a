// SPDX-License-Identifier: BSD-3-Clause
// Programs of sessions: sessions WHAT. Prints "sessions: N wrong".
#include <dirent.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <string>
#include <thread>

#include "bare.h"
#include "every.h"

namespace {

int rank = 0, size = 1;

#if MPI_VERSION >= 4 || OMPI_MAJOR_VERSION >= 5

MPI_Session open_session() {
  MPI_Session session;
  MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
  return session;
}
MPI_Comm comm_of(MPI_Group group, const char* tag, MPI_Errhandler handler = MPI_ERRORS_ARE_FATAL) {
  MPI_Comm comm;
  MPI_Comm_create_from_group(group, tag, MPI_INFO_NULL, handler, &comm);
  return comm;
}
MPI_Comm comm_of(MPI_Session session, const char* set, const char* tag) {
  MPI_Group group;
  MPI_Group_from_session_pset(session, set, &group);
  const MPI_Comm comm = comm_of(group, tag);
  MPI_Group_free(&group);
  return comm;
}
MPI_Comm world_of(MPI_Session session, const char* tag) {
  const MPI_Comm comm = comm_of(session, "mpi://WORLD", tag);
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  return comm;
}

// Nonblocking ones, of which the first may be a communicator's first collective.
int start_and_wait(MPI_Comm comm) {
  int members = 0, me = 0, wrong = 0;
  MPI_Comm_rank(comm, &me);
  MPI_Comm_size(comm, &members);
  for (const int count : {1, 300, 40000}) {
    std::vector<int> mine(count, me + 1), sums(count), roots(count, me == 0 ? 7 : 0);
    MPI_Request requests[2];
    MPI_Iallreduce(mine.data(), sums.data(), count, MPI_INT, MPI_SUM, comm, &requests[0]);
    MPI_Ibcast(roots.data(), count, MPI_INT, 0, comm, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    for (int i = 0; i < count; ++i)
      wrong += (sums[i] != members * (members + 1) / 2) + (roots[i] != 7);
  }
  return wrong;
}

// Half of a table, whose place in memory only the MPI knows, is received late.
class Half {
 public:
  void start(MPI_Comm comm) {
    const int whole[] = {6, 4}, block[] = {MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_NONE};
    const int spread[] = {MPI_DISTRIBUTE_DFLT_DARG, MPI_DISTRIBUTE_DFLT_DARG}, grid[] = {2, 1};
    MPI_Datatype upper;
    MPI_Type_create_darray(2, 0, 2, whole, block, spread, grid, MPI_ORDER_C, MPI_INT, &upper);
    MPI_Type_commit(&upper);
    table_.assign(24, rank == 0 ? 9 : 0);
    MPI_Ibcast(table_.data(), 1, upper, 0, comm, &request_);
    MPI_Type_free(&upper);
  }
  int wait() {
    MPI_Wait(&request_, MPI_STATUS_IGNORE);
    int wrong = 0;
    for (int i = 0; i < 24; ++i) wrong += table_[i] != (i < 12 || rank == 0 ? 9 : 0);
    return wrong;
  }

 private:
  std::vector<int> table_;
  MPI_Request request_ = MPI_REQUEST_NULL;
};

// Of every four elements two; the layout is known anew in each life.
int strided(MPI_Comm comm) {
  MPI_Datatype pairs;
  MPI_Type_vector(500, 2, 4, MPI_INT, &pairs);
  MPI_Type_commit(&pairs);
  std::vector<int> table(2000, rank == 0 ? 5 : 0);
  MPI_Bcast(table.data(), 1, pairs, 0, comm);
  MPI_Type_free(&pairs);
  int wrong = 0;
  for (int i = 0; i < 2000; ++i) wrong += table[i] != (i % 4 < 2 || rank == 0 ? 5 : 0);
  return wrong;
}

int only() {
  MPI_Session session = open_session();
  MPI_Comm comm = world_of(session, "only.world"), other;
  int wrong = start_and_wait(comm) + try_out(comm) + strided(comm);
  MPI_Comm_dup(comm, &other);
  wrong += start_and_wait(other) + try_and_free(other);
  MPI_Comm_split(comm, rank / 2, -rank, &other);
  wrong += try_and_free(other);
  wrong += try_and_free(comm_of(session, "mpi://SELF", "only.self"));
  MPI_Group group, evens;
  MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
  int range[1][3] = {{0, size - 1, 2}};
  MPI_Group_range_incl(group, 1, range, &evens);
  if (rank % 2 == 0) wrong += try_and_free(comm_of(evens, "only.evens"));
  MPI_Group_free(&evens);
  MPI_Group_free(&group);
  Half half;
  MPI_Comm_dup(comm, &other);
  half.start(other);
  MPI_Comm_free(&other);
  wrong += half.wait();
  BARE(Allreduce)(MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_MAX, comm);
  MPI_Comm_free(&comm);
  MPI_Session_finalize(&session);
  return wrong;
}

// Parts of the job meet before all of it does.
int parts_first() {
  MPI_Session session = open_session();
  MPI_Group group, part;
  MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
  MPI_Group_rank(group, &rank);
  MPI_Group_size(group, &size);
  int range[1][3] = {{rank == 0 ? 0 : 1, rank == 0 ? 0 : size - 1, 1}};
  MPI_Group_range_incl(group, 1, range, &part);
  const MPI_Comm mine = comm_of(part, rank == 0 ? "parts.first" : "parts.others");
  int wrong = try_out(mine);
  MPI_Comm all = world_of(session, "parts.world"), again;
  wrong += try_out(all) + try_and_free(mine);
  MPI_Comm_split(all, rank == 0, rank, &again);
  wrong += try_and_free(again) + start_and_wait(all);
  BARE(Allreduce)(MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_MAX, all);
  MPI_Comm_free(&all);
  MPI_Group_free(&part);
  MPI_Group_free(&group);
  MPI_Session_finalize(&session);
  return wrong;
}

// What Tutti must not have when there is no session: a thread, a segment.
int left_behind() {
  int left = 0;
  DIR* threads = opendir("/proc/self/task");
  while (const dirent* entry = readdir(threads)) {
    std::string name;
    std::ifstream("/proc/self/task/" + std::string(entry->d_name) + "/comm") >> name;
    left += name.rfind("tutti", 0) == 0;
  }
  closedir(threads);
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    if (line.find("tutti-segment") == std::string::npos) continue;
    std::printf("left: %s\n", line.c_str());
    ++left;
  }
  if (left > 0) std::printf("WRONG: %d threads and segments are left\n", left);
  return left;
}

// One life after the other, of which one is MPI_Init's.
int again() {
  int wrong = only() + left_behind() + only() + left_behind();
  MPI_Init(nullptr, nullptr);
  wrong += try_out(MPI_COMM_WORLD) + start_and_wait(MPI_COMM_WORLD);
  MPI_Finalize();
  return wrong + left_behind() + only() + left_behind();
}

// Several at once, which end in another order than they began.
int several() {
  MPI_Session first = open_session(), second = open_session();
  MPI_Comm one = world_of(first, "several.one"),
           two = comm_of(second, "mpi://WORLD", "several.two");
  int wrong = try_out(one) + try_out(two);
  wrong += try_and_free(one) + start_and_wait(two);
  MPI_Session_finalize(&first);
  wrong += try_out(two) + try_and_free(comm_of(second, "mpi://WORLD", "several.three"));
  BARE(Allreduce)(MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_MAX, two);
  MPI_Comm_free(&two);
  MPI_Session_finalize(&second);
  return wrong + left_behind();
}

// Threads come, and go on together.
class Gate {
 public:
  explicit Gate(int threads) : threads_(threads) {}
  void pass() {
    const int before = come_.fetch_add(1);
    while (come_.load() < (before / threads_ + 1) * threads_) std::this_thread::yield();
  }

 private:
  const int threads_;
  std::atomic<int> come_{0};
};

// Each thread has a session of its own, and its life.
int threads() {
  constexpr int count = 3;
  MPI_Info info;
  MPI_Info_create(&info);
  MPI_Info_set(info, "thread_level", "MPI_THREAD_MULTIPLE");
  MPI_Session session;
  MPI_Session_init(info, MPI_ERRORS_ARE_FATAL, &session);
  MPI_Comm comm = world_of(session, "threads.world");
  int wrong[count] = {};
  std::vector<std::thread> running;
  for (int t = 0; t < count; ++t)
    running.emplace_back([&, t] {
      MPI_Session mine;
      MPI_Session_init(info, MPI_ERRORS_ARE_FATAL, &mine);
      for (int round = 0; round < 3; ++round) {
        const std::string tag = "threads." + std::to_string(t);
        wrong[t] += try_and_free(comm_of(mine, "mpi://WORLD", tag.c_str()));
      }
      MPI_Session_finalize(&mine);
    });
  for (std::thread& thread : running) thread.join();
  int sum = wrong[0] + wrong[1] + wrong[2] + try_out(comm);
  MPI_Comm_free(&comm);
  MPI_Info_free(&info);
  MPI_Session_finalize(&session);
  return sum;
}

// Threads open sessions at the same time, each its own, and close them at the same time. `turns`:
// communicators are made one after the other, and then used, which is all that some MPIs can do.
int at_once(int count, bool turns) {
  MPI_Info info;
  MPI_Info_create(&info);
  MPI_Info_set(info, "thread_level", "MPI_THREAD_MULTIPLE");
  Gate open(count), made(count), close(count);
  std::atomic<int> turn{0};
  std::vector<int> wrong(count), ranks(count), sizes(count);
  std::vector<std::thread> running;
  for (int t = 0; t < count; ++t)
    running.emplace_back([&, t] {
      MPI_Session mine;
      open.pass();
      MPI_Session_init(info, MPI_ERRORS_ARE_FATAL, &mine);
      while (turns && turn.load() != t) std::this_thread::yield();
      const std::string tag = "once." + std::to_string(t);
      const MPI_Comm comm = comm_of(mine, "mpi://WORLD", tag.c_str());
      turn.store(t + 1);
      if (turns) made.pass();
      MPI_Comm_rank(comm, &ranks[t]);
      MPI_Comm_size(comm, &sizes[t]);
      wrong[t] += start_and_wait(comm) + try_and_free(comm);
      close.pass();  // not every MPI can open one after the last was closed
      MPI_Session_finalize(&mine);
    });
  int sum = 0;
  for (std::thread& thread : running) thread.join();
  for (int t = 0; t < count; ++t) sum += wrong[t];
  MPI_Info_free(&info);
  rank = ranks[0];
  size = sizes[0];
  return sum;
}

// Communicators of groups come and go, and some live at the same time.
int many(int rounds, int alive) {
  MPI_Session session = open_session();
  MPI_Comm all = world_of(session, "many.world");
  int wrong = 0, sum = 0;
  std::vector<MPI_Comm> kept(alive);
  for (int i = 0; i < alive; ++i) {
    const std::string tag = "many.kept." + std::to_string(i);
    kept[i] = comm_of(session, "mpi://WORLD", tag.c_str());
  }
  for (int round = 0; round < rounds; ++round) {
    const std::string tag = "many." + std::to_string(round);
    MPI_Comm comm = comm_of(session, "mpi://WORLD", tag.c_str()), copy;
    MPI_Comm_dup(comm, &copy);
    for (MPI_Comm each : {comm, copy, alive > 0 ? kept[round % alive] : all}) {
      MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, each);
      wrong += sum != size * (size - 1) / 2;
    }
    MPI_Comm_free(&comm);  // before what was made of it
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, copy);
    wrong += sum != size * (size - 1) / 2;
    MPI_Comm_free(&copy);
  }
  for (MPI_Comm& each : kept) MPI_Comm_free(&each);
  wrong += try_and_free(all);
  MPI_Session_finalize(&session);
  return wrong + left_behind();
}

// What goes wrong is told to the communicator's error handler; others go on. `apart`: the ranks are
// on several hosts, where the communicator is of no use afterwards.
int errors(bool apart) {
  MPI_Session session;
  MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session);
  MPI_Group group;
  MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
  MPI_Comm broken = comm_of(group, "errors.broken", MPI_ERRORS_RETURN);
  MPI_Comm whole = comm_of(group, "errors.whole");
  MPI_Group_free(&group);
  MPI_Comm_rank(whole, &rank);
  int value = 1, sum = 0, wrong = 0;
  const MPI_Op op = rank == 0 ? MPI_MAX : MPI_SUM;
  int error = MPI_SUCCESS;
  MPI_Error_class(MPI_Allreduce(&value, &sum, 1, MPI_INT, op, broken), &error);
  wrong += error != MPI_ERR_OTHER;
  // Else of the MPI, as all later ones.
  wrong += (MPI_Barrier(broken) == MPI_SUCCESS) == apart;
  wrong += try_out(whole);
  MPI_Comm_free(&broken);
  MPI_Comm_free(&whole);
  MPI_Session_finalize(&session);
  return wrong;
}

// A session that is opened and closed between MPI_Init and MPI_Finalize.
int beside() {
  MPI_Session session = open_session();
  MPI_Comm comm = world_of(session, "beside.world");
  int wrong = try_and_free(comm_of(session, "mpi://SELF", "beside.self"));
  wrong += start_and_wait(comm) + try_and_free(comm);
  MPI_Session_finalize(&session);
  return wrong + try_out(MPI_COMM_WORLD);
}

// One that is there before MPI_Init and after MPI_Finalize, with something under way.
int around(int* argc, char*** argv) {
  MPI_Session session = open_session();
  MPI_Comm comm = world_of(session, "around.world"), early;
  MPI_Comm_dup(comm, &early);
  int wrong = try_out(early);
  MPI_Init(argc, argv);
  wrong += try_out(comm) + try_out(early) + try_out(MPI_COMM_WORLD);
  Half half;
  if (rank != 0) half.start(comm);
  MPI_Finalize();
  if (rank == 0) half.start(comm);
  wrong += half.wait();
  wrong += try_out(comm);
  MPI_Comm_free(&early);
  wrong += try_and_free(comm);
  MPI_Session_finalize(&session);
  return wrong + left_behind();
}

// The last rank waits for what the others have under way before it comes to MPI_Finalize.
int ahead(int* argc, char*** argv) {
  MPI_Session session = open_session();
  MPI_Comm comm = world_of(session, "ahead.world");
  int wrong = try_out(comm);
  MPI_Init(argc, argv);
  int one = 1, sums[2] = {};
  MPI_Request requests[2];
  if (rank == size - 1) usleep(100'000);
  for (int i : {0, 1}) MPI_Iallreduce(&one, &sums[i], 1, MPI_INT, MPI_SUM, comm, &requests[i]);
  if (rank == size - 1) MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  MPI_Finalize();
  if (rank != size - 1) MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  wrong += (sums[0] != size) + (sums[1] != size) + try_and_free(comm);
  MPI_Session_finalize(&session);
  return wrong;
}

// The same before it comes to MPI_Init.
int behind(int* argc, char*** argv) {
  MPI_Session session = open_session();
  MPI_Comm comm = world_of(session, "behind.world");
  int wrong = try_out(comm), one = 1, sum = 0;
  MPI_Request request;
  MPI_Iallreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm, &request);
  if (rank == size - 1) MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Init(argc, argv);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  wrong += (sum != size) + try_and_free(comm);
  MPI_Finalize();
  MPI_Session_finalize(&session);
  return wrong;
}

int life(const std::string& what, int* argc, char*** argv) {
  if (what == "only") return only() + left_behind();
  if (what == "parts-first") return parts_first();
  if (what == "again") return again();
  if (what == "several") return several();
  if (what == "threads") return threads();
  if (what == "at-once-2") return at_once(2, false);
  if (what == "at-once-8") return at_once(8, false);
  if (what == "at-once-turns") return at_once(4, true);
  // What threads that have ended have left goes with the next life.
  if (what == "at-once-before") return at_once(4, false) + only() + left_behind();
  if (what == "many") return many(200, 20);
  if (what == "errors") return errors(false);
  if (what == "errors-apart") return errors(true);
  if (what == "around") return around(argc, argv);
  if (what == "ahead") return ahead(argc, argv);
  if (what == "behind") return behind(argc, argv);
  if (what != "beside") return -1;
  MPI_Init(argc, argv);
  const int wrong = beside();
  MPI_Finalize();
  return wrong;
}

#else
int life(const std::string&, int*, char***) { return 0; }
#endif

}  // namespace

int main(int argc, char** argv) {
  const int wrong = life(argc > 1 ? argv[1] : "", &argc, &argv);
  if (rank == 0 || wrong != 0) std::printf("sessions: %d wrong\n", wrong);
  return wrong != 0;
}
