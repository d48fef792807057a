# SPDX-License-Identifier: BSD-3-Clause
"""Memory of every kind: right on every rung of the ladder, and by the best way that there is."""

from __future__ import annotations

import re

import pytest
from rig.mpis import MAIN, OTHERS, Mpi
from test_conformance import RUNGS

# Read-only pages of the commons are still mapped by the peers.
IN_THE_COMMONS = {"heap", "alloc_mem", "read_only_heap", "static"}


def kinds(mpi: Mpi, option: str, ranks: int) -> dict[str, str]:
    """By which way the memory of each kind went."""
    result = mpi.run(ranks, [str(mpi.compile("kinds.cc"))], {"TUTTI_MEMORY": option})
    assert result.returncode == 0 and "kinds: 0 wrong" in result.stdout, result.stdout[-3000:]
    ways = dict(re.findall(r"^way (\w+) (\w*)$", result.stdout, re.MULTILINE))
    assert set(ways) >= IN_THE_COMMONS
    assert len(ways) > 10
    return ways


def best_ways(mpi: Mpi, rung: str, ranks: int) -> None:
    # Without "bounce" nothing takes it that can do without.
    ways = kinds(mpi, RUNGS[rung].removesuffix(",bounce"), ranks)
    best = {kind: rung if kind in IN_THE_COMMONS or rung == "bounce" else "cma" for kind in ways}
    assert ways == best


@pytest.mark.parametrize("mpi", MAIN, ids=lambda mpi: mpi.name)
def test_what_only_the_kernel_reaches_may_take_the_segment(mpi: Mpi) -> None:
    for kind, way in kinds(mpi, RUNGS["commons"], 2).items():
        assert way in (("commons",) if kind in IN_THE_COMMONS else ("cma", "bounce")), kind


@pytest.mark.parametrize("rung", RUNGS)
@pytest.mark.parametrize("mpi", MAIN, ids=lambda mpi: mpi.name)
def test_kinds_of_memory(mpi: Mpi, rung: str) -> None:
    best_ways(mpi, rung, 2)


@pytest.mark.parametrize("mpi", OTHERS, ids=lambda mpi: mpi.name)
def test_kinds_of_memory_of_other_mpis(mpi: Mpi) -> None:
    best_ways(mpi, "commons", 2)
