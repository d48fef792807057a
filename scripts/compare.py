# SPDX-License-Identifier: BSD-3-Clause
"""Times two builds of libtutti.so against each other.

Runs of tutti-bench take turns with one and the other, many short ones: how fast a run is depends on
where its pages lie, and a machine's mood lasts for minutes. The median of the pairs' ratios counts.
Run it alone on a quiet machine:

    .venv/bin/python scripts/compare.py OLD/libtutti.so build/release/src/libtutti.so
"""

from __future__ import annotations

import argparse
import statistics
import sys
from pathlib import Path

from records import machine, recording
from rich.console import Console
from rich.progress import track
from rich.table import Table
from rig import ROOT
from rig.text import console
from rig.wheels import Mpi, RigError, bench, mpis
from tutti.errors import TuttiError

COLLECTIVES = (
    "barrier,bcast,reduce,allreduce,gather,scatter,allgather,alltoall,reduce_scatter_block,scan"
)
Times = dict[tuple[str, int], list[float]]  # us, a run each, by collective and bytes


def measure(mpi: Mpi, library: Path, given: argparse.Namespace, times: Times) -> None:
    options = {"min_time_ms": 20, "cache": given.cache}
    for row in bench(
        mpi,
        given.ranks,
        given.collectives,
        with_tutti=False,
        preload=library,
        sizes=given.sizes,
        **options,
    ):
        times.setdefault((row["collective"], row["bytes"]), []).append(row["tutti_us"])


def show(mpi: Mpi, old: Times, new: Times, screen: Console) -> None:
    table = Table(
        "collective", "bytes", "old, us", "new, us", "new / old", "half of them", title=mpi.label
    )
    medians = []
    for point, before in old.items():
        ratios = [b / a for a, b in zip(before, new[point], strict=True)]
        low, middle, high = statistics.quantiles(ratios, n=4)
        medians.append(middle)
        us = (f"{statistics.median(each):.4g}" for each in (before, new[point]))
        table.add_row(point[0], str(point[1]), *us, f"{middle:.3f}", f"{low:.3f} to {high:.3f}")
    screen.print(table)
    screen.print(
        f"{mpi.label}: geometric mean of new / old {statistics.geometric_mean(medians):.3f}"
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("old", type=Path)
    parser.add_argument("new", type=Path)
    parser.add_argument("--only", nargs="*", help="names of folders in .mpi, instead of all three")
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=21)
    parser.add_argument("--collectives", default=COLLECTIVES)
    parser.add_argument("--sizes", default="8,64,1024,4096,16384,65536,262144,1048576,4194304")
    parser.add_argument("--cache", choices=["hot", "cold"], default="hot")
    given = parser.parse_args()
    libraries = [given.old.absolute(), given.new.absolute()]
    screen = console(110)
    described = machine.describe()
    screen.print(f"{described['cpu']}, {given.ranks} ranks, {given.cache}, {given.rounds} pairs")
    try:
        for name, mpi in mpis(ROOT / ".mpi").items():
            if given.only and name not in given.only:
                continue
            times: dict[Path, Times] = {library: {} for library in libraries}
            for turn in track(range(given.rounds), mpi.label, console=screen, transient=True):
                for library in recording.in_turn(turn, libraries):
                    measure(mpi, library, given, times[library])
            show(mpi, *(times[library] for library in libraries), screen)
    except (RigError, TuttiError) as error:
        screen.print(f"compare: {error}", style="red", markup=False, highlight=False)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
