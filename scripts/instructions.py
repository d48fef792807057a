# SPDX-License-Identifier: BSD-3-Clause
"""Counts what small collectives execute in two builds of libtutti.so.

Where times differ by less than a machine's noise, instructions still tell. A rank is stepped
through 40 calls of 8 B; the least of them counts, as the others also wake somebody.

    .venv/bin/python scripts/instructions.py OLD/libtutti.so build/release/src/libtutti.so
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rig import ROOT
from rig.wheels import RigError, mpis, run

COLLECTIVES = ("barrier", "bcast", "reduce", "allreduce", "allgather", "alltoall")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("old", type=Path)
    parser.add_argument("new", type=Path)
    parser.add_argument("--mpi", default="mpich", help="the name of a folder in .mpi")
    given = parser.parse_args()
    mpi = mpis(ROOT / ".mpi")[given.mpi]
    table = Table("collective", "rank", "old", "new", title=f"{mpi.label}, instructions a call")
    more = []
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "instructions"
        source = ROOT / "scripts" / "instructions.c"
        mpi.compile(["mpicc", "-O1", "-Wall", "-Werror"], source, program)
        for collective in COLLECTIVES:
            for rank in "01":
                counts = []
                for library in (given.old, given.new):
                    words = ["env", f"LD_PRELOAD={library.absolute()}"]
                    words += [str(program), collective, rank]
                    lines = run(mpi, 2, words, with_tutti=False)
                    counts.append(min(int(line) for line in lines if line.isdecimal()))
                table.add_row(collective, rank, *map(str, counts))
                more.append(counts[1] - counts[0])
    console = Console()
    console.print(table)
    console.print(f"new - old: {statistics.mean(more):+.1f} in the mean")
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (RigError, OSError) as error:
        sys.exit(f"instructions: {error}")
