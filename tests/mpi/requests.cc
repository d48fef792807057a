// SPDX-License-Identifier: BSD-3-Clause
// What programs and tools do with requests of nonblocking collectives besides waiting: requests
// WHAT. Ends with "requests: N wrong".
#include <dlfcn.h>
#include <mpi.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "bare.h"

namespace {

int rank = 0, size = 0;

// Freed before it is over, and the memory that it had used again.
int freed_early() {
  int wrong = 0;
  for (int round = 0; round < 20; ++round) {
    int one = 1, sum = 0;
    MPI_Request request, other;
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 1) usleep(5000);
    MPI_Ibarrier(MPI_COMM_WORLD, &request);
    MPI_Request_free(&request);
    std::vector<void*> blocks;
    for (int bytes = 64; bytes < 8192; bytes += 16) {
      blocks.push_back(std::malloc(bytes));
      std::memset(blocks.back(), 0xee, bytes);
    }
    MPI_Iallreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &other);
    MPI_Wait(&other, MPI_STATUS_IGNORE);
    for (void* block : blocks) std::free(block);
    wrong += sum != size;
  }
  return wrong;
}

// As a tool does that wraps only one of the two.
int profiled() {
  int one = 1, sum = 0, flag = 0;
  MPI_Request request;
  MPI_Iallreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
  PMPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Iallreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
  while (!flag) PMPI_Test(&request, &flag, MPI_STATUS_IGNORE);
  return sum != size;
}

MPI_Request g_other;
int g_calls = 0;
void handle(MPI_Comm*, int*, ...) {
  if (g_calls++ == 0) MPI_Wait(&g_other, MPI_STATUS_IGNORE);
}

// An error handler that waits for another request.
int handled() {
  MPI_Comm dup;
  MPI_Comm_dup(MPI_COMM_WORLD, &dup);
  MPI_Errhandler handler;
  MPI_Comm_create_errhandler(handle, &handler);
  MPI_Comm_set_errhandler(dup, handler);
  int one = 1, lost = 0, sum = 0;
  MPI_Request request;
  MPI_Iallreduce(&one, &lost, 1, MPI_INT, rank == 0 ? MPI_MAX : MPI_SUM, dup, &request);
  MPI_Iallreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &g_other);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  return g_calls == 0 || sum != size;
}

MPI_Comm g_comm_told = MPI_COMM_NULL;
int g_code_told = MPI_SUCCESS;
void remember(MPI_Comm* comm, int* code, ...) {
  g_comm_told = *comm;
  g_code_told = *code;
}

