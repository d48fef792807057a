# SPDX-License-Identifier: BSD-3-Clause
"""TUTTI_NODES=auto: nonblocking collectives, where all ranks have a thread that brings them on."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from cases import BY_OPTION, SEVERAL, SHORT, changed_on
from rig.cluster import Cluster
from rig.jobs import Run
from rig.launchers import Layout
from rig.mpis import INTEL, MAIN, MPICH, Mpi
from rig.spanning import ALONE, BOUND, start, variables
from suite_of_mpi4py import compare

pytestmark = pytest.mark.skipif(
    len(os.sched_getaffinity(0)) < 2, reason="a rank and its thread want a core each"
)
# For the MPIs' own MPI_Init_thread.
MULTIPLE = {"TUTTI_NODES": "auto", "TEST_THREADS": "3"}


def run(
    cluster: Cluster, mpi: Mpi, layout: Layout, words: Sequence[str], said: str, tmp_path: Path
) -> dict[str, Any]:
    """The report's calls of nonblocking collectives."""
    report = tmp_path / "report.json"
    options = variables(mpi, TUTTI_REPORT=str(report), **MULTIPLE)
    result = cluster.run(mpi, layout, words, options, limit_s=100)
    assert result.code == 0 and said in result.output, f"{result.code}: {result.output[-3000:]}"
    rows = json.loads(report.read_text())["calls"]
    return {row["collective"]: row for row in rows if row["collective"].startswith("I")}


def turns(mpi: Mpi) -> list[str]:
    return [str(mpi.compile("../cluster/turns.cc")), "40"]


@pytest.mark.parametrize("mpi", MAIN, ids=lambda mpi: mpi.name)
def test_served(cluster: Cluster, mpi: Mpi, tmp_path: Path) -> None:
    calls = run(cluster, mpi, ALONE, [*BOUND, *turns(mpi)], "turns: 0 wrong", tmp_path)
    row = calls["Iallreduce"]
    # Members of other communicators meet in a blocking collective, which comes before.
    assert row["taken"] == row["seen"] > 40, row


@pytest.mark.parametrize(
    ("layout", "change", "why"),
    [
        (ALONE, [*BOUND, "env", "TEST_THREADS=1"], SEVERAL),
        (ALONE, [*BOUND, *changed_on("1", "export TUTTI_PROGRESS=none")], SEVERAL),
        (SHORT, [], SEVERAL),  # ranks that are not bound leave no core free
        (ALONE, ["taskset", "-c", "0"], SEVERAL),  # both hosts' ranks are bound to one core
        (ALONE, [*BOUND, *changed_on("1", "export TUTTI_ALLREDUCE=mpi")], BY_OPTION),
    ],
    ids=["funneled", "one without a thread", "no core", "shared", "by an option"],
)
def test_left(
    cluster: Cluster, layout: Layout, change: list[str], why: str, tmp_path: Path
) -> None:
    calls = run(cluster, MPICH, layout, [*change, *turns(MPICH)], "turns: 0 wrong", tmp_path)
    assert calls["Iallreduce"]["taken"] == 0, calls
    assert calls["Iallreduce"]["reasons"].keys() == {why}, calls


@pytest.mark.parametrize(("first", "served"), [("bcast", 3), ("allreduce", 0), ("idup", 0)])
def test_before_they_meet(cluster: Cluster, first: str, served: int, tmp_path: Path) -> None:
    """What the MPI has summed up before it goes on to sum up."""
    program = f"""
from array import array
from mpi4py import MPI
one, sum = array("d", [1]), array("d", [0])
{"comm, made = MPI.COMM_WORLD.Idup()" if first == "idup" else "comm = MPI.COMM_WORLD.Dup()"}
{"made.Wait()" if first == "idup" else ""}
{"comm.Ibcast(one)" if first == "bcast" else "comm.Iallreduce(one, sum)"}.Wait()
comm.Barrier()
for _ in range(3):
    comm.Iallreduce(one, sum).Wait()
    assert sum[0] == 2
print("all right")
"""
    words = [*BOUND, sys.executable, "-c", program]
    calls = run(cluster, MPICH, ALONE, words, "all right", tmp_path)
    assert calls["Iallreduce"]["taken"] == served, calls


@pytest.mark.parametrize(
    "mpi",
    [pytest.param(mpi, marks=[] if mpi is MPICH else [pytest.mark.whole]) for mpi in MAIN],
    ids=lambda mpi: mpi.name,
)
def test_compared(cluster: Cluster, mpi: Mpi, tmp_path: Path, pytestconfig: pytest.Config) -> None:
    """All of them, many at once, with the MPI's own."""
    cases = "200" if pytestconfig.getoption("--whole") else "20"
    words = [*BOUND, str(mpi.compile("nonblocking.cc")), "--cases", cases, "--meet", "1"]
    calls = run(cluster, mpi, ALONE, words, " 0 wrong", tmp_path)
    assert all(row["taken"] == row["seen"] for row in calls.values()), calls
    assert len(calls) == 17 or (cases == "20" and len(calls) > 8)


@pytest.mark.whole
@pytest.mark.parametrize("mpi", MAIN, ids=lambda mpi: mpi.name)
def test_a_rank_that_waits_elsewhere(cluster: Cluster, mpi: Mpi, tmp_path: Path) -> None:
    words = [*BOUND, str(mpi.compile("../cluster/spans.cc")), "overlapped", "3"]
    calls = run(cluster, mpi, ALONE, words, "spans: 0 wrong", tmp_path)
    assert any(row["taken"] > 0 for row in calls.values()), calls


@pytest.mark.whole
@pytest.mark.parametrize("mpi", MAIN, ids=lambda mpi: mpi.name)
def test_mpi4py(cluster: Cluster, mpi: Mpi) -> None:
    """Its own tests of nonblocking collectives; it asks for MPI_THREAD_MULTIPLE by itself."""

    def bound(mpi: Mpi, ranks: int, command: list[str], **others: Any) -> Run:
        others["variables"] = (others.get("variables") or {}) | {"TUTTI_NODES": "auto"}
        return start(cluster, ALONE, mpi, ranks, [*BOUND, *command], **others)

    # Intel MPI's own MPI_Reduce crashes where a rank is alone on its host.
    options = ["-i", "test_cco_nb_.*buf[.]py", *(["-x", "*.testReduce"] if mpi is INTEL else [])]
    ours, new = compare(mpi, 2, options, always_bare=False, say=print, start=bound)
    assert not new, "\n".join(new)
    assert len(ours.ended) >= 60
    calls = ours.run.calls
    for name in ("Ibcast", "Iallreduce", "Iallgather", "Ialltoall"):
        assert calls[name]["taken"] > 0 and calls[name].get("messages", 0) > 0, calls[name]
