# SPDX-License-Identifier: BSD-3-Clause
"""Collectives that nobody needs to wait in are over at once, and right."""

from __future__ import annotations

import json
import re

import pytest
from rig.mpis import MAIN, OTHERS, Mpi

every_mpi = pytest.mark.parametrize("mpi", MAIN + OTHERS, ids=lambda mpi: mpi.name)


def calls(mpi: Mpi, ranks: int, tmp_path, *words: str) -> list[dict]:
    report = tmp_path / "report.json"
    program = str(mpi.compile("at_once.cc"))
    result = mpi.run(ranks, [program, *words], {"TUTTI_REPORT": str(report)})
    found = re.search(r"at_once: (\d+) compared, 0 wrong", result.stdout)
    assert result.returncode == 0 and found, result.stdout[-3000:]
    assert int(found[1]) > 500 * ranks
    return json.loads(report.read_text())["calls"]


@every_mpi
def test_alone_or_without_data(mpi: Mpi, tmp_path) -> None:
    rows = calls(mpi, 2, tmp_path)
    assert len(rows) == 34
    assert [(row["collective"], row["reasons"]) for row in rows if row["left"] > 0] == []


@every_mpi
def test_errors_are_the_mpis(mpi: Mpi, tmp_path) -> None:
    rows = calls(mpi, 3, tmp_path, "errors")
    assert all(row["left"] <= 3 for row in rows)