// The MPI makes no request (see refusing.cc): an error of that communicator, and of that call
// alone.
int refused() {
  auto* refuses = static_cast<int*>(dlsym(RTLD_DEFAULT, "refuses_requests"));
  if (refuses == nullptr) return 1;
  MPI_Comm dup;
  MPI_Comm_dup(MPI_COMM_WORLD, &dup);
  MPI_Errhandler handler;
  MPI_Comm_create_errhandler(remember, &handler);
  MPI_Comm_set_errhandler(dup, handler);
  int one = 1, lost = 0, sum = 0, wrong = 0, error_class = 0;
  MPI_Request request;
  *refuses = 1;
  const int code = MPI_Iallreduce(&one, &lost, 1, MPI_INT, MPI_SUM, dup, &request);
  *refuses = 0;
  MPI_Error_class(code, &error_class);
  wrong += error_class != MPI_ERR_NO_MEM || g_comm_told != dup || g_code_told != code;
  MPI_Iallreduce(&one, &sum, 1, MPI_INT, MPI_SUM, dup, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Comm_free(&dup);
  return wrong + (sum != size);
}

// Threads that wait at once, each for its own communicator's.
int threaded() {
  int provided;
  MPI_Query_thread(&provided);
  if (provided != MPI_THREAD_MULTIPLE) return 0;
  constexpr int threads = 3, rounds = 200;
  MPI_Comm comms[threads];
  for (MPI_Comm& comm : comms) MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  std::vector<int> wrong(threads);
  std::vector<std::thread> all;
  for (int t = 0; t < threads; ++t)
    all.emplace_back([&, t] {
      std::vector<int> in(4000, t + 1), out(4000);
      for (int i = 0; i < rounds; ++i) {
        MPI_Request requests[2];
        MPI_Iallreduce(in.data(), out.data(), i % 2 ? 4000 : 3, MPI_INT, MPI_SUM, comms[t],
                       &requests[0]);
        MPI_Ibarrier(comms[t], &requests[1]);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        wrong[t] += out[2] != size * (t + 1);
      }
    });
  for (std::thread& thread : all) thread.join();
  int sum = 0;
  for (int each : wrong) sum += each;
  return sum;
}

// Statuses of several, among requests that are null.
int mixed() {
  int one = 1, sum = 0, token = rank, got = -1, wrong = 0;
  MPI_Request requests[4] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL,
                             MPI_REQUEST_NULL};
  MPI_Iallreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[1]);
  MPI_Irecv(&got, 1, MPI_INT, (rank + 1) % size, 9, MPI_COMM_WORLD, &requests[2]);
  MPI_Send(&token, 1, MPI_INT, (rank + size - 1) % size, 9, MPI_COMM_WORLD);
  MPI_Status statuses[4];
  MPI_Waitall(4, requests, statuses);
  int elements = -1, cancelled = -1;
  MPI_Get_elements(&statuses[1], MPI_BYTE, &elements);
  MPI_Test_cancelled(&statuses[1], &cancelled);
  wrong += elements != 0 || cancelled != 0 || sum != size;
  MPI_Get_elements(&statuses[2], MPI_INT, &elements);
  wrong += elements != 1 || statuses[2].MPI_TAG != 9 || got != (rank + 1) % size;
  int index = 5, count = 5, indices[4], flag = 0;
  MPI_Waitany(4, requests, &index, MPI_STATUS_IGNORE);
  MPI_Waitsome(4, requests, &count, indices, MPI_STATUSES_IGNORE);
  MPI_Testall(4, requests, &flag, MPI_STATUSES_IGNORE);
  return wrong + (index != MPI_UNDEFINED) + (count != MPI_UNDEFINED) + !flag;
}

int class_of(int code) {
  int error_class = code;
  if (code != MPI_SUCCESS) MPI_Error_class(code, &error_class);
  return error_class;
}

// An Iallreduce that does not match, on a communicator of its own whose errors return.
MPI_Comm start_failing(MPI_Request* request) {
  static int in, out;
  MPI_Comm dup;
  MPI_Comm_dup(MPI_COMM_WORLD, &dup);
  MPI_Comm_set_errhandler(dup, MPI_ERRORS_RETURN);
  MPI_Iallreduce(&in, &out, 1, MPI_INT, rank == 0 ? MPI_MAX : MPI_SUM, dup, request);
  return dup;
}

