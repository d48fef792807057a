// SPDX-License-Identifier: BSD-3-Clause
// dlsym as libraries use it that wrap functions of libc: compiled as a program, and with -DWRAPPER
// as such a library. Prints what is wrong.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <unistd.h>

#ifdef WRAPPER
int wrapped = 0;
pid_t getppid(void) {
  pid_t (*next)(void) = (pid_t(*)(void))dlsym(RTLD_NEXT, "getppid");
  ++wrapped;
  return next != getppid ? next() : -1;
}
#else
int main(void) {
  int wrong = 0;
  const pid_t parent = getppid();
  const int* wrapped = dlsym(RTLD_DEFAULT, "wrapped");
  if (wrapped == NULL || *wrapped != 1) wrong |= printf("the wrapper was not called once\n");
  if (parent <= 0) wrong |= printf("the wrapper has found itself\n");
  // From the program, next is the wrapper.
  pid_t (*next)(void) = (pid_t(*)(void))dlsym(RTLD_NEXT, "getppid");
  if (next == NULL || next() != parent || *wrapped != 2) wrong |= printf("another getppid\n");
  if (dlsym(RTLD_NEXT, "main") != NULL) wrong |= printf("a main behind main\n");
  if (dlerror() == NULL) wrong |= printf("no error\n");
  if (dlsym(RTLD_NEXT, "MPI_No_such_function") != NULL) wrong |= printf("a function of no MPI\n");
  printf("next: %d wrong\n", wrong != 0);
  return wrong != 0;
}
#endif
