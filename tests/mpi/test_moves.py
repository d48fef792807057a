# SPDX-License-Identifier: BSD-3-Clause
"""Gather to Exscan: random calls on every MPI, number of ranks and rung of the ladder."""

from __future__ import annotations

import json
import re

import pytest
from rig.mpis import MAIN, OPENMPI, OTHERS, Mpi
from test_conformance import RUNGS

pytestmark = pytest.mark.alone

COLLECTIVES = {
    *("Gather", "Gatherv", "Scatter", "Scatterv", "Allgather", "Allgatherv"),
    *("Alltoall", "Alltoallv", "Alltoallw"),
    *("Reduce_scatter", "Reduce_scatter_block", "Scan", "Exscan"),
}


def moves(mpi: Mpi, ranks: int, rung: str, tmp_path, cases: int) -> None:
    report = tmp_path / "report.json"
    command = [str(mpi.compile("moves.cc")), "--cases", str(cases)]
    result = mpi.run(ranks, command, {"TUTTI_MEMORY": RUNGS[rung], "TUTTI_REPORT": str(report)})
    found = re.search(r"moves: (\d+) compared, (\d+) wrong", result.stdout)
    assert result.returncode == 0 and found, result.stdout[-3000:]
    assert int(found[1]) == cases * ranks and int(found[2]) == 0
    calls = {row["collective"]: row for row in json.loads(report.read_text())["calls"]}
    if cases > 200:
        assert set(calls) >= COLLECTIVES
    for collective in COLLECTIVES & set(calls):
        assert calls[collective]["taken"] > 0 and not calls[collective]["reasons"]


@pytest.mark.parametrize("rung", RUNGS)
@pytest.mark.parametrize("ranks", [1, 2, 3, 4])
@pytest.mark.parametrize("mpi", MAIN, ids=lambda mpi: mpi.name)
def test_moves(mpi: Mpi, ranks: int, rung: str, tmp_path) -> None:
    crowd = 1 if ranks <= 2 or mpi is OPENMPI else 4 * mpi.sharing_slowness
    moves(mpi, ranks, rung, tmp_path, 500 // crowd if ranks <= 2 else 250 // crowd)


@pytest.mark.parametrize("mpi", OTHERS, ids=lambda mpi: mpi.name)
def test_other_mpis_move(mpi: Mpi, tmp_path) -> None:
    moves(mpi, 2, "commons", tmp_path, 300)
