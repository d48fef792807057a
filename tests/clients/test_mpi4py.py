# SPDX-License-Identifier: BSD-3-Clause
"""mpi4py's own test suite: nothing fails under Tutti that does not fail without it."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from clients import SOURCES, Verdicts, suite
from rig.jobs import start
from rig.mpis import INTEL, MAIN, MPICH, MPICH_ABI, OPENMPI, Mpi
from rig.peak import Peak

TESTS = SOURCES / "mpi4py" / "test"
# Not in every run, because they take a third of the time and say nothing of a rank's peers.
ALONE = ["-x", "test_datatype.TestDatatypePickle.*", "-x", "test_util_dtlib.*"]
# These start processes, which the launchers refuse or do slowly.
SPAWNING = ["-e", "test_spawn", "-e", "test_dynproc"]
# Collectives, requests, communicators, and windows that a waiting rank must serve.
QUICK = ["-i", "test_(cco_(nb_)?(buf|vec|obj)|request|grequest|comm|op|attributes|rma)[.]py"]
QUICK_CROWDED = ["-i", "test_cco_(nb_)?(buf|vec)[.]py"]
# MPICH takes milliseconds for whatever ranks that share a core say to each other.
CROWDED_MPICH = [
    "-i",
    "test_(cco_(nb_)?(buf|vec|obj)|request|comm|op|attributes|threads|win|exceptions)[.]py",
]


def modules(names: list[str]) -> list[str]:
    """Options that choose the modules of these tests."""
    return ["-i", "|".join(sorted({name.split(".")[0] + "[.]py" for name in names}))]


def compare(
    mpi: Mpi, ranks: int, options: list[str], *, always_bare: bool, say
) -> tuple[Verdicts, list[str]]:
    """Runs under Tutti, and bare too if asked or if something went wrong: the new failures."""
    # A test takes a second alone; on crowded cores many.
    limits_s = (90, 900)
    held = Peak(), Peak()
    ours = suite(mpi, ranks, TESTS, options, tutti=True, limits_s=limits_s, peak=held[True])
    counts = f"{len(ours.ended)} tests, {len(ours.skipped)} skipped, {len(ours.failed)} failed"
    say(f"{ours.run.seconds:.0f} s, {counts}; {ours.run.summary()}")
    if ours.unfinished or not (ours.failed or ours.run.code == 0):
        bare = suite(mpi, ranks, TESTS, options, tutti=False, limits_s=limits_s)
    elif always_bare:
        bare = suite(mpi, ranks, TESTS, options, tutti=False, limits_s=limits_s, peak=held[False])
        assert bare.ended.keys() - ours.ended.keys() == set()
        assert ours.skipped == bare.skipped
        say(held[True].check(held[False], ranks))
    elif ours.failed:
        wanted = [*options, *modules(list(ours.failed))] if "-i" not in options else options
        bare = suite(mpi, ranks, TESTS, wanted, tutti=False, limits_s=limits_s)
    else:
        return ours, []
    if bare.failed or bare.unfinished:
        say(f"bare: {', '.join(bare.failed) or 'no failure'}{bare.unfinished}")
    new = [f"{name}: {text}" for name, text in ours.failed.items() if name not in bare.failed]
    if ours.unfinished and not bare.unfinished:
        new.append(f"did not finish (code {ours.run.code}):{ours.unfinished}")
    if ours.run.code != 0 and bare.run.code == 0:
        new.append(f"code {ours.run.code}: {ours.run.output[-2000:]}")
    return ours, new


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
