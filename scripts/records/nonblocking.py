# SPDX-License-Identifier: BSD-3-Clause
"""Measures nonblocking collectives, in a bounded time.

`bars.nonblocking` holds the table of what must be reached on three MPIs. What fails, or does not
fit the time, is named as not measured, with the reason.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import dataclass

from rig.imb import nbc_words, parse_nbc
from rig.steps import Steps, progress_bar
from rig.wheels import Mpi, RigError, bench, run

from records import outstanding
from records.bars import nonblocking as bars
from records.bars.nonblocking_verdicts import Measured, Missing, judge
from records.bars.points import MIB
from records.recording import Recording, add_common_options

ONE_CORE = {"TUTTI_COMM_CORES": "1"}
# What the MPIs themselves have for progress behind the program's back.
ASYNC = {"impi": {"I_MPI_ASYNC_PROGRESS": "1"}, "mpich": {"MPIR_CVAR_ASYNC_PROGRESS": "1"}}
STEP_LIMIT_S = 60
TURNS = 3  # of what is compared between runs: the median counts
NOTE = """\
Times are of the slowest rank, medians in tutti bench and means in IMB-NBC; overlap is the part of
the shorter of communication and computation that costs no time. "The best MPI" is, of IMB-NBC,
Intel MPI or MPICH, alone or with its asynchronous progress, whichever is best at each size, and of
tutti bench the same MPI alone. "Of the sum": the overlapped time in terms of communication and
computation one after the other, which where all cores communicate while ranks wait keeps all of
them busy. 2 ranks, buffers in the caches unless it says cold."""


@dataclass(frozen=True)
class Step:
    """One start of a program; what it gives is kept by (what, MPI)."""

    what: str
    mpi: Mpi
    take: Callable[[float], dict]  # in at most so many seconds

    def __str__(self) -> str:
        return f"{self.mpi.label}: {self.what}"


def overlap_rows(
    mpi: Mpi,
    names: list[str],
    sizes: list[int],
    quick: bool,
    extra: dict[str, str],
    cache: str,
    limit_s: float,
) -> dict:
    options = {"min_time_ms": 5 if quick else 60, "max_time_ms": 50 if quick else 600}
    if extra:  # Tutti alone is measured, and how far apart the cores are changes within seconds
        options = {name: 5 * value for name, value in options.items()}
    rows = bench(
        mpi,
        2,
        ",".join(name.removeprefix("i") for name in names),
        with_tutti=True,
        timeout_s=limit_s,
        extra=extra,
        sizes=sizes,
        cache=cache,
        measure="overlap",
        **options,
        # Bound to one core the MPI alone takes seconds, and it can make no use of the other.
        **({"libraries": "tutti"} if extra else {}),
        **({"iterations": 1} if quick else {}),
    )
    return {(row["collective"], row["bytes"]): row for row in rows}


def bench_steps(mpi: Mpi, quick: bool) -> list[Step]:
    def step(
        what: str, names: list[str], sizes: list[int], extra: dict[str, str], cache: str = "hot"
    ) -> Step:
        def take(limit_s: float) -> dict:
            return overlap_rows(mpi, names, sizes, quick, extra, cache, limit_s)

        return Step(what, mpi, take)

    everything, both = list(bars.COLLECTIVES), [name for name, _ in bars.SHARED_CORE]
    if mpi.name in bars.IMB_MPIS:  # IMB-NBC tells the rest
        names, sizes = ["iallreduce"], [4 * MIB]
        shared, points = both, [2 * MIB]
    else:
        names, sizes = everything, bars.SIZES
        shared, points = everything, bars.CORES_SIZES
    if quick:
        return [
            step(bars.BENCH, ["iallreduce"], [4 * MIB], {}),
            step(bars.POSTS, ["ibcast"], bars.POST_SIZES[::4], {}),
        ]
    return [
        step(bars.BENCH_CORES, shared, points, ONE_CORE),
        step(bars.BENCH_CORES_COLD, both, [2 * MIB], ONE_CORE, "cold"),
        step(bars.BENCH, names, sizes, {}),
        step(bars.POSTS, everything, bars.POST_SIZES, {}),
    ]


def imb_steps(mpi: Mpi, quick: bool) -> list[Step]:
    sizes, calls = ([64 << 10, 128 << 10], 5) if quick else (bars.SIZES, 200)
    names = [name.capitalize() for name in bars.COLLECTIVES]
    words = nbc_words(mpi.folder.parent, names, sizes, calls)

    def step(what: str, with_tutti: bool, extra: dict[str, str]) -> Step:
        def take(limit_s: float) -> dict:
            lines = run(mpi, 2, words, with_tutti=with_tutti, timeout_s=limit_s, extra=extra)
            return parse_nbc(lines)

        return Step(what, mpi, take)

    return [
        step(bars.TUTTI, True, {}),
        step(bars.ALONE, False, {}),
        *([] if quick else [step(bars.TUTTI_CORES, True, ONE_CORE)]),
        step(bars.ASYNC, False, ASYNC[mpi.name]),
    ]


def program_steps(mpi: Mpi, quick: bool) -> list[Step]:
    def take(requests: int, with_tutti: bool) -> Callable[[float], dict]:
        options = ["--requests", str(requests), "--rounds", "3" if quick else "6"]

        def taken(limit_s: float) -> dict:
            words = [outstanding.build(mpi), *options]
            return outstanding.parse(run(mpi, 2, words, with_tutti=with_tutti, timeout_s=limit_s))

        return taken

    idle = [
        Step(what, mpi, take(0, with_tutti))
        for _ in range(1 if quick else TURNS)
        for what, with_tutti in ((bars.IDLE_BARE, False), (bars.IDLE, True))
    ]
    return [*idle, Step(bars.OUTSTANDING, mpi, take(100 if quick else 10000, True))]


def plan(chosen: list[Mpi], quick: bool) -> list[Step]:
    """In the order of what the bars need most; the MPIs' own progress is the slowest, and last."""
    steps = [step for mpi in chosen for step in bench_steps(mpi, quick)]
    steps += [s for mpi in chosen if mpi.name in bars.IMB_MPIS for s in imb_steps(mpi, quick)]
    steps += [step for mpi in chosen for step in program_steps(mpi, quick)]
    return sorted(steps, key=lambda step: step.what == bars.ASYNC)


