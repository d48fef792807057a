# SPDX-License-Identifier: BSD-3-Clause
"""Times whole applications, bare and under Tutti.

They are those of scripts/apps. Runs take turns, each in a folder of its own; the results of all of
them are compared. Wall time and CPU time are those of the launcher with all its ranks.
`make record-apps` installs what is missing first.
"""

from __future__ import annotations

import argparse
import os
import resource
import statistics
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from apps.app import App
from apps.table import APPS
from rich.console import Console
from rich.progress import track
from rich.table import Table
from rig.jobs import Run, start
from rig.mpis import DEBIAN_OPENMPI
from rig.text import console

from records import machine, recording


@dataclass
class Sample:
    """One run: seconds of wall time and CPU time, and switches of context that nobody asked for."""

    wall_s: float
    cpu_s: float
    switches: int
    results: list[float]


@dataclass
class Row:
    """Medians over all pairs; ratios are those of each pair, Tutti's to the bare one's."""

    app: str
    communicates: bool
    ranks: int
    bare_s: float
    tutti_s: float
    ratio: float
    ratios: list[float]
    cpu_ratio: float
    bare_switches: int
    tutti_switches: int
    same_results: bool
    taken: int
    left: int


def sample(app: App, ranks: int, tutti: bool) -> tuple[Sample, Run]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        app.furnish(folder, ranks)
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        begin = time.monotonic()
        run = start(DEBIAN_OPENMPI, ranks, list(app.command), tutti=tutti, limit_s=300, cwd=folder)
        wall_s = time.monotonic() - begin
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        if run.code != 0:
            raise RuntimeError(f"{app.name} with {ranks} ranks: {run.output[-2000:]}")
        cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        results = app.results(run.output, folder)
    return Sample(wall_s, cpu_s, after.ru_nivcsw - before.ru_nivcsw, results), run


def measure(app: App, ranks: int, pairs: int, screen: Console) -> Row:
    samples: dict[bool, list[Sample]] = {False: [], True: []}
    calls: dict = {}
    label = f"{app.name}, {ranks} ranks"
    for turn in track(range(pairs), label, console=screen, transient=True):
        for tutti in (False, True) if turn % 2 else (True, False):
            found, run = sample(app, ranks, tutti)
            samples[tutti].append(found)
            calls = run.calls or calls
    bare, ours = samples[False], samples[True]

    def median(which: list[Sample], what: str) -> float:
        return statistics.median(getattr(each, what) for each in which)

    ratios = [b.wall_s / a.wall_s for a, b in zip(bare, ours)]
    return Row(
        app.name,
        app.communicates,
        ranks,
        round(median(bare, "wall_s"), 3),
        round(median(ours, "wall_s"), 3),
        round(statistics.median(ratios), 3),
        [round(ratio, 3) for ratio in ratios],
        round(statistics.median(b.cpu_s / a.cpu_s for a, b in zip(bare, ours)), 3),
        int(median(bare, "switches")),
        int(median(ours, "switches")),
        all(app.same(b.results, a.results) for a, b in zip(bare, ours)),
        sum(row["taken"] for row in calls.values()),
        sum(row["left"] for row in calls.values()),
    )


HEAD = ("application", "ranks", "bare, s", "Tutti, s", "ratio", "pairs", "CPU", "switches", "calls")


def cells(row: Row) -> list[str]:
    return [
        row.app + ("" if row.same_results else " (OTHER RESULTS)"),
        str(row.ranks),
        f"{row.bare_s:.2f}",
        f"{row.tutti_s:.2f}",
        f"{row.ratio:.3f}",
        f"{min(row.ratios):.2f} to {max(row.ratios):.2f}",
        f"{row.cpu_ratio:.2f}",
        f"{row.bare_switches} to {row.tutti_switches}",
        f"{row.taken} of {row.taken + row.left}",
    ]


def markdown(described: dict, rows: list[Row], pairs: int) -> str:
    lines = [
        "# Whole applications, bare and under Tutti",
        "",
        f"{described['cpu']}, {described['cores']} cores, Linux {described['kernel']}, commit "
        f"{machine.commit()}; Debian's Open MPI, {pairs} pairs by turns (`make record-apps`).",
        "Medians; a ratio is that of Tutti's wall time to the bare one's. CPU time is that of all",
        "ranks and the launcher; switches of context are those that nobody asked for; calls are",
        "rank 0's collectives that Tutti took.",
        "",
        "| " + " | ".join(HEAD) + " |",
        "|" + "---|" * len(HEAD),
        *("| " + " | ".join(cells(row)) + " |" for row in rows),
        "",
        *means(rows),
    ]
    return "\n".join(lines) + "\n"


def means(rows: list[Row]) -> list[str]:
    lines = []
    for communicates in (False, True):
        ratios = [row.ratio for row in rows if row.communicates == communicates]
        which = (
            "programs whose collectives take a tenth or more" if communicates else "applications"
        )
        if ratios:
            lines.append(f"Geometric mean of {which}: {statistics.geometric_mean(ratios):.3f}.")
    return lines


def measure_all(given: argparse.Namespace, screen: Console) -> list[Row]:
    """Of the applications that are wanted and installed; each row is shown at once."""
    rows = []
    for app in APPS:
        if given.only and app.name not in given.only:
            continue
        if not app.installed:
            screen.print(f"left out: {app.name} (apt-get install {app.package})")
            continue
        for ranks in given.ranks:
            rows.append(measure(app, ranks, given.pairs, screen))
            screen.print("  ".join(cells(rows[-1])), highlight=False)
    return rows


def show(rows: list[Row], screen: Console) -> None:
    table = Table(*HEAD)
    for row in rows:
        table.add_row(*cells(row))
    screen.print(table)
    screen.print("\n".join(means(rows)), highlight=False)


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--ranks", type=int, nargs="*", default=[2, 4])
    parser.add_argument("--only", nargs="*", help="names of applications")
    recording.add_results_option(parser)


def record(given: argparse.Namespace) -> int:
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    screen = console(130)
    described = machine.describe()
    recording.say_if_busy(described, screen)
    rows = measure_all(given, screen)
    show(rows, screen)
    if not given.only:
        path = str(given.results / (machine.file_name(described) + "-apps"))
        kept = {"pairs": given.pairs, "rows": [asdict(row) for row in rows]}
        page = markdown(described, rows, given.pairs)
        recording.write(path, {**recording.head(described), **kept}, page)
        screen.print(f"Written to {path}.json and .md", highlight=False)
    return 0 if all(row.same_results for row in rows) else 1
