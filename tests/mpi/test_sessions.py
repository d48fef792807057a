# SPDX-License-Identifier: BSD-3-Clause
"""Programs of sessions: their communicators are as good as any, with and without MPI_Init."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from rig.mpis import DEBIAN_MPICH, INTEL, MAIN, MPICH, MPICH_ABI, OPENMPI, Mpi


def sessions(mpi: Mpi, what: str, ranks: int, tutti: dict[str, str]) -> str:
    result = mpi.run(ranks, [str(mpi.compile("sessions.cc")), what], tutti)
    assert result.returncode == 0 and "sessions: 0 wrong" in result.stdout, result.stdout[-3000:]
    return result.stdout


def check_taken(report: Path, ranks: int) -> None:
    written = json.loads(report.read_text())
    assert (written["ranks"], written["nodes"]) == (ranks, 1)
    assert len(written["calls"]) >= 17
    for row in written["calls"]:
        assert row["taken"] > 0 and not row["reasons"]


# And what an MPI's own sessions cannot do when it is bare.
LIVES = [
    ("only", 1, [OPENMPI, MPICH]),
    ("only", 2, [*MAIN, MPICH_ABI, DEBIAN_MPICH]),
    ("only", 3, MAIN),
    ("parts-first", 3, MAIN),  # DEBIAN_MPICH: fails to make communicators of some processes
    ("again", 2, [MPICH, MPICH_ABI]),  # the others: crash after the last session was closed
    ("several", 2, MAIN),
    ("many", 2, MAIN),
    ("threads", 2, [MPICH, INTEL]),  # OPENMPI: hangs when two make communicators
    ("at-once-2", 2, [MPICH, INTEL]),
    ("at-once-8", 2, [MPICH]),  # INTEL: takes minutes where ranks share cores
    ("at-once-turns", 2, [OPENMPI]),
    ("at-once-before", 2, [MPICH]),
    ("beside", 2, MAIN),
    ("around", 2, [OPENMPI, MPICH, MPICH_ABI]),  # INTEL: takes MPI_Init for a second one
]


@pytest.mark.parametrize(
    ("mpi", "what", "ranks"),
    [
        pytest.param(mpi, what, ranks, id=f"{mpi.name}-{what}-{ranks}")
        for what, ranks, able in LIVES
        for mpi in able
    ],
)
def test_sessions(mpi: Mpi, what: str, ranks: int, tmp_path) -> None:
    report = tmp_path / "report.json"
    sessions(mpi, what, ranks, {"TUTTI_REPORT": str(report)})
    check_taken(report, ranks)


@pytest.mark.parametrize("mpi", [OPENMPI, MPICH], ids=lambda mpi: mpi.name)
def test_errors_return(mpi: Mpi) -> None:
    said = sessions(mpi, "errors", 2, {})
    assert "called different things" in said


def test_trace_needs_the_world(tmp_path) -> None:
    options = {"TUTTI_TRACE": str(tmp_path / "trace"), "TUTTI_REPORT": str(tmp_path / "report")}
    said = sessions(OPENMPI, "only", 2, options)
    assert said.count("no trace") == 1 and not (tmp_path / "trace").exists()


@pytest.mark.parametrize("mpi", [OPENMPI, MPICH], ids=lambda mpi: mpi.name)
def test_what_is_under_way_goes_on_while_others_initialize(mpi: Mpi) -> None:
    sessions(mpi, "behind", 2, {})


@pytest.mark.parametrize("mpi", [OPENMPI, MPICH], ids=lambda mpi: mpi.name)
@pytest.mark.parametrize("traces", [False, True], ids=["plain", "traced"])
def test_what_is_under_way_goes_on_while_others_finalize(mpi: Mpi, traces: bool, tmp_path) -> None:
    trace = tmp_path / "trace"
    sessions(mpi, "ahead", 2, {"TUTTI_TRACE": str(trace)} if traces else {})
    assert trace.exists() == traces