def measure(steps: list[Step], end: float, say, done) -> tuple[Measured, Missing]:
    """What the steps give; several of a kind, which give lists, add up."""
    measured: Measured = {}
    missing: Missing = {}
    for step in steps:
        say(str(step))
        key, left_s = (step.what, step.mpi.name), end - time.monotonic()
        if left_s < 1:
            missing[key] = "the time was up"
            done()
            continue
        try:
            taken = step.take(min(left_s, STEP_LIMIT_S))
            if step.what in (bars.IDLE, bars.IDLE_BARE):
                before = measured.get(key, {})
                taken = {name: before.get(name, []) + values for name, values in taken.items()}
            measured[key] = taken
        except RigError as error:
            missing[key] = " ".join(str(error).split())[-300:]
        done()
    return measured, missing


def as_rows(measured: Measured) -> list[dict]:
    """For the JSON, whose keys are words."""
    rows = []
    for (what, mpi), found in measured.items():
        head = {"what": what, "mpi": mpi}
        if all(isinstance(key, tuple) for key in found):
            rows += [
                {**head, "collective": name, "bytes": size, **row}
                for (name, size), row in found.items()
            ]
        else:
            rows.append({**head, **found})
    return rows


def measure_all(recording: Recording) -> dict:
    planned = plan(recording.kept, recording.quick)
    with progress_bar(recording.console, 60, count=True) as progress:
        steps = Steps(progress, len(planned))
        measured, missing = measure(planned, recording.end, steps.say, steps.done)
    names = recording.names()
    return {
        "note": NOTE,
        "failures": [f"{names[mpi]}, {what}: {why}" for (what, mpi), why in missing.items()],
        "verdicts": [vars(v) for v in judge(measured, missing, names)],
        "rows": as_rows(measured),
    }


def add_options(parser: argparse.ArgumentParser) -> None:
    add_common_options(parser, minutes=6)


def record(given: argparse.Namespace) -> int:
    return Recording(given, "-nonblocking").run(measure_all)
