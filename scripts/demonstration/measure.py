# SPDX-License-Identifier: BSD-3-Clause
"""The demo's runs: three programs, each plain and with Tutti by turns, and the physical limits."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from rich.progress import Progress
from rig.examples import Values, asp_words, compile_asp, digits_words
from rig.imb import IMB_COLLECTIVES, IMB_SIZES, ImbTimes, imb_words, median_times, parse_imb
from rig.steps import Steps
from rig.wheels import Mpi, RigError, bench, run

from demonstration import quiet
from demonstration.comparison import Comparison

# How long asp's ranks wait for each other varies, and a run takes a second: so many times as many.
ASP_TURNS = 3
RANKS = 2
CORES = len(os.sched_getaffinity(0))
ROWS_OF_IMB = (len(IMB_COLLECTIVES) - 1) * len(IMB_SIZES) + 1


@dataclass
class Row:
    """A line of the table; times in microseconds, `limit_us` None where there is none."""

    what: str
    size: int  # bytes; 0 where none
    base_us: float
    tutti_us: float
    limit_us: float | None
    disturbed: str = ""  # by what, in all runs

    @property
    def ratio(self) -> float:
        return self.base_us / self.tutti_us


class Turns(Steps):
    """A step is a row of IMB, a run of a program, or a point of tutti-bench.

    `turns`: runs of each program, plain and with Tutti alternately; medians are shown.
    """

    def __init__(self, progress: Progress, turns: int):
        self.turns = turns
        super().__init__(progress, 2 * turns * (ROWS_OF_IMB + 1 + ASP_TURNS) + ROWS_OF_IMB)


Run = TypeVar("Run")


def in_turns(
    steps: Turns, what: str, mpi: Mpi, take: Callable[[int, bool], Run], more: int = 1
) -> tuple[dict[bool, list[Run]], str]:
    """take(turn, with_tutti) plain and with Tutti alternately, and what disturbed all turns."""
    turn = 0

    def pair() -> quiet.Pair[Run]:
        nonlocal turn
        runs, disturbed = {}, ""
        for with_tutti in (False, True):
            again = ", again" if turn >= more * steps.turns else ""
            steps.say(f"{what} on {mpi.label}, {'with Tutti' if with_tutti else 'plain'}{again}")
            before = quiet.read()
            runs[with_tutti] = take(turn, with_tutti)
            disturbed = disturbed or quiet.disturbance(before, quiet.read(), CORES, RANKS)
        turn += 1
        return quiet.Pair(runs, disturbed)

    pairs, disturbed = quiet.quiet_pairs(pair, more * steps.turns)
    return {tutti: [each.runs[tutti] for each in pairs] for tutti in (False, True)}, disturbed


def run_imb(mpi: Mpi, steps: Turns) -> tuple[dict[bool, ImbTimes], str]:
    words = imb_words(mpi, IMB_SIZES)

    def take(_: int, with_tutti: bool) -> ImbTimes:
        times = parse_imb(run(mpi, RANKS, words, with_tutti=with_tutti), steps.done)
        if len(times) != ROWS_OF_IMB:
            raise RigError(f"IMB-MPI1 printed {len(times)} rows instead of {ROWS_OF_IMB}")
        return times

    runs, disturbed = in_turns(steps, "IMB-MPI1", mpi, take)
    return {with_tutti: median_times(times) for with_tutti, times in runs.items()}, disturbed


def run_limits(mpi: Mpi, steps: Turns) -> ImbTimes:
    """What the memory can do, for the same sizes, also on buffers used again and again."""
    limits: ImbTimes = {}
    for collective in IMB_COLLECTIVES:
        steps.say(f"physical limit of {collective}")
        rows = bench(
            mpi,
            RANKS,
            collective.lower(),
            with_tutti=False,
            sizes=IMB_SIZES,
            cache="hot",
            min_time_ms=100,
        )
        for row in rows:
            limits[collective, row["bytes"]] = row["limit_us"]
        steps.done(len(rows))
    return limits


def run_example(comparison: Comparison, row: str, what: str, steps: Turns, more: int = 1) -> Row:
    """`more`: times as many turns as usual."""

    def take(turn: int, with_tutti: bool) -> Values:
        values = comparison.take(turn, with_tutti)
        steps.done()
        return values

    runs, disturbed = in_turns(steps, what, comparison.mpi, take, more)
    if not comparison.same_result():
        raise RigError(f"{what} did not give the same result with Tutti and without")
    base_us, tutti_us = (comparison.time_us(runs[with_tutti]) for with_tutti in (False, True))
    return Row(row, 0, base_us, tutti_us, None, disturbed)


def measure(chosen: dict[str, Mpi], steps: Turns) -> tuple[list[Row], list[Row]]:
    """IMB's rows, and those of the two applications."""
    intel, openmpi = chosen["impi"], chosen["openmpi"]
    (imb, disturbed), limits = run_imb(intel, steps), run_limits(intel, steps)
    program = compile_asp(openmpi)
    asp = run_example(
        Comparison(
            openmpi, lambda turn: asp_words(program, turn == 0), "longest shortest path", "in Bcast"
        ),
        "asp: Bcast",
        "asp (C)",
        steps,
        ASP_TURNS,
    )
    digits = run_example(
        Comparison(openmpi, lambda _: digits_words(sys.executable), "weights", "in Allreduce"),
        "digits: Allreduce",
        "digits (mpi4py)",
        steps,
    )
    rows = [
        Row(*key, imb[False][key], imb[True][key], limits.get(key), disturbed) for key in imb[False]
    ]
    return rows, [asp, digits]
