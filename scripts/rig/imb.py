# SPDX-License-Identifier: BSD-3-Clause
"""Intel's ready-built benchmarks, IMB-MPI1 and IMB-NBC: how they are started, what they print."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from statistics import median

from rig.wheels import Mpi

# IMB's results of one run: microseconds a call on the slowest rank, by (collective, bytes).
ImbTimes = dict[tuple[str, int], float]

IMB_COLLECTIVES = ("Bcast", "Reduce", "Allreduce", "Barrier")
IMB_SIZES = [8, 1 << 10, 8 << 10, 64 << 10, 256 << 10, 1 << 20, 4 << 20]


def imb_words(mpi: Mpi, sizes: list[int]) -> list[str]:
    """A thousand calls of each size, or as many as move 400 MB."""
    lengths = ",".join(map(str, sizes))
    return [
        str(mpi.folder / "bin" / "IMB-MPI1"),
        "-npmin",
        "2",
        "-msgsize",
        lengths,
        "-zero_size",
        "off",
        "-iter",
        "1000,400",
        "-time",
        "2",
        *IMB_COLLECTIVES,
    ]


def imb_rows(lines: Iterable[str]) -> Iterator[tuple[str, dict[str, float]]]:
    """The rows of IMB's tables, each with its benchmark; `t_max[usec]` is `t_max` here."""
    collective = ""
    columns: list[str] = []
    for line in lines:
        if match := re.match(r"# Benchmarking (\w+)", line):
            collective, columns = match[1], []
        elif "[usec]" in line:
            columns = re.sub(r"\[[^]]*\]|#", " ", line).split()
        elif columns and (words := line.split()) and len(words) == len(columns):
            yield collective, {name: float(word) for name, word in zip(columns, words)}


def parse_imb(lines: Iterable[str], on_row: Callable[[], None] = lambda: None) -> ImbTimes:
    """Reads t_max of IMB's tables. Barrier's has no column of bytes; its size is 0."""
    times: ImbTimes = {}
    for collective, row in imb_rows(lines):
        times[collective, int(row.get("bytes", 0))] = row["t_max"]
        on_row()
    return times


def nbc_words(mpis: Path, collectives: Iterable[str], sizes: list[int], calls: int) -> list[str]:
    """Intel's ready-built IMB-NBC, which runs on every MPI of MPICH's ABI; powers of two."""
    low, high = (size.bit_length() - 1 for size in (min(sizes), max(sizes)))
    options = ["-npmin", "2", "-msglog", f"{low}:{high}", "-zero_size", "off"]
    limits = ["-iter", str(calls), "-time", "1"]
    return [str(mpis / "impi" / "bin" / "IMB-NBC"), *options, *limits, *collectives]


def parse_nbc(lines: Iterable[str]) -> dict[tuple[str, int], dict[str, float]]:
    """By collective, as tutti-bench names it, and bytes, and in its words."""
    return {
        (collective.lower(), int(row["bytes"])): {
            "pure_us": row["t_pure"],
            "compute_us": row["t_CPU"],
            "overlapped_us": row["t_ovrl"],
            "overlap_percent": row["overlap"],
        }
        for collective, row in imb_rows(lines)
    }


def median_times(runs: list[ImbTimes]) -> ImbTimes:
    return {key: median(run[key] for run in runs) for key in runs[0]}
