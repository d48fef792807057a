# SPDX-License-Identifier: BSD-3-Clause
"""tutti-bench on each MPI without Tutti: what it prints, and that it notices wrong results."""

from __future__ import annotations

import subprocess

import pytest
from conftest import MPIS
from tutti.commands.bench import COLLECTIVES as COLLECTIVES_OF_THE_COMMAND

# Those that have a size.
COLLECTIVES = [name for name in COLLECTIVES_OF_THE_COMMAND if name != "barrier"]
ROW_KEYS = {
    "collective", "ranks", "bytes", "cache", "base_us", "tutti_us", "ratio", "limit_us", "way",
    "base_best_us", "tutti_best_us",
}  # fmt: skip


@pytest.mark.parametrize("cache", ["cold", "hot"])
def test_events(run_bench, cache) -> None:
    code, events = run_bench("--collective", ",".join(COLLECTIVES), "--sizes", "4,65536",
                             "--cache", cache, "--iterations", "3")  # fmt: skip
    assert code == 0
    points = [(collective, size) for collective in COLLECTIVES for size in (4, 65536)]
    names = [event["event"] for event in events]
    assert names == ["plan", *["row", "progress"] * len(points), "done"]
    assert events[0]["points"] == len(points)
    assert events[0]["ranks"] == 2 and "MPI" in events[0]["mpi"]
    done = [event["done"] for event in events if event["event"] == "progress"]
    assert done == list(range(1, len(points) + 1))
    for row, point in zip([event for event in events if event["event"] == "row"], points):
        assert row.keys() >= ROW_KEYS
        assert (row["collective"], row["bytes"], row["cache"]) == (*point, cache)
        assert row["base_us"] >= row["base_best_us"] > 0 and row["way"] == "mpi"
        assert row["ratio"] == pytest.approx(row["base_us"] / row["tutti_us"], rel=1e-6)
        assert row["limit_us"] > 0 and row["samples"] == 3


def test_barrier_needs_no_sizes(run_bench) -> None:
    code, events = run_bench("--collective", "barrier", "--iterations", "3", ranks=3)
    assert code == 0 and events[1]["bytes"] == 0 and events[1]["ranks"] == 3


OVERLAP_KEYS = {"collective", "ranks", "bytes", "cache", "work", "compute_us", "pure_ratio"}


@pytest.mark.parametrize("cache", ["cold", "hot"])
def test_overlap(run_bench, cache) -> None:
    code, events = run_bench("--collective", ",".join([*COLLECTIVES, "barrier"]), "--sizes",
                             "1024", "--cache", cache, "--iterations", "3",
                             "--measure", "overlap")  # fmt: skip
    assert code == 0 and events[-1] == {"event": "done"}
    rows = [event for event in events if event["event"] == "row"]
    assert [row["collective"] for row in rows] == [f"i{name}" for name in [*COLLECTIVES, "barrier"]]
    for row in rows:
        assert row.keys() >= OVERLAP_KEYS and row["work"] >= 2 and row["compute_us"] > 0
        for library in ("base", "tutti"):
            pure, overlapped, post, percent = (
                row[f"{library}_{name}"]
                for name in ("pure_us", "overlapped_us", "post_us", "overlap_percent")
            )
            hidden = (pure + row["compute_us"] - overlapped) / min(pure, row["compute_us"])
            assert percent == pytest.approx(100 * min(1, max(0, hidden)), abs=0.01)
            assert post > 0 and row[f"{library}_blocking_us"] > 0
        assert row["pure_ratio"] == pytest.approx(row["base_pure_us"] / row["tutti_pure_us"], 1e-6)


@pytest.mark.parametrize("mpi", ["impi"], indirect=True)
def test_overlap_without_the_mpi_alone(run_bench) -> None:
    words = ("--collective", "scan", "--sizes", "1024", "--iterations", "3", "--cache", "hot")
    code, events = run_bench(*words, "--measure", "overlap", "--libraries", "tutti")
    assert code == 0
    (row,) = (event for event in events if event["event"] == "row")
    assert row["base_pure_us"] is row["pure_ratio"] is row["base_overlap_percent"] is None
    assert row["tutti_pure_us"] > 0 and 0 <= row["tutti_overlap_percent"] <= 100


