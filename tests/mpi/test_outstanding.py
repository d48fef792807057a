# SPDX-License-Identifier: BSD-3-Clause
"""Ten thousand nonblocking collectives at once, again and again; no thread without any; and what
calls that are left to the MPI keep."""

from __future__ import annotations

import re

import pytest
from rig.mpis import MAIN, Mpi
from test_faults import nothing_is_left

pytestmark = pytest.mark.alone


def values(mpi: Mpi, requests: int, tutti: dict[str, str] | None) -> tuple[list[int], list[int]]:
    """Threads before and after, and resident KiB after each round, on rank 0 of 2."""
    program = mpi.compile("outstanding.cc")
    command = [str(program), "--requests", str(requests), "--rounds", "5"]
    result = mpi.run(2, command, tutti)
    nothing_is_left(program)
    assert result.returncode == 0, result.stdout[-3000:]
    if requests:
        expected = f"outstanding: {requests} requests in 5 rounds, 0 wrong"
        assert expected in result.stdout, result.stdout[-3000:]
    threads = [int(count) for count in re.findall(r"^threads (\d+)", result.stdout, re.MULTILINE)]
    return threads, [int(kib) for kib in re.findall(r": rss (\d+) KiB", result.stdout)]


@pytest.mark.parametrize("mpi", MAIN, ids=lambda mpi: mpi.name)
def test_memory_is_flat(mpi: Mpi) -> None:
    _, resident = values(mpi, 10000, {})
    # The MPI's own free lists may grow in the first rounds; three more must leave not 13 bytes a
    # request.
    assert len(resident) == 5 and resident[4] < resident[1] + 384, resident


@pytest.mark.parametrize("mpi", MAIN, ids=lambda mpi: mpi.name)
def test_no_thread_without_nonblocking_calls(mpi: Mpi) -> None:
    (before, after), _ = values(mpi, 10, {})
    assert values(mpi, 0, {}) == ([before], [])
    assert values(mpi, 0, None) == ([before], [])
    assert after == before + 1  # with them, one


@pytest.mark.parametrize("mpi", MAIN, ids=lambda mpi: mpi.name)
def test_counts_that_were_narrowed_are_let_go(mpi: Mpi) -> None:
    # Where the MPI has the large forms, as MPICH and Intel MPI, they are the ones that are called.
    result = mpi.run(2, [str(mpi.compile("narrowed.cc")), "100000"], {})
    found = re.findall(
        r"^narrowed: 100000 rounds, 0 wrong, (-?\d+) KiB", result.stdout, re.MULTILINE
    )
    assert len(found) == 2, result.stdout[-3000:]
    # Kept for ever, they would take 20 MiB. Intel MPI alone takes up to 1.1 MiB more, or none.
    assert all(int(kib) < 4096 for kib in found), found
