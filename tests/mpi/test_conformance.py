# SPDX-License-Identifier: BSD-3-Clause
"""Every result against the MPI's own, on every MPI, number of ranks and rung of the ladder."""

from __future__ import annotations

import json
import re

import pytest
from rig.mpis import DEBIAN_MPICH, MAIN, OPENMPI, OTHERS, Mpi

pytestmark = pytest.mark.alone

RUNGS = {"commons": "commons,cma,bounce", "cma": "cma", "bounce": "bounce"}


def stride(mpi: Mpi, ranks: int, rung: str) -> int:
    """Every how manyth case to try: all of them once, fewer where a PMPI call takes long."""
    if ranks <= 2:
        return 1 if (mpi is OPENMPI or ranks == 1) and rung == "commons" else 3
    return 2 * ranks * mpi.sharing_slowness


def conforms(mpi: Mpi, ranks: int, rung: str, tmp_path) -> None:
    report = tmp_path / "report.json"
    arguments = {
        "--stride": stride(mpi, ranks, rung),
        "--expect": rung,
        "--reduce-in-place": int(mpi is not DEBIAN_MPICH),
    }
    command = [str(mpi.compile("conformance.cc"))]
    for name, value in arguments.items():
        command += [name, str(value)]
    result = mpi.run(ranks, command, {"TUTTI_MEMORY": RUNGS[rung], "TUTTI_REPORT": str(report)})
    found = re.search(r"conformance: (\d+) compared, (\d+) wrong", result.stdout)
    assert result.returncode == 0 and found, result.stdout[-3000:]
    assert int(found[1]) > 30 and int(found[2]) == 0
    calls = {row["collective"]: row for row in json.loads(report.read_text())["calls"]}
    for collective in ("Bcast", "Reduce", "Allreduce"):
        assert calls[collective]["taken"] > 0.5 * calls[collective]["seen"]
        assert set(calls[collective]["reasons"]) <= {"no kernel for this datatype"}


@pytest.mark.parametrize("rung", RUNGS)
@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 7])
@pytest.mark.parametrize("mpi", MAIN, ids=lambda mpi: mpi.name)
def test_conformance(mpi: Mpi, ranks: int, rung: str, tmp_path) -> None:
    conforms(mpi, ranks, rung, tmp_path)


@pytest.mark.parametrize("ranks", [2, 3])
@pytest.mark.parametrize("mpi", OTHERS, ids=lambda mpi: mpi.name)
def test_other_mpis_conform(mpi: Mpi, ranks: int, tmp_path) -> None:
    conforms(mpi, ranks, "commons", tmp_path)
