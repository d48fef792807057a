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
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from functools import partial

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
    cpu_ratio: float | None  # None: it ran elsewhere
    bare_switches: int
    tutti_switches: int
    same_results: bool
    taken: int
    left: int


# Like rig.jobs.start, but for what is known of the MPI.
Start = Callable[..., Run]


def sample(app: App, ranks: int, tutti: bool, start: Start) -> tuple[Sample, Run]:
    used = []

    def counted(*words, **more) -> Run:
        used.append(resource.getrusage(resource.RUSAGE_CHILDREN))
        run = start(*words, tutti=tutti, **more)
        used.append(resource.getrusage(resource.RUSAGE_CHILDREN))
        return run

    run, results = app.run(ranks, counted)
    before, after = used
    cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Sample(run.seconds, cpu_s, after.ru_nivcsw - before.ru_nivcsw, results), run


def measure(app: App, ranks: int, pairs: int, screen: Console, start: Start) -> Row:
    samples: dict[bool, list[Sample]] = {False: [], True: []}
    calls: dict = {}
    label = f"{app.name}, {ranks} ranks"
    for turn in track(range(pairs), label, console=screen, transient=True):
        for tutti in recording.in_turn(turn, (False, True)):
            found, run = sample(app, ranks, tutti, start)
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
        _cpu_ratio(bare, ours),
        int(median(bare, "switches")),
        int(median(ours, "switches")),
        all(app.same(b.results, a.results) for a, b in zip(bare, ours)),
        sum(row["taken"] for row in calls.values()),
        sum(row["left"] for row in calls.values()),
    )


def _cpu_ratio(bare: list[Sample], ours: list[Sample]) -> float | None:
    # Of a program that ran elsewhere this process has had next to nothing.
    if any(each.cpu_s < each.wall_s / 50 for each in bare):
        return None
    return round(statistics.median(b.cpu_s / a.cpu_s for a, b in zip(bare, ours)), 3)


HEAD = ("application", "ranks", "bare, s", "Tutti, s", "ratio", "pairs", "CPU", "switches", "calls")


def cells(row: Row) -> list[str]:
    return [
        row.app + ("" if row.same_results else " (OTHER RESULTS)"),
        str(row.ranks),
        f"{row.bare_s:.2f}",
        f"{row.tutti_s:.2f}",
        f"{row.ratio:.3f}",
        f"{min(row.ratios):.2f} to {max(row.ratios):.2f}",
        "" if row.cpu_ratio is None else f"{row.cpu_ratio:.2f}",
        "" if row.cpu_ratio is None else f"{row.bare_switches} to {row.tutti_switches}",
        f"{row.taken} of {row.taken + row.left}",
    ]


ABOUT = """\
Medians; a ratio is that of Tutti's wall time to the bare one's. CPU time is that of all
ranks and the launcher; switches of context are those that nobody asked for; calls are
rank 0's collectives that Tutti took."""


def markdown(described: dict, rows: list[Row], how: str) -> str:
    page = recording.page(
        "Whole applications, bare and under Tutti", described, how, ABOUT, HEAD, map(cells, rows)
    )
    return page + "\n" + "\n".join(means(rows)) + "\n"


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


def measure_all(
    apps: Iterable[App], ranks: list[int], pairs: int, screen: Console, start: Start
) -> list[Row]:
    """Of those that are installed; each row is shown at once."""
    rows = []
    for app in apps:
        if not app.installed:
            screen.print(f"left out: {app.name} (apt-get install {app.package})")
            continue
        for count in ranks:
            rows.append(measure(app, count, pairs, screen, start))
            screen.print("  ".join(cells(rows[-1])), highlight=False)
    return rows


def show(rows: list[Row], screen: Console) -> None:
    table = Table(*HEAD)
    for row in rows:
        table.add_row(*cells(row))
    screen.print(table)
    screen.print("\n".join(means(rows)), highlight=False)


def add_shared_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--only", nargs="*", help="names of applications; nothing is written")
    recording.add_results_option(parser)


def add_options(parser: argparse.ArgumentParser) -> None:
    add_shared_options(parser)
    parser.add_argument("--ranks", type=int, nargs="*", default=[2, 4])


def record_of(
    apps: Iterable[App],
    given: argparse.Namespace,
    ranks: list[int],
    start: Start,
    suffix: str,
    how: str,
) -> int:
    """From shared options to the two files. 1: some results differ."""
    screen = console(130)
    described = machine.describe()
    recording.say_if_busy(described, screen)
    by_name = {app.name: app for app in apps}
    if unknown := set(given.only or ()) - by_name.keys():
        raise SystemExit(f"--only: none of {', '.join(by_name)}: {', '.join(sorted(unknown))}")
    chosen = [app for name, app in by_name.items() if not given.only or name in given.only]
    rows = measure_all(chosen, ranks, given.pairs, screen, start)
    show(rows, screen)
    if not given.only:
        how = f"{how}, {given.pairs} pairs by turns"
        kept = {"how": how, "pairs": given.pairs, "rows": [asdict(row) for row in rows]}
        page = markdown(described, rows, how)
        record = {**recording.head(described), **kept}
        screen.print(recording.write(given.results, suffix, record, page), highlight=False)
    return 0 if all(row.same_results for row in rows) else 1


def record(given: argparse.Namespace) -> int:
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    start_here = partial(start, DEBIAN_OPENMPI)
    how = "Debian's Open MPI (`make record-apps`)"
    return record_of(APPS, given, given.ranks, start_here, "-apps", how)
