// SPDX-License-Identifier: BSD-3-Clause
// Counts the instructions of a small collective on one rank, step by step. The other rank is always
// ahead, so that nothing is counted twice because of a wait.
//
//   instructions COLLECTIVE RANK     prints the count of each of 40 calls on that rank
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

enum { warm = 5000, counted = 40 };

__attribute__((noinline)) static void mark(void) { __asm__ volatile("nop"); }

static void count(pid_t rank, int attached) {
  int status = 0;
  long steps = 0;
  if (ptrace(PTRACE_ATTACH, rank, 0, 0) != 0) {
    perror("instructions: ptrace");
    return;
  }
  waitpid(rank, &status, 0);
  if (write(attached, "", 1) != 1) return;
  for (int calls = 0; calls <= counted;) {
    struct user_regs_struct registers;
    ptrace(PTRACE_SINGLESTEP, rank, 0, 0);
    waitpid(rank, &status, 0);
    if (WIFEXITED(status) || ptrace(PTRACE_GETREGS, rank, 0, &registers) != 0) return;
    ++steps;
    if (registers.rip != (unsigned long)mark) continue;
    if (calls++ > 0) printf("%ld\n", steps);
    steps = 0;
  }
  fflush(stdout);
  ptrace(PTRACE_DETACH, rank, 0, 0);
}

static void call(const char* collective) {
  static double one = 1, two[2];
  if (strcmp(collective, "bcast") == 0) MPI_Bcast(&one, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  if (strcmp(collective, "barrier") == 0) MPI_Barrier(MPI_COMM_WORLD);
  if (strcmp(collective, "reduce") == 0)
    MPI_Reduce(&one, two, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
  if (strcmp(collective, "allreduce") == 0)
    MPI_Allreduce(&one, two, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  if (strcmp(collective, "allgather") == 0)
    MPI_Allgather(&one, 1, MPI_DOUBLE, two, 1, MPI_DOUBLE, MPI_COMM_WORLD);
  if (strcmp(collective, "alltoall") == 0)
    MPI_Alltoall(two, 1, MPI_DOUBLE, (double[2]){0}, 1, MPI_DOUBLE, MPI_COMM_WORLD);
}

int main(int argc, char** argv) {
  int begin[2], attached[2];
  const pid_t rank_process = getpid();
  if (argc != 3 || pipe(begin) != 0 || pipe(attached) != 0) return 2;
  const pid_t counter = fork();  // before there is an MPI
  if (counter == 0) {
    char word;
    close(attached[0]);
    if (read(begin[0], &word, 1) == 1) count(rank_process, attached[1]);
    _exit(0);
  }
  close(attached[1]);  // so that it ends with who holds the other
  prctl(PR_SET_PTRACER, counter, 0, 0, 0);
  MPI_Init(&argc, &argv);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int i = 0; i < warm + counted + 10; ++i) {
    char word = 0;
    if (i == warm && rank == atoi(argv[2]))  // goes on when it is attached
      if (write(begin[1], &word, 1) != 1 || read(attached[0], &word, 1) != 1) return 1;
    mark();
    call(argv[1]);
  }
  MPI_Finalize();
  kill(counter, SIGKILL);
  return 0;
}
