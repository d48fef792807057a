# SPDX-License-Identifier: BSD-3-Clause
"""Memory of every kind: right on every rung of the ladder, and by the best way that there is."""

from __future__ import annotations

import re

import pytest
from mpis import MAIN, OTHERS, Mpi
from test_conformance import RUNGS

# Read-only pages of the commons are still mapped by the peers.
IN_THE_COMMONS = {"heap", "alloc_mem", "read_only_heap", "static"}


def kinds(mpi: Mpi, rung: str, ranks: int) -> None:
    result = mpi.run(ranks, [str(mpi.compile("kinds.cc"))], {"TUTTI_MEMORY": RUNGS[rung]})
    assert result.returncode == 0 and "kinds: 0 wrong" in result.stdout, result.stdout[-3000:]
    ways = dict(re.findall(r"^way (\w+) (\w*)$", result.stdout, re.MULTILINE))
    assert set(ways) >= IN_THE_COMMONS
    assert len(ways) > 10
    for kind, way in ways.items():
        if rung != "commons" or kind in IN_THE_COMMONS:
            assert way == rung, kind
        else:  # by the kernel, until it is known that the segment is faster
            assert way in ("cma", "bounce"), kind
    assert rung != "commons" or "cma" in ways.values()


@pytest.mark.parametrize("rung", RUNGS)
@pytest.mark.parametrize("mpi", MAIN, ids=lambda mpi: mpi.name)
def test_kinds_of_memory(mpi: Mpi, rung: str) -> None:
    kinds(mpi, rung, 2)


@pytest.mark.parametrize("mpi", OTHERS, ids=lambda mpi: mpi.name)
def test_kinds_of_memory_of_other_mpis(mpi: Mpi) -> None:
    kinds(mpi, "commons", 2)
