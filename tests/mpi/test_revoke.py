# SPDX-License-Identifier: BSD-3-Clause
"""A revoked communicator is the MPI's: ULFM, of which Open MPI 5 has enough."""

from __future__ import annotations

import json

import pytest
from rig.mpis import OPENMPI


@pytest.mark.parametrize("option", [{}, {"TUTTI_SCAN": "mpi"}], ids=["usual", "scan left"])
def test_revoked(option: dict[str, str], tmp_path) -> None:
    report = tmp_path / "report.json"
    words = [str(OPENMPI.compile("revoke.cc"))]
    result = OPENMPI.run(3, words, {"TUTTI_REPORT": str(report), **option})
    assert result.returncode == 0 and "revoke: 0 wrong" in result.stdout, result.stdout[-2000:]
    calls = {row["collective"]: row for row in json.loads(report.read_text())["calls"]}
    assert calls["Allreduce"]["taken"] > 0
    assert "the program has revoked the communicator" in calls["Barrier"]["reasons"]


def test_a_revoked_world() -> None:
    result = OPENMPI.run(2, [str(OPENMPI.compile("revoke.cc")), "world"], {})
    assert result.returncode == 0 and "revoke: 0 wrong" in result.stdout, result.stdout[-2000:]
