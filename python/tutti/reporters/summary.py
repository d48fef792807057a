# SPDX-License-Identifier: BSD-3-Clause
"""The few lines that end `tutti run`."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any, Optional

from rich.markup import escape

from tutti.errors import InstallationError
from tutti.reporters.text import console, plural, show_bytes, table

VERSION = 1
MOST_LAST_WORDS = 3  # every rank that noticed says much the same
WAYS = {
    "commons": "mapped memory",
    "cma": "the kernel's copy (CMA)",
    "bounce": "the node segment",
    "line": "flag lines",
}


def read(path: Path) -> dict[str, Any]:
    """The report that rank 0 wrote at MPI_Finalize."""
    try:
        report = json.loads(path.read_text())
    except ValueError as error:
        raise InstallationError(f"the library's report cannot be read: {error}") from error
    if report.get("version") != VERSION:
        raise InstallationError(
            f"the library writes reports of version {report.get('version')}, this command reads "
            f"version {VERSION}: reinstall with `pip install .`"
        )
    return dict(report)


def print_summary(report: dict[str, Any], mpi: str, trace: Optional[Path] = None) -> None:
    out = console(stderr=True)
    where = plural(report["ranks"], "rank")
    if report["nodes"] > 0:  # known to rank 0
        where += f" on {plural(report['nodes'], 'node')}"
    out.print(f"\n[bold]tutti[/]: {escape(mpi)}, {where}")
    calls = [row for row in report["calls"] if row["seen"] > 0]
    if calls:
        rows = table("collective", "seen", "by Tutti", "by the MPI", "bytes", right=4)
        for row in calls:
            counts = (str(row[key]) for key in ("seen", "taken", "left"))
            rows.add_row(row["collective"], *counts, show_bytes(row["bytes"]))
        out.print(rows)
    else:
        out.print("no collective that Tutti knows was called")
    for row in calls:
        for reason, count in sorted(row.get("reasons", {}).items(), key=lambda item: -item[1]):
            out.print(f"left to the MPI: {row['collective']} {count}x, {escape(reason)}")
    moved = [(way, count) for way, count in report["ways"].items() if count > 0]
    if moved:
        parts = (f"{show_bytes(count)} by {WAYS.get(way, way)}" for way, count in moved)
        out.print("moved: " + ", ".join(parts))
    for note in report.get("notes", []):
        out.print(f"note: {escape(note)}")
    if trace is not None:
        out.print(f"trace: {escape(str(trace))}", soft_wrap=True)
    out.print(f"next: `{escape(_next_command(report, calls, trace))}`", soft_wrap=True)


def _near(file: Path) -> str:
    """As one would type it here."""
    here = Path.cwd()
    return str(file.relative_to(here)) if here in file.parents else str(file)


def print_last_words(text: str) -> None:
    """Why ranks ended the job: launchers may throw away what they print just before the end."""
    said = list(dict.fromkeys(text.splitlines()))
    out = console(stderr=True)
    for line in said[:MOST_LAST_WORDS]:
        out.print(f"[bold]the job ended because[/]: {escape(line.removeprefix('tutti: '))}")
    if len(said) > MOST_LAST_WORDS:
        out.print(f"and {plural(len(said) - MOST_LAST_WORDS, 'more sentence')} of other ranks")


def print_no_trace() -> None:
    """The job failed."""
    console(stderr=True).print("no trace: the job writes it at MPI_Finalize")


def _next_command(
    report: dict[str, Any], calls: list[dict[str, Any]], trace: Optional[Path]
) -> str:
    if trace is not None:
        stem = trace if trace.suffix == ".html" else trace.with_suffix("")
        page = stem.with_name(stem.name + ".html")
        return f"tutti trace {shlex.quote(_near(trace))} --html {shlex.quote(_near(page))}"
    # Copies by the kernel where the commons would do, or a note: look at the machine.
    copied = report["ways"].get("cma", 0) > report["ways"].get("commons", 0)
    if copied or report.get("notes") or not calls:
        return "tutti doctor"
    most = max(calls, key=lambda row: (row["bytes"], row["seen"]))
    return f"tutti bench {most['collective'].lower()} -n {report['ranks']}"
