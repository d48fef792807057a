# SPDX-License-Identifier: BSD-3-Clause
"""Errors between hosts end what they concern, and nothing else."""

from __future__ import annotations

import pytest
from cluster import HERE, Cluster, Result
from launchers import Layout
from rig.mpis import LIBRARY, MAIN, PROGRAMS, Mpi, built

CASES = {
    "too_much": (Layout((2, 2)), {"an error": 4}),
    "stale": (Layout((1, 1, 1)), {"an error on rank 0": 3, "no error later": 2}),
    "meetings": (Layout((1, 1, 1)), {"both meet": 3}),
}


def program(mpi: Mpi) -> str:
    source = HERE / "errors.cc"
    words = ["-O1", "-std=c++17", "-pthread", str(source), "-o"]
    path = PROGRAMS / mpi.name / "cluster-errors"
    return str(built(path, [source], lambda new: mpi.run_compiler(*words, str(new))))


def run(cluster: Cluster, mpi: Mpi, layout: Layout, case: str) -> Result:
    tutti = {"LD_PRELOAD": str(LIBRARY), "TUTTI_NODES": "1"}
    return cluster.run(mpi, layout, [program(mpi), case], tutti, 30)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("mpi", MAIN, ids=lambda mpi: mpi.name)
def test_errors(cluster: Cluster, mpi: Mpi, case: str) -> None:
    layout, expected = CASES[case]
    result = run(cluster, mpi, layout, case)
    assert result.code == 0, result.output
    lines = [
        line.split(": ", 1)[1] for line in result.output.splitlines() if line.startswith("rank ")
    ]
    assert {text: lines.count(text) for text in lines} == expected, result.output


@pytest.mark.parametrize("case", ["fatal", "fatal_on_one_host"])
@pytest.mark.parametrize("mpi", MAIN, ids=lambda mpi: mpi.name)
def test_fatal_errors_end_the_job(cluster: Cluster, mpi: Mpi, case: str) -> None:
    for _ in range(3):
        result = run(cluster, mpi, Layout((2, 2)), case)
        assert result.code not in (None, 0), result.output
        assert "called different things" in result.output, result.output
