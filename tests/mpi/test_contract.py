# SPDX-License-Identifier: BSD-3-Clause
"""The memory contract of docs/commons.md: what a job holds, against the bare MPI."""

from __future__ import annotations

import re
from collections import defaultdict

import pytest
from rig.mpis import MAIN, OPENMPI, Mpi

pytestmark = pytest.mark.alone

LINE = re.compile(r"contract: (\w+) rank \d+ resident (\d+) peak (\d+) share (\d+)")
MIB = 1024  # KiB
BARE: dict[tuple[str, int], dict[str, tuple[int, int, int]]] = {}


def memory(mpi: Mpi, ranks: int, tutti: dict[str, str] | None) -> dict[str, tuple[int, int, int]]:
    """Moment to the most resident KiB of a rank, the highest so far, and the sum of shares."""
    result = mpi.run(ranks, [str(mpi.compile("contract.cc"))], tutti)
    assert result.returncode == 0, result.stdout[-3000:]
    found = defaultdict(list)
    for moment, *numbers in LINE.findall(result.stdout):
        found[moment].append([int(number) for number in numbers])
    assert all(len(lines) == ranks for lines in found.values()) and len(found) == 6, result.stdout
    return {
        moment: (
            max(r for r, _, _ in lines),
            max(p for _, p, _ in lines),
            sum(s for *_, s in lines),
        )
        for moment, lines in found.items()
    }


@pytest.mark.parametrize("huge", ["1", "0"])
# Where ranks share cores other MPIs take minutes, bare.
@pytest.mark.parametrize(
    ("mpi", "ranks"),
    [*((mpi, 2) for mpi in MAIN), (OPENMPI, 4)],
    ids=lambda each: getattr(each, "name", str(each)),
)
def test_contract(mpi: Mpi, ranks: int, huge: str) -> None:
    if (mpi.name, ranks) not in BARE:
        BARE[mpi.name, ranks] = memory(mpi, ranks, None)
    bare = BARE[mpi.name, ranks]
    tutti = memory(mpi, ranks, {"TUTTI_COMMONS_HUGE": huge, "TUTTI_WINDOWS": "32M"})
    allowed = dict.fromkeys(["collectives", "columns", "temporaries"], 16)
    allowed |= {"tiny": 2, "arrays": 3, "freed": 4}
    if mpi.name == "impi":  # its own heap comes in huge pages, now one more and now one less,
        # and the messages of Tutti's start fill 2 MiB of its shared memory
        allowed |= {"tiny": 6, "arrays": 7, "freed": 8}
    over = {}
    for moment, mib in allowed.items():
        # Until all is freed, what the bare program has had at once before.
        expected = bare[moment][2] if mib < 16 else ranks * bare[moment][1]
        if tutti[moment][2] > expected + ranks * mib * MIB:
            over[moment] = expected, tutti[moment][2]
    assert not over, (bare, tutti)
    # A rank's own count has the pages of peers, too, up to what TUTTI_WINDOWS says.
    assert tutti["temporaries"][0] <= bare["temporaries"][0] + (16 + 32) * MIB, (bare, tutti)


@pytest.mark.parametrize("how", ["finalized", "calls"])
@pytest.mark.parametrize("mpi", MAIN, ids=lambda mpi: mpi.name)
def test_who_has_gone_leaves_nothing(mpi: Mpi, how: str) -> None:
    ranks = 3 if how == "calls" else 2
    said = mpi.run(ranks, [str(mpi.compile("gone.cc")), how], {}).stdout
    assert f"gone: first {ranks}, read 1" in said, said
    assert f"gone: then {1 if how == 'finalized' else ranks - 1}" in said, said
