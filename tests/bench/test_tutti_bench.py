# SPDX-License-Identifier: BSD-3-Clause
"""tutti-bench on each MPI without Tutti: what it prints, and that it notices wrong results."""

from __future__ import annotations

import subprocess

import pytest
from conftest import MPIS

ROW_KEYS = {
    "collective", "ranks", "bytes", "cache", "base_us", "tutti_us", "ratio", "limit_us", "way",
    "base_best_us", "tutti_best_us",
}  # fmt: skip


@pytest.mark.parametrize("collective", ["bcast", "reduce", "allreduce"])
@pytest.mark.parametrize("cache", ["cold", "hot"])
def test_events(run_bench, collective, cache) -> None:
    code, events = run_bench("--collective", collective, "--sizes", "4,65536", "--cache", cache,
                             "--iterations", "3")  # fmt: skip
    assert code == 0
    names = [event["event"] for event in events]
    assert names == ["plan", "row", "progress", "row", "progress", "done"]
    assert events[0]["points"] == 2 and events[0]["ranks"] == 2 and "MPI" in events[0]["mpi"]
    assert [event["done"] for event in events if event["event"] == "progress"] == [1, 2]
    for row, size in zip([event for event in events if event["event"] == "row"], [4, 65536]):
        assert row.keys() >= ROW_KEYS
        assert (row["collective"], row["bytes"], row["cache"]) == (collective, size, cache)
        assert row["base_us"] >= row["base_best_us"] > 0 and row["way"] == "mpi"
        assert row["ratio"] == pytest.approx(row["base_us"] / row["tutti_us"], rel=1e-6)
        assert row["limit_us"] > 0 and row["samples"] == 3


def test_barrier_needs_no_sizes(run_bench) -> None:
    code, events = run_bench("--collective", "barrier", "--iterations", "3", ranks=3)
    assert code == 0 and events[1]["bytes"] == 0 and events[1]["ranks"] == 3


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
        (("--collective", "gather"), "bcast, reduce, allreduce, barrier"),
        (("--collective", "bcast"), "--sizes"),
        (("--collective", "bcast", "--sizes", "8,x"), "'8,x'"),
        (("--collective", "bcast", "--sizes", "0"), "'0'"),
        (("--collective", "reduce", "--sizes", "6"), "6 bytes"),
        (("--collective", "reduce", "--sizes", "8", "--op", "band"), "no band of float"),
        (("--collective", "reduce", "--sizes", "8", "--root", "2"), "--root 2"),
        (("--collective", "reduce", "--sizes", "8", "--memory"), "--memory"),
        (("--collective", "reduce", "--sizes", "8", "--frobnicate", "1"), "--frobnicate"),
        (("--collective", "bcast", "--sizes", "1073741824", "--memory", "static"), "memory"),
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


WRONG = """
int PMPI_Allreduce(const void*, void*, int, int, int, int);
int MPI_Allreduce(const void* send, void* recv, int count, int type, int op, int comm) {
  int result = PMPI_Allreduce(send, recv, count, type, op, comm);
  ((float*)recv)[count - 1] += 1;
  return result;
}
"""


@pytest.mark.parametrize("mpi", ["mpich"], indirect=True)
def test_a_wrong_result_is_noticed(run_bench, mpi, tmp_path) -> None:
    source, library = tmp_path / "wrong.c", tmp_path / "wrong.so"
    source.write_text(WRONG)
    real = str(MPIS["mpich"].found.library)
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", library, source, real], check=True)
    code, events = run_bench("--collective", "allreduce", "--sizes", "4096", preload=str(library))
    assert code != 0 and "different results" in events[-1]["message"]
    code, events = run_bench("--collective", "bcast", "--sizes", "4096", preload=str(library))
    assert code == 0 and events[-1] == {"event": "done"}
