# SPDX-License-Identifier: BSD-3-Clause
"""What Tutti does for programs as they are: runs three of them plain and under `tutti run`.

Intel's ready-built IMB-MPI1 on Intel MPI, the C example asp and the mpi4py example digits on Open
MPI, each alternately with and without Tutti; prints one table and writes one plot of it. Runs that
something else disturbed are made again; what could not be had otherwise is no result, and says so.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from demonstration.measure import Turns, measure
from demonstration.plot import draw
from demonstration.table import table_of, warning_of
from rich.console import Console
from rig import ROOT
from rig.steps import progress_bar
from rig.wheels import RigError, mpis
from tutti.errors import TuttiError

ABOUT = """
IMB-MPI1, as Intel built it, ran on {impi}; asp (C) and digits
(mpi4py) on {openmpi}: the time in the collective in a whole run, of the
rank that waits least. IMB uses the same buffers again and again, so that they
are in the caches (hot). The physical limit is what 2 ranks need, in that state,
for the same bytes and sums on memory of their own. It knows of no messages, so
that it tells nothing below a few KiB."""
PLOTTED = """
Both examples gave the same results with and without Tutti. The plot is in
{plot}
"""
NEXT = """\
Try next:
  tutti doctor                                  what this machine offers
  tutti bench allreduce --plot allreduce.png    on memory that is in no cache
  tutti run -n 2 -- ./your_program"""


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--mpis", type=Path, default=ROOT / ".mpi", help="folder of the MPIs")
    parser.add_argument("--turns", type=int, default=3, help="runs of each program [3]")
    parser.add_argument("--plot", type=Path, default=ROOT / "build" / "demo.png")
    return parser.parse_args()


def main() -> int:
    arguments = options()
    console = Console()
    try:
        chosen = mpis(arguments.mpis.absolute())
        with progress_bar(console, 45) as progress:
            rows, applications = measure(chosen, Turns(progress, arguments.turns))
    except (RigError, TuttiError) as error:
        console.print(f"demo: {error}", style="red", markup=False, highlight=False)
        return 1
    console.print(table_of(rows, applications, arguments.turns))
    if warning := warning_of([*rows, *applications]):
        console.print(f"\n{warning}", style="yellow", highlight=False)
    found = {name: mpi.found for name, mpi in chosen.items() if name in ("impi", "openmpi")}
    console.print(ABOUT.format(**found), highlight=False)
    arguments.plot.parent.mkdir(parents=True, exist_ok=True)
    draw(rows, applications, arguments.plot)
    console.print(PLOTTED.format(plot=arguments.plot), highlight=False)
    console.print(NEXT, highlight=False)
    return 0


if __name__ == "__main__":
    sys.exit(main())
