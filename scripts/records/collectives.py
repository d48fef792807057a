# SPDX-License-Identifier: BSD-3-Clause
"""Measures all blocking collectives, in a bounded time.

`bars.collectives` holds the table of what must be reached on three MPIs. What matters most to it is
measured first; what does not fit the time is named as not measured.
"""

from __future__ import annotations

import argparse
import json
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass

from rig.steps import Steps, progress_bar
from rig.wheels import Mpi, RigError, run
from tutti import paths

from records.bars import collectives as bars
from records.bars.points import Measured, Point
from records.recording import Recording, add_common_options

ROW_LIMIT_S = 60  # without a row for this long, the run is taken to hang


@dataclass(frozen=True)
class Run:
    """What one start of tutti-bench is to measure."""

    mpi: Mpi
    ranks: int
    cache: str
    collectives: tuple[str, ...]
    sizes: tuple[int, ...]

    @property
    def rows(self) -> int:
        return sum(1 if name == "barrier" else len(self.sizes) for name in self.collectives)

    def of(self, collectives: tuple[str, ...]) -> Run:
        return Run(self.mpi, self.ranks, self.cache, collectives, self.sizes)

    def __str__(self) -> str:
        return f"{self.mpi.label}, {self.ranks} ranks, {self.cache}"


def plan(chosen: list[Mpi], quick: bool) -> list[Run]:
    """In the order of what the bars need most."""
    some = slice(None, None, 6 if quick else 1)
    data = tuple(name for name in bars.COLLECTIVES if name != "barrier")
    runs = [Run(m, 2, c, data, tuple(bars.LARGE[some])) for m in chosen for c in bars.CACHES]
    runs += [
        Run(m, 4, c, bars.NEW, tuple(bars.FOUR_RANK_SIZES[m.name][some]))
        for m in chosen
        for c in bars.FOUR_RANK_CACHES[m.name]
    ]
    return runs + [
        Run(m, 2, c, bars.COLLECTIVES, tuple(bars.SMALL[some])) for c in bars.CACHES for m in chosen
    ]


def words(what: Run, quick: bool) -> list[str]:
    slow = what.ranks > 2 and what.mpi.name == "mpich"
    return [
        *(str(paths.bench_program()), "--collective", ",".join(what.collectives)),
        *("--sizes", ",".join(map(str, what.sizes)), "--cache", what.cache),
        *("--min-time-ms", "5" if quick else "40", "--max-time-ms", "50" if quick else "500"),
        *(("--iterations", "1" if quick else "3") if quick or slow else ()),
    ]


def rows(what: Run, quick: bool, left_s: float) -> Iterator[dict]:
    """As they come; RigError when the run fails, hangs or has used the time that is left."""
    begun: list = []
    watch = threading.Timer(0, lambda: None)

    def rewind() -> None:
        nonlocal watch
        watch.cancel()
        watch = threading.Timer(ROW_LIMIT_S, begun[0].terminate)
        watch.start()

    def started(process) -> None:
        begun.append(process)
        rewind()

    try:
        program = words(what, quick)
        for line in run(
            what.mpi, what.ranks, program, with_tutti=True, timeout_s=left_s, started=started
        ):
            event = json.loads(line) if line.startswith("{") else {}
            if event.get("event") == "error":
                raise RigError(event["message"])
            if event.pop("event", None) == "row":
                rewind()
                yield event
    finally:
        watch.cancel()


def measure(runs: list[Run], quick: bool, end: float, say, done, log) -> tuple[Measured, list[str]]:
    """The rows, and what went wrong; a collective that fails costs its own rows alone."""
    measured: Measured = {}
    failures: list[str] = []
    for what in runs:
        left, begin, before = what.collectives, time.monotonic(), len(measured)
        while left and (left_s := end - time.monotonic()) > 1:
            at = left[0]
            count = 0  # rows of the collective under way
            say(str(what))
            try:
                for row in rows(what.of(left), quick, left_s):
                    count = count + 1 if row["collective"] == at else 1
                    at = row["collective"]
                    point = Point(at, row["bytes"], what.cache, what.ranks)
                    measured[what.mpi.name, point] = row
                    say(f"{what}, {at}")
                    done()
                break
            except RigError as error:
                if time.monotonic() >= end - 1:
                    break
                if count == what.of((at,)).rows:  # it is the next that failed
                    at = left[left.index(at) + 1] if at != left[-1] else at
                failures.append(f"{what}, {at}: {' '.join(str(error).split())[-300:]}")
                left = left[left.index(at) + 1 :]
        log(f"{what}: {len(measured) - before} rows in {time.monotonic() - begin:.0f} s")
    return measured, failures


def measure_all(recording: Recording) -> dict:
    runs = plan(recording.kept, recording.quick)
    planned = sum(what.rows for what in runs)
    with progress_bar(recording.console, 60, count=True) as progress:
        steps = Steps(progress, planned)
        say, done, log = steps.say, steps.done, steps.log
        measured, failures = measure(runs, recording.quick, recording.end, say, done, log)
        log(f"{len(measured)} of {planned} rows")
    return {
        "planned": planned,
        "failures": failures,
        "verdicts": [vars(v) for v in bars.judge(measured, recording.names())],
        "rows": [{"mpi": mpi, **row} for (mpi, _), row in measured.items()],
    }


def add_options(parser: argparse.ArgumentParser) -> None:
    add_common_options(parser, minutes=14)


def record(given: argparse.Namespace) -> int:
    return Recording(given, "-collectives").run(measure_all)