// What the MPI says of a wrong count, it says while something is under way as well.
int miscounted() {
  int wrong = 0;
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Request request;
  MPI_Status statuses[2];
  if (rank == 1) usleep(100'000);
  MPI_Ibarrier(MPI_COMM_WORLD, &request);
  int count, indices[2];
  wrong += MPI_Waitall(-1, &request, statuses) == MPI_SUCCESS;
  wrong += MPI_Waitsome(-1, &request, &count, indices, statuses) == MPI_SUCCESS;
  return wrong + (MPI_Wait(&request, MPI_STATUS_IGNORE) != MPI_SUCCESS);
}

// Whose error it is: the communicator's.
int untyped() {
  MPI_Comm dup;
  MPI_Comm_dup(MPI_COMM_WORLD, &dup);
  MPI_Comm_set_errhandler(dup, MPI_ERRORS_RETURN);
  int data = 0;
  MPI_Request request;
  int wrong = class_of(MPI_Bcast(&data, 1, MPI_DATATYPE_NULL, 0, dup)) != MPI_ERR_TYPE;
  wrong += class_of(MPI_Ibcast(&data, 1, MPI_DATATYPE_NULL, 0, dup, &request)) != MPI_ERR_TYPE;
  MPI_Comm_free(&dup);
  return wrong;
}

// Whoever completes several is told of each: the second has failed.
int failed_among_some() {
  int wrong = 0;
  for (const bool waits : {true, false}) {
    MPI_Request requests[3];
    MPI_Ibarrier(MPI_COMM_WORLD, &requests[0]);
    MPI_Comm comm = start_failing(&requests[1]);
    requests[2] = MPI_REQUEST_NULL;
    for (int left = 2, count = 0; left > 0; left -= count) {
      MPI_Status statuses[3];
      std::memset(statuses, 0x55, sizeof statuses);
      int indices[3];
      const int code =
          (waits ? MPI_Waitsome : MPI_Testsome)(3, requests, &count, indices, statuses);
      if (count == MPI_UNDEFINED) return wrong + 100;
      bool failed = false;
      for (int i = 0; i < count; ++i) failed = failed || indices[i] == 1;
      wrong += class_of(code) != (failed ? MPI_ERR_IN_STATUS : MPI_SUCCESS);
      for (int i = 0; failed && i < count; ++i)
        wrong += (class_of(statuses[i].MPI_ERROR) == MPI_ERR_OTHER) != (indices[i] == 1);
    }
    MPI_Comm_free(&comm);
  }
  return wrong;
}

// Of those that keep their handles when they are over, too.
int failed_among_all() {
  int wrong = 0, token = rank, got = -1;
  MPI_Request requests[4];
  MPI_Recv_init(&got, 1, MPI_INT, 1 - rank, 3, MPI_COMM_WORLD, &requests[0]);
  MPI_Send_init(&token, 1, MPI_INT, 1 - rank, 3, MPI_COMM_WORLD, &requests[1]);
  requests[2] = MPI_REQUEST_NULL;
  for (const bool waits : {true, false}) {
    MPI_Startall(2, requests);
    MPI_Comm comm = start_failing(&requests[3]);
    MPI_Status statuses[4];
    std::memset(statuses, 0x55, sizeof statuses);
    int code = MPI_SUCCESS;
    if (waits)
      code = MPI_Waitall(4, requests, statuses);
    else
      for (int over = 0; !over;) code = MPI_Testall(4, requests, &over, statuses);
    wrong += class_of(code) != MPI_ERR_IN_STATUS || got != 1 - rank;
    for (int i = 0; i < 3; ++i) wrong += statuses[i].MPI_ERROR != MPI_SUCCESS;
    wrong += class_of(statuses[3].MPI_ERROR) != MPI_ERR_OTHER;
    MPI_Comm_free(&comm);
  }
  MPI_Request_free(&requests[0]);
  MPI_Request_free(&requests[1]);
  return wrong;
}

// One has failed, and the other is under way still: nothing is said of either.
int failed_before_others() {
  int wrong = 0, token = rank, got = -1, over = 0, code = MPI_SUCCESS;
  MPI_Request requests[2];
  MPI_Status statuses[2];
  MPI_Comm comm = start_failing(&requests[0]);
  MPI_Irecv(&got, 1, MPI_INT, 1 - rank, 9, MPI_COMM_WORLD, &requests[1]);
  std::memset(statuses, 0x55, sizeof statuses);
  const MPI_Status untouched = statuses[1];
  for (int i = 0; i < 300; ++i) {
    usleep(200);
    code = MPI_Testall(2, requests, &over, statuses);
    wrong += over || code != MPI_SUCCESS || statuses[1].MPI_ERROR != untouched.MPI_ERROR;
  }
  BARE(Barrier)(MPI_COMM_WORLD);
  MPI_Send(&token, 1, MPI_INT, 1 - rank, 9, MPI_COMM_WORLD);
  while (!over) code = MPI_Testall(2, requests, &over, statuses);
  wrong += class_of(code) != MPI_ERR_IN_STATUS || got != 1 - rank;
  wrong += class_of(statuses[0].MPI_ERROR) != MPI_ERR_OTHER;
  wrong += statuses[1].MPI_ERROR != MPI_SUCCESS;
  MPI_Comm_free(&comm);
  return wrong;
}

// Requests that the program can start again, and how; all complete what each rank has sent.
struct Persistent {
  const char* name;
  void (*make)(int* in, int* out, MPI_Request* requests, int* count);
};
constexpr Persistent persistents[] = {
    {"messages",
     [](int* in, int* out, MPI_Request* requests, int* count) {
       MPI_Send_init(in, 1, MPI_INT, 1 - rank, 3, MPI_COMM_WORLD, &requests[0]);
       MPI_Recv_init(out, 1, MPI_INT, 1 - rank, 3, MPI_COMM_WORLD, &requests[1]);
       *count = 2;
     }},
#if MPI_VERSION >= 4
    {"a reduction",
     [](int* in, int* out, MPI_Request* requests, int* count) {
       MPI_Allreduce_init(in, out, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, requests);
       *count = 1;
     }},
    {"a barrier",
     [](int*, int*, MPI_Request* requests, int* count) {
       MPI_Barrier_init(MPI_COMM_WORLD, MPI_INFO_NULL, requests);
       *count = 1;
     }},
#endif
};

// MPI_Wait*, or MPI_Test* until it is done.
int complete_all(const std::string& how, int count, MPI_Request* requests, MPI_Status* statuses) {
  int over = 0, code = MPI_SUCCESS, some = 0, index = 0, indices[8];
  MPI_Status* const status = statuses == MPI_STATUSES_IGNORE ? MPI_STATUS_IGNORE : statuses;
  if (how == "Waitall") return MPI_Waitall(count, requests, statuses);
  while (!over && code == MPI_SUCCESS) {
    if (how == "Testall") {
      code = MPI_Testall(count, requests, &over, statuses);
    } else if (how == "Waitany" || how == "Testany") {
      over = 1;
      code = how == "Waitany" ? MPI_Waitany(count, requests, &index, status)
                              : MPI_Testany(count, requests, &index, &over, status);
      over = over && index == MPI_UNDEFINED;
    } else if (how == "Waitsome" || how == "Testsome") {
      code = (how == "Waitsome" ? MPI_Waitsome : MPI_Testsome)(count, requests, &some, indices,
                                                               statuses);
      over = some == MPI_UNDEFINED;
    } else {
      for (int i = 0; i < count && code == MPI_SUCCESS; ++i) {
        over = how == "Wait";
        if (over) code = MPI_Wait(&requests[i], status);
        while (!over && code == MPI_SUCCESS) code = MPI_Test(&requests[i], &over, status);
      }
    }
  }
  return code;
}

// What the MPI can complete without an error, it completes so beside one of Tutti's. MPICH's
// MPI_Testall cannot complete a persistent collective.
bool fails_bare(const std::string& how, int count, MPI_Request* requests) {
  if (how != "Testall") return false;
  int over = 0, code = MPI_SUCCESS, any = 0;
  MPI_Startall(count, requests);
  while (!over && code == MPI_SUCCESS)
    code = BARE(Testall)(count, requests, &over, MPI_STATUSES_IGNORE);
  const int failed = code != MPI_SUCCESS;
  BARE(Allreduce)(&failed, &any, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  return any != 0;
}

// Active and not, before and after one of Tutti's and one that is null.
int among_persistent_ones() {
  int wrong = 0;
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);  // whose errors these are in MPI 4
  for (const auto& [name, make] : persistents)
    for (const char* how :
         {"Waitall", "Testall", "Waitsome", "Testsome", "Waitany", "Testany", "Wait", "Test"})
      for (int round = 0; round < 16; ++round) {
        const bool active = round & 1, ignores = round & 2, last = round & 4, late = round & 8;
        int in = rank + 1, out = -1, one = 1, sum = -1, count = 0;
        MPI_Request kept[2], requests[8];
        make(&in, &out, kept, &count);
        MPI_Startall(count, kept);
        MPI_Waitall(count, kept, MPI_STATUSES_IGNORE);  // inactive as after each use
        if (fails_bare(how, count, kept)) {
          for (int i = 0; i < count; ++i) MPI_Request_free(&kept[i]);
          continue;
        }
        const int expected = out;
        out = -1;
        if (active) MPI_Startall(count, kept);
        if (late && rank == 1) usleep(3000);
        int n = 0;
        const int at = last ? count + 1 : 0;
        requests[count] = MPI_REQUEST_NULL;
        if (!last) requests[count + 1] = MPI_REQUEST_NULL;
        for (int i = 0; i < count; ++i) requests[last ? i : i + 1] = kept[i];
        n = count + 2;
        MPI_Iallreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[at]);
        MPI_Status statuses[8];
        for (MPI_Status& status : statuses) status.MPI_TAG = -17;
        const int code = complete_all(how, n, requests, ignores ? MPI_STATUSES_IGNORE : statuses);
        int bad = code != MPI_SUCCESS || sum != size || (active && out != expected);
        for (int i = 0; i < count; ++i)
          bad += requests[last ? i : i + 1] != kept[i];  // to be started again
        bad += requests[at] != MPI_REQUEST_NULL;
        if (!ignores && std::strcmp(how, "Waitall") == 0) {
          const int empty = MPI_ANY_TAG, last_kept = last ? count - 1 : count;
          bad += statuses[last ? count : count + 1].MPI_TAG != empty;
          if (count == 2) bad += statuses[last_kept].MPI_TAG != (active ? 3 : empty);
        }
        if (bad)
          std::printf("rank %d: %s, %s, active %d, ignores %d, last %d: %d\n", rank, name, how,
                      active, ignores, last, code);
        wrong += bad != 0;
        for (int i = 0; i < count; ++i) MPI_Request_free(&kept[i]);
      }
  return wrong;
}

