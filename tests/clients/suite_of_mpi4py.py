# SPDX-License-Identifier: BSD-3-Clause
"""mpi4py's own test suite: which of it is run, and what of it fails under Tutti alone."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from clients import SOURCES, Start, Verdicts, suite
from rig import jobs
from rig.mpis import Mpi
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
    mpi: Mpi,
    ranks: int,
    options: list[str],
    *,
    always_bare: bool,
    say: Callable[[str], None],
    start: Start = jobs.start,
) -> tuple[Verdicts, list[str]]:
    """Runs under Tutti, and bare too if asked or if something went wrong: the new failures."""
    # A test takes a second alone; on crowded cores many.
    run = partial(suite, mpi, ranks, TESTS, limits_s=(90, 900), start=start)
    held = Peak(), Peak()
    ours = run(options, tutti=True, peak=held[True])
    counts = f"{len(ours.ended)} tests, {len(ours.skipped)} skipped, {len(ours.failed)} failed"
    say(f"{ours.run.seconds:.0f} s, {counts}; {ours.run.summary()}")
    if ours.unfinished or not (ours.failed or ours.run.code == 0):
        bare = run(options, tutti=False)
    elif always_bare:
        bare = run(options, tutti=False, peak=held[False])
        assert bare.ended.keys() - ours.ended.keys() == set()
        assert ours.skipped == bare.skipped
        say(held[True].check(held[False], ranks))
    elif ours.failed:
        wanted = [*options, *modules(list(ours.failed))] if "-i" not in options else options
        bare = run(wanted, tutti=False)
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