@pytest.mark.parametrize("mpi", ["openmpi"], indirect=True)
def test_work_is_shared(run_bench) -> None:
    words = ("--collective", "reduce", "--sizes", "8,16", "--measure", "overlap")
    work = 8_000_000  # tens of milliseconds, beside which all else is nothing
    code, events = run_bench(*words, "--work", f"{work},{work // 4}", "--iterations", "3")
    assert code == 0
    long, short = (event for event in events if event["event"] == "row")
    assert (long["work"], short["work"]) == (work, work // 4)
    assert long["compute_us"] > 2 * short["compute_us"]
    assert long["tutti_overlapped_us"] > 0.5 * long["compute_us"]


@pytest.mark.parametrize("ranks", [1, 3])
@pytest.mark.parametrize("mpi", ["openmpi", "impi"], indirect=True)  # MPICH takes long to yield
def test_counts_that_the_ranks_do_not_divide(run_bench, ranks) -> None:
    code, events = run_bench("--collective", ",".join(COLLECTIVES), "--sizes", "8,1000",
                             "--root", str(ranks - 1), "--iterations", "1",
                             ranks=ranks)  # fmt: skip
    assert code == 0 and events[-1] == {"event": "done"}


@pytest.mark.parametrize("dtype", ["double", "int8", "uint16", "int32", "uint64"])
def test_other_types_and_ops(run_bench, dtype) -> None:
    op = "prod" if dtype == "double" else "bxor"
    code, events = run_bench("--collective", "reduce", "--sizes", "4096", "--dtype", dtype, "--op",
                             op, "--root", "1", "--memory", "static", "--cache", "hot",
                             "--iterations", "3")  # fmt: skip
    assert code == 0 and events[-1] == {"event": "done"}


@pytest.mark.parametrize(
    ("options", "word"),
    [
        (("--collective", "gether"), "bcast, reduce, allreduce, barrier, gather,"),
        (("--collective", "bcast,"), "not 'bcast,'"),
        (("--collective", "bcast"), "--sizes"),
        (("--collective", "bcast", "--sizes", "8,x"), "'8,x'"),
        (("--collective", "bcast", "--sizes", "0"), "'0'"),
        (("--collective", "reduce", "--sizes", "6"), "6 bytes"),
        (("--collective", "reduce", "--sizes", "8", "--op", "band"), "no band of float"),
        (("--collective", "reduce", "--sizes", "8", "--root", "2"), "--root 2"),
        (("--collective", "reduce", "--sizes", "8", "--memory"), "--memory"),
        (("--collective", "reduce", "--sizes", "8", "--frobnicate", "1"), "--frobnicate"),
        (("--collective", "bcast", "--sizes", "8", "--measure", "time"), "blocking or overlap"),
        (("--collective", "bcast", "--sizes", "8", "--libraries", "mpi"), "both or tutti"),
        (("--collective", "bcast", "--sizes", "8", "--libraries", "tutti"), "needs --measure"),
        (("--collective", "bcast", "--sizes", "8", "--work", "x"), "'x'"),
        (("--collective", "bcast", "--sizes", "8", "--work", "8"), "--work needs --measure"),
        (
            ("--collective", "bcast", "--sizes", "8,16", "--measure", "overlap", "--work", "8"),
            "a number for each of its sizes",
        ),
        (("--collective", "bcast", "--sizes", "1073741824", "--memory", "static"), "memory"),
        (("--collective", "scan", "--sizes", "8", "--dtype", "double", "--op", "bor"), "no bor"),
        (("--collective", "allgatherv", "--sizes", "1073741824"), "displacements beyond an int"),
    ],
)
@pytest.mark.parametrize("mpi", ["openmpi"], indirect=True)
def test_bad_arguments_get_one_sentence(run_bench, options, word) -> None:
    code, events = run_bench(*options)
    errors = [event for event in events if event["event"] == "error"]
    assert code != 0 and len(errors) == 1 and word in errors[0]["message"]


@pytest.mark.parametrize("mpi", ["mpich"], indirect=True)
def test_no_libmpi(run_bench, tmp_path) -> None:
    missing = str(tmp_path / "libmpi.so.12")
    code, events = run_bench("--collective", "barrier", TUTTI_BENCH_LIBMPI=missing)
    assert code != 0 and [event["event"] for event in events] == ["error"]


# The MPI's own, but a nonblocking one that gives a wrong result.
WRONG_STARTED = """
int PMPI_Iallreduce(const void*, void*, int, int, int, int, int*);
int MPI_Iallreduce(const void* send, void* recv, int count, int type, int op, int comm, int* r) {
  return PMPI_Iallreduce(send, recv, count - 1, type, op, comm, r);
}
"""


def preloadable(tmp_path, text: str) -> str:
    source, library = tmp_path / "wrong.c", tmp_path / "wrong.so"
    source.write_text(text)
    real = str(MPIS["mpich"].found.library)
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", library, source, real], check=True)
    return str(library)


@pytest.mark.parametrize("mpi", ["mpich"], indirect=True)
def test_a_wrong_nonblocking_result_is_noticed(run_bench, tmp_path) -> None:
    library = preloadable(tmp_path, WRONG_STARTED)
    words = ("--collective", "allreduce", "--sizes", "4096", "--iterations", "1")
    code, events = run_bench(*words, "--measure", "overlap", preload=library)
    assert code != 0 and "different results" in events[-1]["message"]
    assert events[-1]["message"].endswith(", nonblocking")
    assert run_bench(*words, preload=library)[0] == 0


# What MPI_X may do wrong, and the sentence for it. MPICH's handles are ints.
WRONG = {
    "allreduce": """
int PMPI_Allreduce(const void*, void*, int, int, int, int);
int MPI_Allreduce(const void* send, void* recv, int count, int type, int op, int comm) {
  int result = PMPI_Allreduce(send, recv, count, type, op, comm);
  ((float*)recv)[count - 1] += 1;
  return result;
}
""",
    # Blocks that change places.
    "alltoall": """
#include <stdlib.h>
#include <string.h>
int PMPI_Alltoall(const void*, int, int, void*, int, int, int);
int MPI_Alltoall(const void* send, int n, int type, void* recv, int m, int other, int comm) {
  char* both = malloc(8 * (size_t)n);
  int result = PMPI_Alltoall(send, n, type, both, m, other, comm);
  memcpy(recv, both + 4 * (size_t)n, 4 * (size_t)n);
  memcpy((char*)recv + 4 * (size_t)n, both, 4 * (size_t)n);
  free(both);
  return result;
}
""",
    # Right for even counts only.
    "allgatherv": """
int PMPI_Allgather(const void*, int, int, void*, int, int, int);
int MPI_Allgatherv(const void* send, int n, int type, void* recv, const int* counts,
                   const int* displs, int other, int comm) {
  return PMPI_Allgather(send, counts[0], type, recv, counts[0], other, comm);
}
""",
    # A word beyond the result.
    "scatterv": """
int PMPI_Scatterv(const void*, const int*, const int*, int, void*, int, int, int, int);
int MPI_Scatterv(const void* send, const int* counts, const int* displs, int type, void* recv,
                 int n, int other, int root, int comm) {
  int result = PMPI_Scatterv(send, counts, displs, type, recv, n, other, root, comm);
  if (n < 1024) ((float*)recv)[n] = 0;
  return result;
}
""",
    # Columns as if they were rows.
    "alltoallv_transpose": """
int PMPI_Alltoall(const void*, int, int, void*, int, int, int);
int MPI_Alltoallv(const void* send, const int* counts, const int* displs, int type, void* recv,
                  const int* other_counts, const int* other_displs, int other, int comm) {
  return PMPI_Alltoall(send, counts[0], type, recv, counts[0], type, comm);
}
""",
}


@pytest.mark.parametrize("collective", WRONG)
@pytest.mark.parametrize("mpi", ["mpich"], indirect=True)
def test_a_wrong_result_is_noticed(run_bench, mpi, collective, tmp_path) -> None:
    library = preloadable(tmp_path, WRONG[collective])
    words = ("--sizes", "4096", "--iterations", "1")
    code, events = run_bench("--collective", collective, *words, preload=library)
    assert code != 0 and "different results" in events[-1]["message"]
    uneven = collective in ("allgatherv", "scatterv")
    assert ("uneven counts" in events[-1]["message"]) == uneven
    code, events = run_bench("--collective", "bcast", *words, preload=library)
    assert code == 0 and events[-1] == {"event": "done"}
