# SPDX-License-Identifier: BSD-3-Clause
"""Pages of a buffer that peers write to are its owner's where that is asked for."""

from __future__ import annotations

import re

import pytest
from rig.mpis import MAIN, Mpi

# Memory is the commons's from the start, so that peers may touch it.
OPTIONS = {"TUTTI_COMMONS_PRIVATE": "0", "TUTTI_COMMONS_HUGE": "0"}


def others(mpi: Mpi, who: str) -> dict[str, int]:
    """Of each collective, pages that another rank has touched first."""
    options = {**OPTIONS, "TUTTI_FIRST_TOUCH": who}
    result = mpi.run(2, [str(mpi.compile("first_touch.cc"))], options)
    assert result.returncode == 0, result.stdout
    lines = re.findall(r"^(\w+): (\d+) of 2048 pages are others'$", result.stdout, re.MULTILINE)
    found = {name: int(pages) for name, pages in lines}
    assert len(found) == 8, result.stdout
    return found


@pytest.mark.parametrize("mpi", MAIN, ids=lambda mpi: mpi.name)
def test_pages_are_their_owners(mpi: Mpi) -> None:
    assert not any(others(mpi, "owner").values())
    peers = others(mpi, "any")
    # Of the others it depends on who is there first.
    assert peers["Gather"] == peers["Gatherv"] == 1024, peers
