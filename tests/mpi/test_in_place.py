# SPDX-License-Identifier: BSD-3-Clause
"""Collectives in place need no copy of what they send: docs/commons.md, the memory contract."""

from __future__ import annotations

import re

import pytest
from rig.mpis import MAIN, OPENMPI, Mpi
from test_conformance import RUNGS

pytestmark = pytest.mark.alone

LINE = re.compile(r"in place: (\w+) rank \d+ extra (-?\d+) KiB, 0 wrong")
COLLECTIVES = {
    *("Alltoall", "Ialltoall", "Alltoallv", "Alltoallw"),
    *("Reduce_scatter", "Ireduce_scatter", "Reduce_scatter_block"),
}


@pytest.mark.parametrize("rung", RUNGS)
@pytest.mark.parametrize(
    ("mpi", "ranks"),
    [*((mpi, 2) for mpi in MAIN), (OPENMPI, 4)],
    ids=lambda each: getattr(each, "name", str(each)),
)
def test_in_place(mpi: Mpi, ranks: int, rung: str) -> None:
    program = str(mpi.compile("in_place.cc", "-pthread"))
    result = mpi.run(ranks, [program], {"TUTTI_MEMORY": RUNGS[rung]})
    found = LINE.findall(result.stdout)
    assert result.returncode == 0 and len(found) == ranks * len(COLLECTIVES), result.stdout[-3000:]
    assert {name for name, _ in found} == COLLECTIVES
    assert max(int(kib) for _, kib in found) < 2048, result.stdout
