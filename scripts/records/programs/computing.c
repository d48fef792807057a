// SPDX-License-Identifier: BSD-3-Clause
// A program that computes alone, bound by memory: 512 MiB touched first, read at random, and summed
// up; and a triad of three arrays of 256 MiB. Prints seconds of each as a JSON object.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double now_s(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

int main(void) {
  const size_t bytes = (size_t)512 << 20, words = bytes / sizeof(double), third = words / 2;
  const double begin = now_s();
  char* const array = malloc(bytes);
  if (array == NULL) return 1;
  memset(array, 1, bytes);
  const double touched = now_s();
  uint64_t random = 88172645463325252u, found = 0;
  for (int i = 0; i < 20000000; ++i) {
    random ^= random << 13;
    random ^= random >> 7;
    random ^= random << 17;
    found += (uint64_t)array[random % bytes];
  }
  const double read = now_s();
  double sum = 0;
  for (int pass = 0; pass < 4; ++pass)
    for (size_t i = 0; i < words; ++i) sum += ((const double*)array)[i];
  const double passed = now_s();
  free(array);

  double* const a = malloc(third * sizeof *a);
  double* const b = malloc(third * sizeof *b);
  double* const c = malloc(third * sizeof *c);
  if (a == NULL || b == NULL || c == NULL) return 1;
  for (size_t i = 0; i < third; ++i) a[i] = 0, b[i] = 1, c[i] = 2;
  double least = 1e9;
  for (int turn = 0; turn < 10; ++turn) {
    const double start = now_s();
    for (size_t i = 0; i < third; ++i) a[i] = b[i] + 3 * c[i];
    const double took = now_s() - start;
    least = took < least ? took : least;
  }
  fprintf(stderr, "%d\n", (int)found + (int)sum + (int)a[third / 2]);
  printf("{\"first touch\": %.4f, \"random reads\": %.4f, \"passes\": %.4f, \"triad\": %.5f}\n",
         touched - begin, read - touched, passed - read, least);
  free(a), free(b), free(c);
  return 0;
}
