# SPDX-License-Identifier: BSD-3-Clause
"""What Tutti does for programs as they are: runs three of them plain and under `tutti run`.

Intel's ready-built IMB-MPI1 on Intel MPI, the C example asp and the mpi4py example digits on Open
MPI, each alternately with and without Tutti; prints one table and writes one plot of it. Runs that
something else disturbed are made again; what could not be had otherwise is no result, and says so.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import quiet
from comparison import Comparison
from plot import draw
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from rig import ROOT
from rig.examples import Values, asp_words, compile_asp, digits_words
from rig.imb import IMB_COLLECTIVES, IMB_SIZES, ImbTimes, imb_words, median_times, parse_imb
from rig.text import size_text, time_text
from rig.wheels import Mpi, RigError, bench, mpis, run
from tutti.errors import TuttiError

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


class Steps:
    """The progress bar: a step is a row of IMB, a run of a program, or a point of tutti-bench.

    `turns`: runs of each program, plain and with Tutti alternately; medians are shown.
    """

    def __init__(self, progress: Progress, turns: int):
        self.turns = turns
        self._progress = progress
        self._task = progress.add_task(
            "", total=2 * turns * (ROWS_OF_IMB + 1 + ASP_TURNS) + ROWS_OF_IMB
        )

    def say(self, what: str) -> None:
        self._progress.update(self._task, description=what)

    def done(self, steps: int = 1) -> None:
        self._progress.advance(self._task, steps)


Run = TypeVar("Run")


def in_turns(
    steps: Steps, what: str, mpi: Mpi, take: Callable[[int, bool], Run], more: int = 1
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


def run_imb(mpi: Mpi, steps: Steps) -> tuple[dict[bool, ImbTimes], str]:
    words = imb_words(mpi, IMB_SIZES)

    def take(_: int, with_tutti: bool) -> ImbTimes:
        times = parse_imb(run(mpi, RANKS, words, with_tutti=with_tutti), steps.done)
        if len(times) != ROWS_OF_IMB:
            raise RigError(f"IMB-MPI1 printed {len(times)} rows instead of {ROWS_OF_IMB}")
        return times

    runs, disturbed = in_turns(steps, "IMB-MPI1", mpi, take)
    return {with_tutti: median_times(times) for with_tutti, times in runs.items()}, disturbed


def run_limits(mpi: Mpi, steps: Steps) -> ImbTimes:
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


def run_example(comparison: Comparison, row: str, what: str, steps: Steps, more: int = 1) -> Row:
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


def measure(chosen: dict[str, Mpi], steps: Steps) -> tuple[list[Row], list[Row]]:
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


def ratio_of(row: Row) -> str:
    if row.disturbed:
        return "[yellow]not quiet[/]"
    colour = "green" if row.ratio >= 1.05 else "red" if row.ratio < 0.95 else "default"
    return f"[{colour}]{row.ratio:.2f}x[/]"


def warning_of(rows: list[Row]) -> str:
    """Of rows that are no result; "" when all are."""
    disturbed = [row for row in rows if row.disturbed]
    if not disturbed:
        return ""
    return (
        f"Not a result: {len(disturbed)} of {len(rows)} rows, as the machine was not quiet.\n"
        f"While they were measured, {disturbed[-1].disturbed}.\n"
        "Such times say more about that than about MPI, and differ from run to run.\n"
        "`top` says who they are; when they have ended, call `make demo` again."
    )


def table_of(rows: list[Row], applications: list[Row], turns: int) -> Table:
    what = "time of a call on the slowest rank"
    table = Table(title=f"2 ranks: {what}" + (", medians of undisturbed runs" if turns > 1 else ""))
    table.add_column("collective", no_wrap=True)
    for name in ("size", "MPI alone", "with Tutti", "ratio", "physical limit"):
        table.add_column(name, justify="right")
    last = ""
    for row in [*rows, *applications]:
        if last and row.what != last:
            table.add_section()
        limit = time_text(row.limit_us) if row.limit_us is not None else "-"
        table.add_row(
            row.what if row.what != last else "",
            size_text(row.size) if row.size else "",
            time_text(row.base_us),
            time_text(row.tutti_us),
            ratio_of(row),
            limit,
        )
        last = row.what
    return table


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--mpis", type=Path, default=ROOT / ".mpi", help="folder of the MPIs")
    parser.add_argument("--turns", type=int, default=3, help="runs of each program [3]")
    parser.add_argument("--plot", type=Path, default=ROOT / "build" / "demo.png")
    arguments = parser.parse_args()
    console = Console()
    try:
        chosen = mpis(arguments.mpis.absolute())
        with Progress(
            TextColumn("{task.description:<45}"), BarColumn(), TimeElapsedColumn(), console=console
        ) as progress:
            rows, applications = measure(chosen, Steps(progress, arguments.turns))
    except (RigError, TuttiError) as error:
        console.print(f"demo: {error}", style="red", markup=False, highlight=False)
        return 1
    console.print(table_of(rows, applications, arguments.turns))
    if warning := warning_of([*rows, *applications]):
        console.print(f"\n{warning}", style="yellow", highlight=False)
    console.print(
        f"""
IMB-MPI1, as Intel built it, ran on {chosen["impi"].found}; asp (C) and digits
(mpi4py) on {chosen["openmpi"].found}: the time in the collective in a whole run, of the
rank that waits least. IMB uses the same buffers again and again, so that they
are in the caches (hot). The physical limit is what 2 ranks need, in that state,
for the same bytes and sums on memory of their own. It knows of no messages, so
that it tells nothing below a few KiB.""",
        highlight=False,
    )
    arguments.plot.parent.mkdir(parents=True, exist_ok=True)
    draw(rows, applications, arguments.plot)
    console.print(
        f"\nBoth examples gave the same results with and without Tutti. The plot is in\n"
        f"{arguments.plot}\n",
        highlight=False,
    )
    console.print(
        "Try next:\n"
        "  tutti doctor                                  what this machine offers\n"
        "  tutti bench allreduce --plot allreduce.png    on memory that is in no cache\n"
        "  tutti run -n 2 -- ./your_program",
        highlight=False,
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
