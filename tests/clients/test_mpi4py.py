# SPDX-License-Identifier: BSD-3-Clause
"""mpi4py's own test suite: nothing fails under Tutti that does not fail without it."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from rig.jobs import start
from rig.mpis import INTEL, MAIN, MPICH, MPICH_ABI, OPENMPI, Mpi
from suite_of_mpi4py import ALONE, CROWDED_MPICH, QUICK, QUICK_CROWDED, SPAWNING, compare


def check(mpi: Mpi, ranks: int, options: list[str], at_least: int, say, bare: bool = False) -> None:
    ours, new = compare(mpi, ranks, options, always_bare=bare, say=say)
    assert not new, "\n".join(new)
    assert len(ours.ended) >= at_least
    if not ours.ended:
        return  # Intel MPI's launcher ends the job at the first spawn, bare too
    # Of every collective that Tutti knows.
    idle = [name for name, row in ours.run.calls.items() if row["taken"] == 0]
    assert ranks == 1 or (ours.run.calls and not idle), f"none taken over: {idle}"


@pytest.mark.parametrize("mpi", MAIN, ids=lambda mpi: mpi.name)
def test_operations_in_python(mpi: Mpi, tmp_path) -> None:
    """All taken, and the functions run on no thread but the program's."""
    script = str(Path(__file__).with_name("operations.py"))
    run = start(mpi, 2, [sys.executable, script], tutti=True, limit_s=60, cwd=tmp_path)
    assert run.code == 0 and run.output.count("operations: 0 wrong") == 2, run.output[-3000:]
    for name in ("Iallreduce", "Iscan", "Allreduce"):
        assert run.calls[name]["taken"] == run.calls[name]["seen"] == 3, run.calls[name]


QUICKLY = [(mpi, 2) for mpi in MAIN] + [(OPENMPI, 1), (INTEL, 3)]


@pytest.mark.parametrize(("mpi", "ranks"), QUICKLY, ids=lambda value: getattr(value, "name", value))
def test_quick(mpi: Mpi, ranks: int, whole, say) -> None:
    if whole:
        pytest.skip("a part of what test_whole runs")
    check(mpi, ranks, QUICK if ranks < 3 else QUICK_CROWDED, 80, say)


@pytest.mark.whole
@pytest.mark.parametrize("ranks", [1, 2, 3, 4])
@pytest.mark.parametrize("mpi", [*MAIN, MPICH_ABI], ids=lambda mpi: mpi.name)
def test_whole(mpi: Mpi, ranks: int, say) -> None:
    if mpi in (MPICH, MPICH_ABI) and ranks > 2:
        check(mpi, ranks, CROWDED_MPICH, 250, say)
    elif ranks == 2 and mpi in MAIN:
        check(mpi, ranks, SPAWNING, 2000, say, bare=True)
    else:
        check(mpi, ranks, SPAWNING + ALONE, 1500, say)


@pytest.mark.whole
@pytest.mark.parametrize("ranks", [1, 2])
@pytest.mark.parametrize("mpi", MAIN, ids=lambda mpi: mpi.name)
def test_spawning(mpi: Mpi, ranks: int, say) -> None:
    check(mpi, ranks, ["-i", "test_(spawn|dynproc)[.]py"], 0, say, bare=True)
