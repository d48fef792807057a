# SPDX-License-Identifier: BSD-3-Clause
"""Communicators of sessions with ranks on several hosts: what one host's can do, they can."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from cases import LAYOUTS, SEVERAL, SHORT, UNEQUAL, whole_mpis
from rig.cluster import Cluster
from rig.launchers import Layout
from rig.mpis import INTEL, MAIN, MPICH, OPENMPI, Mpi
from rig.spanning import variables

# What sessions.cc does, and the MPIs that can do it when they are bare.
LIVES = {
    "only": MAIN,
    "parts-first": MAIN,
    "several": MAIN,
    "many": MAIN,
    "threads": [MPICH, INTEL],
    "at-once-2": [MPICH, INTEL],
    "at-once-turns": [OPENMPI],
    "beside": MAIN,
    "around": [OPENMPI, MPICH],
    "ahead": [OPENMPI, MPICH],
    "behind": [MPICH],  # OPENMPI: waits for all in its own MPI_Init (docs/nodes.md)
}
QUICK = {"only": OPENMPI, "several": INTEL, "around": MPICH, "ahead": OPENMPI, "threads": MPICH}


def cases() -> list[object]:
    found: list[object] = []
    for what, able in LIVES.items():
        for mpi in able:
            for layout in LAYOUTS:
                # Open MPI crashes, bare, too, when one with something under way is freed.
                if (mpi, what, layout) == (OPENMPI, "only", UNEQUAL):
                    continue
                quick = layout is SHORT and QUICK.get(what) is mpi
                marks = [] if quick else [pytest.mark.whole]
                name = f"{mpi.name} {layout} {what}"
                found.append(pytest.param(mpi, layout, what, marks=marks, id=name))
    return found


def run(cluster: Cluster, mpi: Mpi, layout: Layout, what: str, **options: str) -> str:
    """What the program and Tutti say."""
    words = [str(mpi.compile("sessions.cc")), what]
    result = cluster.run(mpi, layout, words, variables(mpi, **options), limit_s=90)
    assert result.code == 0 and "sessions: 0 wrong" in result.output, result.output
    return result.output


@pytest.mark.parametrize(("mpi", "layout", "what"), cases())
def test_sessions(cluster: Cluster, mpi: Mpi, layout: Layout, what: str, tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    run(cluster, mpi, layout, what, TUTTI_REPORT=str(report))
    written = json.loads(report.read_text())
    assert written["ways"]["messages"] > 0
    for row in written["calls"]:
        # Scans of ranks in turns over hosts are the MPI's, and so are nonblocking ones until the
        # members have met.
        started = row["collective"].startswith("I")
        if not (started or "can" in row["collective"]):
            assert row["taken"] == row["seen"], row
        if started and what in ("ahead", "around"):
            assert row["taken"] > 0, row
        assert set(row["reasons"]) <= {SEVERAL}, row


@pytest.mark.parametrize("mpi", MAIN, ids=lambda mpi: mpi.name)
def test_errors_return(cluster: Cluster, mpi: Mpi) -> None:
    assert "called different things" in run(cluster, mpi, SHORT, "errors-apart")


@whole_mpis
def test_contests(cluster: Cluster, mpi: Mpi) -> None:
    run(cluster, mpi, SHORT, "several", TUTTI_NODES="auto")
