# SPDX-License-Identifier: BSD-3-Clause
"""Random collectives on random MPIs, numbers of ranks, hosts and options, until the time is over.

Each run is one of tests/mpi's random programs, from a case on that `make test` does not try, whose
results are compared with the MPI's own. Its ranks are on this machine, or on hosts of namespaces
(scripts/cluster.py). In between, the algorithms run in the simulator under schedules that were not
tried before. The first run that is wrong or hangs ends it, with the command that repeats it.

    fuzz.py [--seconds N] [--seed N] [--kind ranks|hosts|schedules]
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
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from rich.console import Console
from rig import ROOT
from rig.cluster import Cluster, NoCluster
from rig.launchers import Layout
from rig.mpis import DEBIAN_MPICH, DEBIAN_OPENMPI, INTEL, MAIN, OPENMPI, OTHERS, Mpi, run_job
from rig.spanning import variables
from rig.steps import progress_bar

SIMULATED = ("coll_schedules_test", "coll_leaders_test")
RUN_LIMIT_S = 300  # a run takes seconds
SCHEDULES = "200"  # of a run in the simulator, for each algorithm
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
OPTIONS_BETWEEN_HOSTS = {
    "TUTTI_LEADERS": ["1", "2", "3"],
    "TUTTI_PACKED": ["0", "512", "4K", "64K"],
    "TUTTI_MESSAGE": ["0", "100", "4K", "48K"],
}
MOST_RANKS_ON_HOSTS = 8


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


def drawn_options(draw: random.Random, options: dict[str, list[str]]) -> dict[str, str]:
    return {name: draw.choice(values) for name, values in options.items()}


def drawn_program(draw: random.Random, mpi: Mpi, names: list[str], slowness: int) -> list[str]:
    program = draw.choice(names)
    cases = (200 if program == "moves" else 40) // slowness
    words = [str(mpi.compile(f"{program}.cc")), "--cases", str(max(4, cases))]
    return [*words, "--first", str(draw.randrange(1000, FIRST_CASES))]


def trial(
    where: str,
    words: list[str],
    run: Callable[[], subprocess.CompletedProcess[str]],
    again: list[str],
) -> Trial:
    program = Path(words[0]).name
    return Trial(f"{where}, {program}", run, again, rf"{program}: \d+ compared, 0 wrong")


def on_this_machine(draw: random.Random) -> Trial:
    mpi: Mpi = draw.choice([*MAIN, *MAIN, *OTHERS])
    ranks = draw.choice([1, 2, 2, 2, 3, 3, 4, 5, 7])
    crowded = ranks > (os.cpu_count() or 1)
    slowness = mpi.sharing_slowness * (1 if mpi is OPENMPI else 4) if crowded else 1
    # Debian's MPICH fails in calls of its own that `nonblocking` compares with.
    names = ["moves"] if mpi is DEBIAN_MPICH else ["moves", "nonblocking"]
    words = drawn_program(draw, mpi, names, slowness)
    options = drawn_options(draw, OPTIONS)
    settings = [f"{name}={value}" for name, value in mpi.environment.items()]
    return trial(
        mpi.name,
        words,
        lambda: mpi.run(ranks, words, options, RUN_LIMIT_S),
        ["env", *settings, *mpi.launch(ranks, words, options)],
    )


def drawn_layout(draw: random.Random) -> Layout:
    hosts = draw.choice([2, 2, 3, 3, 4])
    counts = [1] * hosts
    for _ in range(draw.randrange(MOST_RANKS_ON_HOSTS - hosts + 1)):
        counts[draw.randrange(hosts)] += 1
    if draw.random() < 0.25:
        return Layout((draw.randint(2, MOST_RANKS_ON_HOSTS // hosts),) * hosts, cyclic=True)
    return Layout(tuple(counts))


def on_hosts(draw: random.Random, cluster: Cluster) -> Trial:
    mpi: Mpi = draw.choice([*MAIN, DEBIAN_OPENMPI])
    layout = drawn_layout(draw)
    # Intel MPI crashes in calls of its own that `nonblocking` compares with.
    names = ["moves"] if mpi is INTEL else ["moves", "nonblocking"]
    words = drawn_program(draw, mpi, names, 4)
    if words[0].endswith("nonblocking"):
        # Before a communicator's first blocking collective they would be the MPI's own, and these
        # are not to be forgotten, and crash when the communicator is freed (Open MPI).
        words += ["--meet", "1"]
    # With TUTTI_NODES=1: where ranks describe the same bytes by different datatypes, some of the
    # MPIs' own collectives between hosts hang, or end the job.
    options = drawn_options(draw, OPTIONS | OPTIONS_BETWEEN_HOSTS)
    settings = variables(mpi, **options)

    def run() -> subprocess.CompletedProcess[str]:
        result = cluster.run(mpi, layout, words, settings, RUN_LIMIT_S)
        if result.code is None:
            raise subprocess.TimeoutExpired(words, RUN_LIMIT_S)
        return subprocess.CompletedProcess(words, result.code, result.output)

    again = [sys.executable, str(ROOT / "scripts/cluster.py"), "--mpi", mpi.name]
    again += layout.options()
    for name, value in settings.items():
        again += ["--env", f"{name}={value}"]
    again += ["--limit", str(RUN_LIMIT_S), "--", *words]
    return trial(f"{mpi.name} on hosts", words, run, again)


def simulated(draw: random.Random) -> Trial:
    test = draw.choice(SIMULATED)
    variables = {
        "TUTTI_TEST_SEED": str(draw.randrange(100_000, 1 << 60)),
        "TUTTI_TEST_SCHEDULES": SCHEDULES,
    }
    command = [str(ROOT / "build/release/tests" / test), "--gtest_brief=1"]
    run = partial(run_job, command, dict(os.environ) | variables, RUN_LIMIT_S)
    again = ["env", *(f"{name}={value}" for name, value in variables.items()), *command]
    return Trial(f"simulator, {test}", run, again, "PASSED")


class Kinds:
    """What trials there are, and how often each is drawn."""

    def __init__(self, wanted: str | None, cluster: Cluster | None) -> None:
        kinds: dict[str, tuple[float, Callable[[random.Random], Trial]]] = {
            "ranks": (0.5, on_this_machine),
            "schedules": (0.2, simulated),
        }
        if cluster is not None:
            kinds["hosts"] = (0.3, partial(on_hosts, cluster=cluster))
        chosen = [kinds[name] for name in kinds if wanted in (None, name)]
        self._weights = [weight for weight, _ in chosen]
        self._made = [made for _, made in chosen]

    def drawn(self, draw: random.Random) -> Trial:
        return draw.choices(self._made, self._weights)[0](draw)


def fuzz(
    kinds: Kinds, draw: random.Random, seconds: float, console: Console
) -> Counter[str] | None:
    """How often each kind of trial was made; None when one was wrong."""
    done: Counter[str] = Counter()
    begin = time.monotonic()
    with progress_bar(console, 40) as progress:
        bar = progress.add_task("", total=seconds)
        while (elapsed := time.monotonic() - begin) < seconds:
            trial = kinds.drawn(draw)
            progress.update(bar, description=trial.kind, completed=elapsed)
            if wrong := trial.wrong():
                again = f"again:\n  {shlex.join(trial.again)}"
                for text in (f"{trial.kind}: {wrong}", again):
                    console.print(text, markup=False, highlight=False, soft_wrap=True)
                return None
            done[trial.kind] += 1
    return done


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--seconds", type=float, default=600, help="how long to try; default: 600")
    parser.add_argument("--seed", type=int, default=None, help="of the choices; default: the time")
    parser.add_argument(
        "--kind", choices=["ranks", "hosts", "schedules"], help="these trials alone; default: all"
    )
    arguments = parser.parse_args()
    seed = arguments.seed if arguments.seed is not None else int(time.time())
    console = Console(stderr=True)
    console.print(f"seed {seed}", highlight=False)
    with ExitStack() as stack:
        # What killed launchers left elsewhere is in no way here.
        os.environ["TMPDIR"] = stack.enter_context(
            tempfile.TemporaryDirectory(prefix="tutti-fuzz-")
        )
        cluster = None
        if arguments.kind in (None, "hosts"):
            try:
                cluster = stack.enter_context(Cluster(hosts=4))
            except NoCluster as missing:
                console.print(f"none on several hosts: {missing}", highlight=False)
                if arguments.kind == "hosts":
                    return 1
        kinds = Kinds(arguments.kind, cluster)
        done = fuzz(kinds, random.Random(seed), arguments.seconds, console)
    if done is None:
        return 1
    for kind, count in sorted(done.items()):
        print(f"{count:5} {kind}")
    print(f"{sum(done.values()):5} runs, none wrong (seed {seed})")
    return 0


if __name__ == "__main__":
    sys.exit(main())
