# SPDX-License-Identifier: BSD-3-Clause
"""What is not Tutti's goes on unharmed between collectives that are."""

from __future__ import annotations

import json

import pytest
from rig.mpis import MAIN, OTHERS, Mpi


@pytest.mark.parametrize("mpi", MAIN + OTHERS, ids=lambda mpi: mpi.name)
def test_everything_else_is_unharmed(mpi: Mpi, tmp_path) -> None:
    report = tmp_path / "report.json"
    command = [str(mpi.compile("beside.cc"))]
    result = mpi.run(2, command, {"TUTTI_REPORT": str(report)}, timeout_s=120)
    assert result.returncode == 0 and "beside: 0 wrong" in result.stdout, result.stdout[-3000:]
    calls = json.loads(report.read_text())["calls"]
    assert len(calls) == 21
    assert all(row["taken"] > 0 and row["left"] == 0 for row in calls)