// A message too long for its buffer, among others that are over before or after; of persistent
// requests too, which would look unstarted if they were asked for again.
int truncated_among_all() {
  int wrong = 0;
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  for (int round = 0; round < 8; ++round) {
    int long_one[2] = {1, 2}, one = 1, sum = -1, short_one = -1, got = -1;
    MPI_Request requests[4];
    MPI_Recv_init(&got, 1, MPI_INT, 1 - rank, 3, MPI_COMM_WORLD, &requests[0]);
    MPI_Start(&requests[0]);
    MPI_Irecv(&short_one, 1, MPI_INT, 1 - rank, 4, MPI_COMM_WORLD, &requests[1]);
    requests[2] = MPI_REQUEST_NULL;
    MPI_Barrier(MPI_COMM_WORLD);
    if (round & 1) usleep(2000);
    MPI_Send(&one, 1, MPI_INT, 1 - rank, 3, MPI_COMM_WORLD);
    if (round & 2 && rank == 0) usleep(2000);
    MPI_Iallreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[3]);
    MPI_Send(long_one, 2, MPI_INT, 1 - rank, 4, MPI_COMM_WORLD);
    MPI_Status statuses[4];
    std::memset(statuses, 0x55, sizeof statuses);
    const int code = MPI_Waitall(4, requests, statuses);
    wrong += class_of(code) != MPI_ERR_IN_STATUS;
    wrong += class_of(statuses[1].MPI_ERROR) != MPI_ERR_TRUNCATE;
    wrong += statuses[2].MPI_ERROR != MPI_SUCCESS;
    for (const int i : {0, 3})
      wrong += statuses[i].MPI_ERROR != MPI_SUCCESS && statuses[i].MPI_ERROR != MPI_ERR_PENDING;
    if (statuses[0].MPI_ERROR == MPI_SUCCESS) wrong += statuses[0].MPI_TAG != 3;
    if (statuses[3].MPI_ERROR == MPI_SUCCESS) wrong += requests[3] != MPI_REQUEST_NULL;
    for (const int i : {0, 1, 3})
      if (requests[i] != MPI_REQUEST_NULL) MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
    wrong += got != 1 || sum != size;
    MPI_Request_free(&requests[0]);
  }
  return wrong;
}

