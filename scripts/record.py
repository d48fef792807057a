# SPDX-License-Identifier: BSD-3-Clause
"""Measures everything Tutti must reach, on three MPIs, and writes it to results/.

Run it alone on a quiet machine; it takes twelve minutes. bars.py holds the table.
"""

from __future__ import annotations

import sys

from bars import FASTEST_BARS, POWERS_OF_TWO, RATIO_BARS, SWEEPS, Measured, Point, Verdict, judge
from recording import Recording
from resident import Peak, peak_of
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rig.examples import digits_words
from rig.wheels import Mpi, bench

RUNS = 3  # of each point: where pages lie differs from run to run; the median ratio counts
IMB_WORDS = ["-npmin", "2", "-msgsize", "4194304", "-iter", "100", "-time", "5", "Allreduce"]
MEMORY_BAR = 1.05
SEGMENT_BAR = 1 << 20  # bytes a rank


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


def memory_verdicts(what: str, mpi: Mpi, plain: Peak, tutti: Peak) -> list[Verdict]:
    """Of a program's 2 ranks."""
    row = {
        "plain_bytes": plain.resident,
        "tutti_bytes": tutti.resident,
        "tutti_memfd_bytes": tutti.files,
        "segment_bytes": tutti.segment,
    }
    ratio, segment = tutti.resident / plain.resident, tutti.segment / 2
    sizes = f"{tutti.resident / 2**20:.1f} MiB, plain {plain.resident / 2**20:.1f}"
    return [
        Verdict(
            f"resident memory of {what}",
            mpi.name,
            f"at most {MEMORY_BAR}x",
            f"{ratio:.3f}x ({sizes})",
            ratio <= MEMORY_BAR,
            row,
        ),
        Verdict(
            f"node segment of {what}",
            mpi.name,
            "at most 1 MiB a rank",
            f"{segment / 2**20:.2f} MiB a rank",
            0 < segment <= SEGMENT_BAR,
            row,
        ),
    ]


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


def record(recording: Recording) -> dict:
    with Progress(
        TextColumn("{task.description:<50}"),
        BarColumn(),
        TimeElapsedColumn(),
        console=recording.console,
    ) as progress:
        total = len(recording.kept) * (len(groups()) + len(SWEEPS))
        task = progress.add_task("", total=total)
        say = lambda text: progress.update(task, description=text)  # noqa: E731
        measured = measure(recording.kept, recording.quick, say, lambda: progress.advance(task))
        verdicts = judge(measured)
        if len(recording.kept) == len(recording.all):
            verdicts += measure_memory(recording.all, say)
    return {
        "verdicts": [vars(v) for v in verdicts],
        "rows": [{"mpi": mpi, "memory": p.memory, **row} for (mpi, p), row in measured.items()],
    }


if __name__ == "__main__":
    sys.exit(Recording(__doc__).run(record))
