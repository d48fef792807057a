# SPDX-License-Identifier: BSD-3-Clause
"""Times programs that compute alone, bound by memory, bare and under Tutti by turns.

Their pages are what the commons serves them. As root it sets the machine's transparent huge pages
(THP) one way after the other, and puts them back; else it takes them as they are.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rig import ROOT
from rig.mpis import LIBRARY
from rig.steps import progress_bar
from rig.text import console

from records import machine, recording

PROGRAMS = ROOT / "scripts" / "records" / "programs"
THP = Path("/sys/kernel/mm/transparent_hugepage/enabled")
# What follows runs where there may be no more user namespaces.
REFUSED = (
    *("unshare", "--user", "--map-root-user", "sh", "-c"),
    'echo 0 > /proc/sys/user/max_user_namespaces && exec "$@"',
    "sh",
)


@dataclass(frozen=True)
class Setting:
    """Of the machine, and what Tutti must reach there: bare time over time with Tutti."""

    thp: str
    namespaces: bool
    least: float
    least_passes: float

    def __str__(self) -> str:
        return self.thp + ("" if self.namespaces else ", no user namespaces")


SETTINGS = (
    Setting("always", True, 0.98, 0.98),
    Setting("always", False, 0.97, 0.97),
    Setting("madvise", True, 1.0, 1.3),
    Setting("never", True, 1.0, 1.3),
)


@dataclass
class Row:
    """Medians in seconds; the ratio is the median of those of the pairs, bare to Tutti's."""

    setting: str
    what: str
    bare_s: float
    tutti_s: float
    ratio: float
    ratios: list[float]
    bar: float

    @property
    def met(self) -> bool:
        return self.ratio >= self.bar


def thp() -> str:
    text = THP.read_text()
    return text[text.index("[") + 1 : text.index("]")]


@contextlib.contextmanager
def thp_set(word: str) -> Iterator[None]:
    before = thp()
    if before == word:
        yield
        return

    def end(number: int, _: object) -> None:
        sys.exit(128 + number)

    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, end)
    try:
        THP.write_text(word)
        yield
    finally:
        THP.write_text(before)


def run_all(programs: list[list[str]], setting: Setting, tutti: bool) -> dict[str, float]:
    before = () if setting.namespaces else REFUSED
    variables = ["OMP_NUM_THREADS=1", "OPENBLAS_NUM_THREADS=1"]
    if tutti:
        variables.append(f"LD_PRELOAD={LIBRARY}")
    found: dict[str, float] = {}
    for program in programs:
        command = [*before, "env", "--unset=LD_PRELOAD", *variables, *program]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        found |= json.loads(done.stdout)
    return found


def measure(setting: Setting, programs: list[list[str]], pairs: int) -> list[Row]:
    runs: dict[bool, list[dict[str, float]]] = {False: [], True: []}
    for turn in range(pairs):
        for tutti in recording.in_turn(turn, (False, True)):
            runs[tutti].append(run_all(programs, setting, tutti))
    bare, ours = runs[False], runs[True]
    rows = []
    for what in bare[0]:
        ratios = [b[what] / t[what] for b, t in zip(bare, ours)]
        rows.append(
            Row(
                str(setting),
                what,
                round(statistics.median(run[what] for run in bare), 4),
                round(statistics.median(run[what] for run in ours), 4),
                round(statistics.median(ratios), 3),
                [round(ratio, 3) for ratio in ratios],
                setting.least_passes if what == "passes" else setting.least,
            )
        )
    return rows


HEAD = ("machine", "what", "bare, s", "Tutti, s", "ratio", "pairs", "bar", "")


def cells(row: Row) -> list[str]:
    return [
        row.setting,
        row.what,
        f"{row.bare_s:.3f}",
        f"{row.tutti_s:.3f}",
        f"{row.ratio:.3f}",
        f"{min(row.ratios):.2f} to {max(row.ratios):.2f}",
        f"{row.bar:g}",
        "met" if row.met else "**not met**",
    ]


ABOUT = """\
Medians; a ratio is the bare program's time over the time with Tutti, and more is better. The
machine is its setting of transparent huge pages. The bar is the least ratio. One process each,
without MPI calls. The first four are of one array of 512 MiB and, the triad, three of 256 MiB,
in C; the others in NumPy, of 256 MiB and, the product, 153 MiB."""


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--pairs", type=int, default=7)
    recording.add_results_option(parser)


def measure_all(pairs: int, screen: Console) -> list[Row]:
    settings = SETTINGS
    if not os.access(THP, os.W_OK):
        screen.print("Not root: transparent huge pages are taken as they are.")
        settings = tuple(each for each in SETTINGS if each.thp == thp())
    rows: list[Row] = []
    with tempfile.TemporaryDirectory() as folder, progress_bar(screen, 20) as progress:
        program = f"{folder}/computing"
        subprocess.run(["cc", "-O2", "-o", program, PROGRAMS / "computing.c"], check=True)
        programs = [[program], [sys.executable, str(PROGRAMS / "computing.py")]]
        for setting in progress.track(settings, description="THP"):
            with thp_set(setting.thp):
                rows += measure(setting, programs, pairs)
    return rows


def record(given: argparse.Namespace) -> int:
    screen = console(130)
    described = machine.describe()
    recording.say_if_busy(described, screen)
    rows = measure_all(given.pairs, screen)
    table = Table(*HEAD)
    for row in rows:
        table.add_row(*cells(row))
    screen.print(table)
    kept = {"pairs": given.pairs, "rows": [asdict(row) for row in rows]}
    how = f"`scripts/record.py computing`, {given.pairs} pairs by turns"
    what = "Programs that compute alone, bare and under Tutti"
    page = recording.page(what, described, how, ABOUT, HEAD, map(cells, rows))
    full = {**recording.head(described), **kept}
    screen.print(recording.write(given.results, "-computing", full, page), highlight=False)
    return 0
