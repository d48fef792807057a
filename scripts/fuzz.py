# SPDX-License-Identifier: BSD-3-Clause
"""Random collectives on random MPIs, numbers of ranks and options, until the time is over.

Each run is one of tests/mpi's random programs, from a case on that `make test` does not try, whose
results are compared with the MPI's own. In between, the algorithms run in the simulator under
schedules that were not tried before. The first run that is wrong or hangs ends it, with the
command that repeats it.

    fuzz.py [--seconds N] [--seed N]
"""

from __future__ import annotations

import argparse
import os
import random
import re
import shlex
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from rich.console import Console
from rig import ROOT
from rig.mpis import DEBIAN_MPICH, MAIN, OPENMPI, OTHERS, Mpi, run_job
from rig.steps import progress_bar

SIMULATED = ROOT / "build/release/tests/coll_schedules_test"
RUN_LIMIT_S = 300  # a run takes seconds
FIRST_CASES = 10_000_000  # cases are numbered from 0; `make test` tries the first hundreds

# What changes the way that data takes or who moves it, and no result.
OPTIONS = {
    "TUTTI_MEMORY": ["commons,cma,bounce", "cma", "bounce"],
    "TUTTI_PROGRESS": ["auto", "bind", "none"],
    "TUTTI_STORES": ["auto", "plain", "streaming"],
    "TUTTI_CHECK": ["usual", "strict"],
    "TUTTI_COMMONS_THRESHOLD": ["1K", "8K", "64K"],
    "TUTTI_SPIN": ["0", "2000"],
    "TUTTI_YIELD": ["0", "200"],
}


@dataclass(frozen=True)
class Trial:
    """One run: what it is called in the summary, how it is made, and how one repeats it by hand."""

    kind: str
    run: Callable[[], subprocess.CompletedProcess[str]]
    again: list[str]
    good: str  # matches what a right run prints

    def wrong(self) -> str:
        """What is wrong, or nothing."""
        try:
            result = self.run()
        except subprocess.TimeoutExpired:
            return f"did not end within {RUN_LIMIT_S} s"
        if result.returncode == 0 and re.search(self.good, result.stdout):
            return ""
        return f"exit code {result.returncode}\n{result.stdout[-2000:]}"


def on_an_mpi(draw: random.Random) -> Trial:
    mpi: Mpi = draw.choice([*MAIN, *MAIN, *OTHERS])
    ranks = draw.choice([1, 2, 2, 2, 3, 3, 4, 5, 7])
    crowded = ranks > (os.cpu_count() or 1)
    slowness = mpi.sharing_slowness * (1 if mpi is OPENMPI else 4) if crowded else 1
    # Debian's MPICH fails in calls of its own that `nonblocking` compares with.
    program = draw.choice(["moves"] if mpi is DEBIAN_MPICH else ["moves", "nonblocking"])
    cases = (200 if program == "moves" else 40) // slowness
    words = [str(mpi.compile(f"{program}.cc"))]
    words += ["--cases", str(max(4, cases)), "--first", str(draw.randrange(1000, FIRST_CASES))]
    options = {name: draw.choice(values) for name, values in OPTIONS.items()}
    settings = [f"{name}={value}" for name, value in mpi.environment.items()]
    return Trial(
        f"{mpi.name}, {program}",
        lambda: mpi.run(ranks, words, options, RUN_LIMIT_S),
        ["env", *settings, *mpi.launch(ranks, words, options)],
        rf"{program}: \d+ compared, 0 wrong",
    )


def simulated(draw: random.Random) -> Trial:
    seed = str(draw.randrange(100_000, 1 << 60))
    command = ["env", f"TUTTI_TEST_SEED={seed}", str(SIMULATED), "--gtest_brief=1"]
    return Trial(
        "simulator", lambda: run_job(command, dict(os.environ), RUN_LIMIT_S), command, "PASSED"
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--seconds", type=float, default=600, help="how long to try; default: 600")
    parser.add_argument("--seed", type=int, default=None, help="of the choices; default: the time")
    arguments = parser.parse_args()
    seed = arguments.seed if arguments.seed is not None else int(time.time())
    draw = random.Random(seed)
    console = Console(stderr=True)
    console.print(f"seed {seed}", highlight=False)
    done: Counter[str] = Counter()
    begin = time.monotonic()
    own_files = tempfile.TemporaryDirectory(prefix="tutti-fuzz-")
    with own_files as directory, progress_bar(console, 32) as progress:
        os.environ["TMPDIR"] = directory  # what killed launchers left elsewhere is in no way here
        bar = progress.add_task("", total=arguments.seconds)
        while (elapsed := time.monotonic() - begin) < arguments.seconds:
            trial = simulated(draw) if draw.random() < 0.2 else on_an_mpi(draw)
            progress.update(bar, description=trial.kind, completed=elapsed)
            if wrong := trial.wrong():
                console.print(f"{trial.kind}: {wrong}", markup=False, highlight=False)
                console.print(
                    f"again:\n  {shlex.join(trial.again)}",
                    markup=False,
                    highlight=False,
                    soft_wrap=True,
                )
                return 1
            done[trial.kind] += 1
    for kind, count in sorted(done.items()):
        print(f"{count:5} {kind}")
    print(f"{sum(done.values()):5} runs, none wrong (seed {seed})")
    return 0


if __name__ == "__main__":
    sys.exit(main())
