# SPDX-License-Identifier: BSD-3-Clause
"""In which order reductions sum: as documented, and the same as the MPI where that is to be had."""

from __future__ import annotations

import json
import re

import pytest
from rig.mpis import DEBIAN_MPICH, DEBIAN_OPENMPI, INTEL, MAIN, MPICH, OPENMPI, Mpi

EACH_MAIN = pytest.mark.parametrize("mpi", MAIN, ids=lambda mpi: mpi.name)

# The order in which an MPI itself sums 8 bytes of 4 ranks, after its first few calls.
USUAL = [
    (OPENMPI, "tree"),
    (DEBIAN_OPENMPI, "tree"),
    (DEBIAN_MPICH, "tree"),
    (MPICH, "rank"),
    (INTEL, "rank"),
]


def order(mpi: Mpi, ranks: int, what: list[str], tutti: dict[str, str]) -> str:
    result = mpi.run(ranks, [str(mpi.compile("order.cc")), *what], tutti)
    assert result.returncode == 0, result.stdout[-3000:]
    return result.stdout


@pytest.mark.parametrize("ranks", [3, 4])
@EACH_MAIN
def test_as_documented(mpi: Mpi, ranks: int) -> None:
    for wanted in ("tree", "rank") if ranks == 4 else ("tree",):
        said = order(mpi, ranks, ["trees", wanted], {"TUTTI_ORDER": wanted})
        found = re.search(r"order: (\d+) compared, (\d+) wrong", said)
        assert found and int(found[1]) > 1000 and int(found[2]) == 0, said


@pytest.mark.parametrize(("mpi", "usual"), USUAL, ids=lambda value: getattr(value, "name", value))
def test_same_bits_as_the_mpi(mpi: Mpi, usual: str, tmp_path) -> None:
    report = tmp_path / "report.json"
    tutti = {"TUTTI_ORDER": usual, "TUTTI_FORTRAN": "0", "TUTTI_REPORT": str(report)}
    said = [order(mpi, 4, ["bits", "7"], tutti) for _ in range(2)]
    found = re.search(r"bits: (\d+) of \d+ differ, the order matters in (\d+), hash", said[0])
    assert found and int(found[1]) == 0 and int(found[2]) > 5, said[0]
    assert "other bits" not in said[0]
    calls = {row["collective"]: row for row in json.loads(report.read_text())["calls"]}
    assert calls["Allreduce"]["taken"] >= 60
    # A rerun has the same bits.
    assert re.findall(r"hash \w+", said[0]) == re.findall(r"hash \w+", said[1])
