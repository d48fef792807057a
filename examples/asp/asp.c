/* SPDX-License-Identifier: BSD-3-Clause */
/* All-pairs shortest paths by Floyd-Warshall on MPI.
 *
 *     mpicc -O3 -march=native -o asp asp.c
 *     mpirun -n 4 ./asp minnesota.txt [--check]
 *
 * Each rank owns a block of rows of the distance matrix. Step k needs row k everywhere: its owner
 * broadcasts it, and each rank improves its rows by the paths that lead through vertex k. A step is
 * one Bcast of n integers and no other communication. */
#include <limits.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const int unreachable = INT_MAX / 2; /* two of them still add up without overflow */

struct graph {
  int vertices, edges;
  int* ends_and_weight; /* three a (undirected) edge */
};

static int rank, ranks;

/* Every rank calls it; the job ends. */
static void give_up(const char* what, const char* of) {
  if (rank == 0) fprintf(stderr, "asp: %s%s\n", what, of);
  MPI_Finalize();
  exit(2);
}

static void* get_memory(size_t bytes) {
  void* memory = malloc(bytes > 0 ? bytes : 1);
  if (memory == NULL) {
    fprintf(stderr, "asp: rank %d has no memory for %zu bytes\n", rank, bytes);
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  return memory;
}

/* Lines "from to weight"; '#' begins a comment. Returns what is wrong, or NULL. */
static const char* read_graph(const char* path, struct graph* g) {
  FILE* file = fopen(path, "r");
  char line[256];
  int capacity = 0;
  if (file == NULL) return "cannot read ";
  while (fgets(line, sizeof line, file)) {
    int from, to, weight;
    if (line[0] == '#' || line[0] == '\n') continue;
    if (sscanf(line, "%d %d %d", &from, &to, &weight) != 3 || from < 0 || to < 0 || weight < 0 ||
        weight >= unreachable || from >= 46340 || to >= 46340) { /* n * n must fit an int */
      fclose(file);
      return "not a list of lines `from to weight`: ";
    }
    if (g->edges == capacity) {
      capacity = capacity > 0 ? 2 * capacity : 1024;
      g->ends_and_weight = realloc(g->ends_and_weight, 3 * sizeof(int) * (size_t)capacity);
      if (g->ends_and_weight == NULL) return "no memory for ";
    }
    int* edge = g->ends_and_weight + 3 * g->edges++;
    edge[0] = from;
    edge[1] = to;
    edge[2] = weight;
    if (from >= g->vertices) g->vertices = from + 1;
    if (to >= g->vertices) g->vertices = to + 1;
  }
  fclose(file);
  return g->edges > 0 ? NULL : "no edges in ";
}

/* Rank 0 reads, all get it. */
static void share_graph(const char* path, struct graph* g) {
  const char* wrong = rank == 0 ? read_graph(path, g) : NULL;
  int header[3] = {wrong == NULL, g->vertices, g->edges};
  MPI_Bcast(header, 3, MPI_INT, 0, MPI_COMM_WORLD);
  if (!header[0]) give_up(wrong, path);
  g->vertices = header[1];
  g->edges = header[2];
  if (rank != 0) g->ends_and_weight = get_memory(3 * sizeof(int) * (size_t)g->edges);
  MPI_Bcast(g->ends_and_weight, 3 * g->edges, MPI_INT, 0, MPI_COMM_WORLD);
}

static int first_row(int of_rank, int n) { return (int)((long)n * of_rank / ranks); }

/* Rows [first, last) of the matrix of direct distances. */
static int* direct_distances(const struct graph* g, int first, int last) {
  const size_t n = (size_t)g->vertices, cells = n * (size_t)(last - first);
  int* rows = get_memory(cells * sizeof(int));
  for (size_t i = 0; i < cells; ++i) rows[i] = unreachable;
  for (int i = first; i < last; ++i) rows[(size_t)(i - first) * n + (size_t)i] = 0;
  for (int e = 0; e < g->edges; ++e) {
    const int* edge = g->ends_and_weight + 3 * e;
    for (int side = 0; side < 2; ++side) {
      const int from = edge[side], to = edge[1 - side];
      if (from < first || from >= last) continue;
      int* cell = rows + (size_t)(from - first) * n + (size_t)to;
      if (edge[2] < *cell) *cell = edge[2];
    }
  }
  return rows;
}

/* Paths from `count` rows that go through vertex k, whose row is `via`. */
static void improve(int* rows, int count, int n, int k, const int* restrict via) {
  for (int i = 0; i < count; ++i) {
    int* restrict row = rows + (size_t)i * (size_t)n;
    const int to_k = row[k];
    if (to_k >= unreachable) continue;
    for (int j = 0; j < n; ++j) {
      const int through = to_k + via[j];
      row[j] = through < row[j] ? through : row[j];
    }
  }
}

/* Returns the seconds this rank spent in Bcast. */
static double shortest_paths(int* rows, int n) {
  const int first = first_row(rank, n), last = first_row(rank + 1, n);
  int* via = get_memory(sizeof(int) * (size_t)n);
  double in_bcast = 0;
  for (int k = 0, owner = 0; k < n; ++k) {
    while (k >= first_row(owner + 1, n)) ++owner;
    /* A copy also for the owner: its own row k is among those that are improved. */
    if (rank == owner) memcpy(via, rows + (size_t)(k - first) * (size_t)n, sizeof(int) * (size_t)n);
    const double start = MPI_Wtime();
    MPI_Bcast(via, n, MPI_INT, owner, MPI_COMM_WORLD);
    in_bcast += MPI_Wtime() - start;
    improve(rows, last - first, n, k, via);
  }
  free(via);
  return in_bcast;
}

/* On rank 0 all rows, one after the other; elsewhere NULL. */
static int* gather(const int* rows, int n) {
  int* all = rank == 0 ? get_memory(sizeof(int) * (size_t)n * (size_t)n) : NULL;
  int* counts = get_memory(sizeof(int) * (size_t)ranks);
  int* starts = get_memory(sizeof(int) * (size_t)ranks);
  for (int r = 0; r < ranks; ++r) {
    starts[r] = first_row(r, n) * n;
    counts[r] = first_row(r + 1, n) * n - starts[r];
  }
  MPI_Gatherv(rows, counts[rank], MPI_INT, all, counts, starts, MPI_INT, 0, MPI_COMM_WORLD);
  free(counts);
  free(starts);
  return all;
}

/* Compares with what one process alone computes. Returns, on all ranks, the cells that differ. */
static int check(const struct graph* g, const int* rows) {
  const int n = g->vertices;
  int* all = gather(rows, n);
  int different = 0;
  if (rank == 0) {
    int* alone = direct_distances(g, 0, n);
    int* via = get_memory(sizeof(int) * (size_t)n);
    for (int k = 0; k < n; ++k) {
      memcpy(via, alone + (size_t)k * (size_t)n, sizeof(int) * (size_t)n);
      improve(alone, n, n, k, via);
    }
    for (size_t i = 0; i < (size_t)n * (size_t)n; ++i) different += all[i] != alone[i];
    free(alone);
    free(via);
  }
  free(all);
  MPI_Bcast(&different, 1, MPI_INT, 0, MPI_COMM_WORLD);
  return different;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const int wants_check = argc == 3 && strcmp(argv[2], "--check") == 0;
  if (argc != 2 && !wants_check) give_up("usage: asp GRAPH [--check]", "");

  struct graph g = {0, 0, NULL};
  share_graph(argv[1], &g);
  const int n = g.vertices, first = first_row(rank, n), last = first_row(rank + 1, n);
  int* rows = direct_distances(&g, first, last);

  MPI_Barrier(MPI_COMM_WORLD);
  const double start = MPI_Wtime();
  double mine[2];
  mine[1] = shortest_paths(rows, n);
  mine[0] = MPI_Wtime() - start;
  double slowest[2], fastest[2];
  MPI_Reduce(mine, slowest, 2, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  MPI_Reduce(mine, fastest, 2, MPI_DOUBLE, MPI_MIN, 0, MPI_COMM_WORLD);

  int longest = 0, diameter = 0;
  for (size_t i = 0; i < (size_t)(last - first) * (size_t)n; ++i)
    if (rows[i] < unreachable && rows[i] > longest) longest = rows[i];
  MPI_Reduce(&longest, &diameter, 1, MPI_INT, MPI_MAX, 0, MPI_COMM_WORLD);
  if (rank == 0) {
    printf("vertices %d  edges %d  ranks %d  row %zu bytes\n", n, g.edges, ranks,
           sizeof(int) * (size_t)n);
    printf("longest shortest path %d\n", diameter);
    printf("time %.3f s\n", slowest[0]);
    printf("in Bcast %.3f s to %.3f s\n", fastest[1], slowest[1]);
  }
  int different = 0;
  if (wants_check) {
    different = check(&g, rows);
    if (rank == 0 && different == 0) printf("check: equal to the sequential result\n");
    if (rank == 0 && different > 0) printf("check: %d distances differ\n", different);
  }
  free(rows);
  free(g.ends_and_weight);
  MPI_Finalize();
  return different > 0;
}
