# SPDX-License-Identifier: BSD-3-Clause
"""Errors between hosts end what they concern, and nothing else."""

from __future__ import annotations

import pytest
from cluster import Cluster, Result
from launchers import Layout
from rig.mpis import LIBRARY, MAIN, Mpi

CASES = {
    "too_much": (Layout((2, 2)), {"an error": 4}),
    "stale": (Layout((1, 1, 1)), {"an error on rank 0": 3, "no error later": 2}),
    "meetings": (Layout((1, 1, 1)), {"both meet": 3}),
}


def run(cluster: Cluster, mpi: Mpi, layout: Layout, case: str) -> Result:
    words = [str(mpi.compile("../cluster/errors.cc", "-pthread")), case]
    tutti = {"LD_PRELOAD": str(LIBRARY), "TUTTI_NODES": "1"}
    return cluster.run(mpi, layout, words, tutti, 30)


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
    # On hosts of its own: an MPI that is killed leaves files in /dev/shm.
    with Cluster(hosts=len(cluster.names)) as own:
        results = [run(own, mpi, Layout((2, 2)), case) for _ in range(3)]
    for result in results:
        assert result.code != 0, result.output
        assert "called different things" in result.output, result.output
    # Open MPI's launcher does not always end when two ranks abort at once: in 1 of 80 runs without
    # Tutti, too.
    hanging = [result.output for result in results if result.code is None]
    assert len(hanging) <= (mpi.name == "openmpi"), hanging
