# SPDX-License-Identifier: BSD-3-Clause
"""Measures Bcast, Reduce, Allreduce, Barrier, and memory.

It takes twelve minutes on three MPIs. `bars.blocking` and `bars.memory` hold what must be reached.
"""

from __future__ import annotations

import argparse
import sys

from rig.examples import digits_words
from rig.steps import Steps, progress_bar
from rig.wheels import Mpi, bench

from records.bars.blocking import FASTEST_BARS, RATIO_BARS, SWEEPS, judge
from records.bars.memory import memory_verdicts
from records.bars.points import POWERS_OF_TWO, Measured, Point, Verdict
from records.recording import Recording, add_common_options
from records.resident import peak_of

RUNS = 3  # of each point: where pages lie differs from run to run; the median ratio counts
IMB_WORDS = ["-npmin", "2", "-msgsize", "4194304", "-iter", "100", "-time", "5", "Allreduce"]


def groups() -> dict[Point, list[int]]:
    """The points of the bars, those that one run of tutti-bench can measure together."""
    result: dict[Point, list[int]] = {}
    for bar in (*RATIO_BARS, *FASTEST_BARS):
        p = bar.point
        sizes = result.setdefault(Point(p.collective, 0, p.cache, p.ranks, p.memory), [])
        if p.bytes not in sizes:
            sizes.append(p.bytes)
    return result


def run_group(mpi: Mpi, group: Point, sizes: list[int], time_ms: int) -> list[dict]:
    options = {"sizes": sorted(sizes)} if group.collective != "barrier" else {}
    return bench(
        mpi,
        group.ranks,
        group.collective,
        with_tutti=True,
        cache=group.cache,
        memory=group.memory,
        min_time_ms=time_ms,
        **options,
    )


def measure_group(
    mpi: Mpi, group: Point, sizes: list[int], time_ms: int, runs: int
) -> dict[tuple[str, Point], dict]:
    """Of each point the row whose ratio is the median of so many runs."""
    taken = [run_group(mpi, group, sizes, time_ms) for _ in range(runs)]
    middle = (sorted(rows, key=lambda row: row["ratio"])[runs // 2] for rows in zip(*taken))
    return {(mpi.name, at(group, row)): row for row in middle}


def at(group: Point, row: dict) -> Point:
    return Point(group.collective, row["bytes"], group.cache, group.ranks, group.memory)


def measure(chosen: list[Mpi], quick: bool, say, done) -> Measured:
    measured: Measured = {}
    some = POWERS_OF_TWO[::6] if quick else POWERS_OF_TWO
    planned = [(group, sizes, 600) for group, sizes in groups().items()]
    planned += [(sweep, some, 200) for sweep in SWEEPS]
    for mpi in chosen:
        for group, sizes, time_ms in planned:
            what = f"{group.collective} of {group.ranks} on {group.memory}, {group.cache}"
            say(f"{mpi.label}: {what}")
            runs = 1 if quick or group.ranks > 2 else RUNS
            measured |= measure_group(mpi, group, sizes, 50 if quick else time_ms, runs)
            done()
    return measured


def measure_memory(chosen: dict[str, Mpi], say) -> list[Verdict]:
    intel = chosen["impi"]
    imb = [str(intel.folder / "bin" / "IMB-MPI1"), *IMB_WORDS]
    verdicts = []
    for what, mpi, words in (
        ("digits", chosen["openmpi"], digits_words(sys.executable)),
        ("IMB-MPI1 Allreduce 4 MiB", intel, imb),
    ):
        say(f"{mpi.label}: resident memory of {what}")
        plain, tutti = (peak_of(mpi, 2, words, with_tutti=which) for which in (False, True))
        verdicts += memory_verdicts(what, mpi, plain, tutti)
    return verdicts


def measure_all(recording: Recording) -> dict:
    with progress_bar(recording.console, 50) as progress:
        steps = Steps(progress, len(recording.kept) * (len(groups()) + len(SWEEPS)))
        measured = measure(recording.kept, recording.quick, steps.say, steps.done)
        verdicts = judge(measured)
        if len(recording.kept) == len(recording.all):
            verdicts += measure_memory(recording.all, steps.say)
    return {
        "verdicts": [vars(v) for v in verdicts],
        "rows": [{"mpi": mpi, "memory": p.memory, **row} for (mpi, p), row in measured.items()],
    }


def add_options(parser: argparse.ArgumentParser) -> None:
    add_common_options(parser)


def record(given: argparse.Namespace) -> int:
    return Recording(given).run(measure_all)
