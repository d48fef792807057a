# SPDX-License-Identifier: BSD-3-Clause
"""Counts, displacements and datatypes beyond 2^31, taken and right."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from rig.memory import why_too_little
from rig.mpis import INTEL, MPICH, MPICH_ABI, OPENMPI, Mpi
from test_conformance import RUNGS

pytestmark = pytest.mark.alone


def large(mpi: Mpi, what: str, rung: str, tmp_path: Path) -> None:
    if why := why_too_little(6):
        pytest.skip(why)
    report = tmp_path / "report.json"
    options = {"TUTTI_MEMORY": RUNGS[rung], "TUTTI_REPORT": str(report)}
    result = mpi.run(2, [str(mpi.compile("large.cc")), what], options)
    assert result.returncode == 0 and "large: 0 wrong" in result.stdout, result.stdout[-3000:]
    calls = json.loads(report.read_text())["calls"]
    assert calls and all(row["taken"] > 0 and row["left"] == 0 for row in calls)


@pytest.mark.parametrize("what", ["counts", "blocks", "displacements"])
@pytest.mark.parametrize("mpi", [MPICH, INTEL], ids=lambda mpi: mpi.name)
def test_large_forms(mpi: Mpi, what: str, tmp_path) -> None:
    large(mpi, what, "commons", tmp_path)


@pytest.mark.parametrize("mpi", [MPICH, INTEL], ids=lambda mpi: mpi.name)
def test_large_elements_that_only_the_mpi_packs(mpi: Mpi, tmp_path) -> None:
    large(mpi, "opaque", "commons", tmp_path)


def test_large_elements_that_an_mpi_cannot_pack() -> None:
    if why := why_too_little(6):
        pytest.skip(why)
    result = OPENMPI.run(2, [str(OPENMPI.compile("large.cc")), "opaque"], {})
    assert result.returncode != 0
    assert "bytes are more than this MPI packs at once of a datatype" in result.stdout


@pytest.mark.parametrize("rung", ["cma", "bounce"])
def test_large_forms_without_the_commons(rung: str, tmp_path) -> None:
    large(MPICH, "displacements", rung, tmp_path)


def test_large_forms_of_the_standard_abi(tmp_path) -> None:
    large(MPICH_ABI, "displacements", "commons", tmp_path)


@pytest.mark.parametrize("mpi, rung", [(OPENMPI, "commons"), (MPICH, "cma")])
def test_large_datatypes(mpi: Mpi, rung: str, tmp_path) -> None:
    large(mpi, "datatypes", rung, tmp_path)
