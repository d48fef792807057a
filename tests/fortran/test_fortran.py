# SPDX-License-Identifier: BSD-3-Clause
"""Fortran programs: that what they get is right, and that Tutti is who gave it."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from bindings import ALL, STYLES, Bindings
from rig.mpis import DEBIAN_OPENMPI

PROGRAM = Path(__file__).with_name("collectives.F90")

every_bindings = pytest.mark.parametrize("bindings", ALL, ids=lambda bindings: bindings.mpi.name)
every_style = pytest.mark.parametrize("style", STYLES)


def run(bindings: Bindings, style: str, tutti: dict[str, str] | None, ranks: int = 2) -> dict:
    """How often the program called each collective, having said that all were right."""
    if style in bindings.absent:
        pytest.skip(bindings.absent[style])
    program = bindings.compile(PROGRAM, style)
    result = bindings.ready.run(ranks, [str(program)], tutti)
    assert result.returncode == 0 and "fortran: 0 wrong" in result.stdout, result.stdout[-3000:]
    called = re.findall(r"^called (\w+) +(\d+)$", result.stdout, re.MULTILINE)
    assert len(called) == (32 if "-DNO_ALLTOALLW" in bindings.flags else 34)
    return {name: int(count) for name, count in called}


@every_style
@every_bindings
def test_bare(bindings: Bindings, style: str) -> None:
    """The program itself is right; else the next test would blame Tutti."""
    run(bindings, style, None)


@every_style
@every_bindings
@pytest.mark.parametrize("ranks", [2, 3])
def test_taken(bindings: Bindings, style: str, ranks: int, tmp_path) -> None:
    report = tmp_path / "report.json"
    called = run(bindings, style, {"TUTTI_REPORT": str(report)}, ranks)
    # That there is a report says that MPI_Finalize was seen, and no note, that MPI_Init was.
    summary = json.loads(report.read_text())
    assert not [note for note in summary["notes"] if "node segment" in note]
    assert {row["collective"]: row["taken"] for row in summary["calls"]} == called
    for row in summary["calls"]:
        assert row["reasons"] == {}


@every_style
@every_bindings
@pytest.mark.parametrize("ranks", [2, 3])
def test_operations(bindings: Bindings, style: str, ranks: int, tmp_path) -> None:
    """Of the program's own, served."""
    if style in bindings.absent:
        pytest.skip(bindings.absent[style])
    report = tmp_path / "report.json"
    program = bindings.compile(PROGRAM.with_name("operations.F90"), style)
    result = bindings.ready.run(ranks, [str(program)], {"TUTTI_REPORT": str(report)})
    assert result.returncode == 0 and "fortran: 0 wrong" in result.stdout, result.stdout[-3000:]
    for row in json.loads(report.read_text())["calls"]:
        assert row["taken"] == row["seen"] > 0, row


@pytest.mark.parametrize("style", STYLES)
def test_switched_off(style: str, tmp_path) -> None:
    """Open MPI's wrappers all call PMPI_X: with the gate shut nothing is seen, not even the end."""
    report = tmp_path / "report.json"
    bindings = next(each for each in ALL if each.mpi is DEBIAN_OPENMPI)
    run(bindings, style, {"TUTTI_FORTRAN": "0", "TUTTI_REPORT": str(report)})
    assert not report.exists()