// An error of a communicator that is gone when it is told is no other communicator's, though that
// may have its handle.
int failed_on_a_freed_one() {
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Request request, other;
  MPI_Comm comm = start_failing(&request);
  for (int i = 0; i < 100; ++i) {  // meanwhile it ends
    MPI_Ibarrier(MPI_COMM_WORLD, &other);
    MPI_Wait(&other, MPI_STATUS_IGNORE);
    usleep(1000);
  }
  MPI_Comm_free(&comm);
  MPI_Comm dup;
  MPI_Comm_dup(MPI_COMM_WORLD, &dup);
  MPI_Errhandler handler;
  MPI_Comm_create_errhandler(remember, &handler);
  MPI_Comm_set_errhandler(dup, handler);
  int wrong = class_of(MPI_Wait(&request, MPI_STATUS_IGNORE)) != MPI_ERR_OTHER;
  wrong += g_comm_told != MPI_COMM_NULL;
  MPI_Comm_free(&dup);
  return wrong;
}

// Whichever thread has driven an operation, who waits for it is told.
int failed_on_threads() {
  int provided;
  MPI_Query_thread(&provided);
  if (provided != MPI_THREAD_MULTIPLE) return 0;
  constexpr int threads = 3, rounds = 150;
  MPI_Comm comms[threads][rounds];
  for (auto& some : comms)
    for (MPI_Comm& comm : some) {
      MPI_Comm_dup(MPI_COMM_WORLD, &comm);
      MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    }
  std::vector<int> wrong(threads);
  std::vector<std::thread> all;
  for (int t = 0; t < threads; ++t)
    all.emplace_back([&, t] {
      for (MPI_Comm comm : comms[t]) {
        int one = 1, lost = 0;
        MPI_Request request;
        MPI_Iallreduce(&one, &lost, 1, MPI_INT, rank == 0 ? MPI_MAX : MPI_SUM, comm, &request);
        wrong[t] += MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS;
      }
    });
  for (std::thread& thread : all) thread.join();
  int sum = 0;
  for (int each : wrong) sum += each;
  return sum;
}

