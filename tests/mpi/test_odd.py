# SPDX-License-Identifier: BSD-3-Clause
"""Programs that do what few do, and are right on the bare MPI."""

from __future__ import annotations

import json

import pytest
from mpis import MAIN, MPICH, Mpi

every_mpi = pytest.mark.parametrize("mpi", MAIN, ids=lambda mpi: mpi.name)


def odd(mpi: Mpi, what: str, tmp_path, ranks: int = 2) -> dict:
    """Run it; the report, with its calls by collective."""
    report = tmp_path / "report.json"
    result = mpi.run(ranks, [str(mpi.compile("odd.cc")), what], {"TUTTI_REPORT": str(report)})
    assert result.returncode == 0 and "odd: 0 wrong" in result.stdout, result.stdout[-2000:]
    assert "tutti: " not in result.stdout
    written = json.loads(report.read_text())
    written["calls"] = {row["collective"]: row for row in written["calls"]}
    assert all(row["taken"] > 0 for row in written["calls"].values())
    return written


@every_mpi
def test_options_outlive_the_environment(mpi: Mpi, tmp_path) -> None:
    odd(mpi, "title", tmp_path)


@every_mpi
def test_memory_as_it_is_asked_for(mpi: Mpi, tmp_path) -> None:
    assert odd(mpi, "memory", tmp_path)["ways"]["commons"] > 1 << 20


def test_ranks_that_are_threads(tmp_path) -> None:
    calls = odd(MPICH, "threadcomm", tmp_path)["calls"]
    assert calls["Allreduce"]["reasons"] == {"its ranks are threads": 44}