// Only one rank has come to know Tutti when both make a communicator.
int unseen() {
  if (rank == 0) MPI_Barrier(MPI_COMM_SELF);
  MPI_Comm dup;
  MPI_Comm_dup(MPI_COMM_WORLD, &dup);
  int token = 5;
  if (rank == 0) MPI_Send(&token, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
  if (rank == 1) MPI_Recv(&token, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Comm_free(&dup);
  return 0;
}

// Only one rank knows Tutti when all end.
int unseen_by_one() {
  if (rank == 0) MPI_Barrier(MPI_COMM_SELF);
  return 0;
}

constexpr struct {
  const char* name;
  int (*play)();
} plays[] = {
    {"freed_early", freed_early},
    {"profiled", profiled},
    {"handled", handled},
    {"refused", refused},
    {"threaded", threaded},
    {"mixed", mixed},
    {"unseen", unseen},
    {"unseen_by_one", unseen_by_one},
    {"untyped", untyped},
    {"miscounted", miscounted},
    {"failed_among_some", failed_among_some},
    {"failed_among_all", failed_among_all},
    {"failed_before_others", failed_before_others},
    {"among_persistent_ones", among_persistent_ones},
    {"truncated_among_all", truncated_among_all},
    {"failed_on_a_freed_one", failed_on_a_freed_one},
    {"failed_on_threads", failed_on_threads},
};

}  // namespace

int main(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "";
  int provided;
  if (what.find("unseen") == 0)
    start_unseen(&argc, &argv);
  else
    MPI_Init_thread(&argc, &argv,
                    what.find("thread") != what.npos ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE,
                    &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  int wrong = 100;
  for (const auto& [name, play] : plays)
    if (what == name) wrong = play();
  int sum = 0;
  BARE(Reduce)(&wrong, &sum, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) std::printf("requests: %d wrong\n", sum);
  MPI_Finalize();
  return 0;
}
