# SPDX-License-Identifier: BSD-3-Clause
"""The few lines that end `tutti run`.

They come after every job, so this does without the library that prints the other tables: to import
that takes as long as to start a small job.
"""

from __future__ import annotations

import json
import os
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Optional

from tutti.errors import InstallationError
from tutti.remarks import say
from tutti.reporters.quantities import plural, show_bytes

VERSION = 1
MOST_LAST_WORDS = 3  # every rank that noticed says much the same
WAYS = {
    "commons": "mapped memory",
    "cma": "the kernel's copy (CMA)",
    "bounce": "the node segment",
    "line": "flag lines",
    "messages": "messages between nodes",
}


def read(path: Path) -> dict[str, Any]:
    """The report that rank 0 wrote at MPI_Finalize."""
    try:
        report = json.loads(path.read_text(encoding="utf-8", errors="replace"))
    except (OSError, ValueError) as error:
        raise InstallationError(f"the library's report cannot be read: {error}") from error
    if report.get("version") != VERSION:
        raise InstallationError(
            f"the library writes reports of version {report.get('version')}, this command reads "
            f"version {VERSION}: reinstall with `pip install .`"
        )
    return dict(report)


def print_report(path: Path, mpi: str, trace: Optional[Path], again: Sequence[str] = ()) -> int:
    """The summary, or why there is none; an exit code for a job that has succeeded. `again`: what
    another command needs, too."""
    try:
        print_summary(read(path), mpi, trace, again)
    except InstallationError as error:
        say(f"tutti: there is no summary: {error}")
        return error.exit_code
    return 0


def print_summary(
    report: dict[str, Any], mpi: str, trace: Optional[Path] = None, again: Sequence[str] = ()
) -> None:
    where = plural(report["ranks"], "rank")
    if report["nodes"] > 0:  # known to rank 0
        where += f" on {plural(report['nodes'], 'node')}"
    say(f"\n{_bold('tutti')}: {mpi}, {where}")
    calls = [row for row in report["calls"] if row["seen"] > 0]
    if calls:
        _print_calls(calls)
    else:
        say("no collective that Tutti knows was called")
    for row in calls:
        for reason, count in sorted(row.get("reasons", {}).items(), key=lambda item: -item[1]):
            say(f"left to the MPI: {row['collective']} {count}x, {reason}")
    for row in calls:
        if messages := row.get("messages", 0):
            others = row["without_leaders"]
            sent = f"{plural(messages, 'message')} of {show_bytes(row['message_bytes'])} in all"
            without = f"without leaders {others['messages']} of {show_bytes(others['bytes'])}"
            say(f"between nodes: {row['collective']} {sent}; {without}")
    moved = [(way, count) for way, count in report["ways"].items() if count > 0]
    if moved:
        parts = (f"{show_bytes(count)} by {WAYS.get(way, way)}" for way, count in moved)
        say("moved: " + ", ".join(parts))
    for note in report.get("notes", []):
        say(f"note: {note}")
    if trace is not None:
        say(f"trace: {trace}")
    say(f"next: `{_next_command(report, calls, trace, again)}`")


def _print_calls(calls: list[dict[str, Any]]) -> None:
    rows = [("collective", "seen", "by Tutti", "by the MPI", "bytes")]
    for row in calls:
        counts = (str(row[key]) for key in ("seen", "taken", "left"))
        rows.append((row["collective"], *counts, show_bytes(row["bytes"])))
    first, *others = (max(map(len, column)) for column in zip(*rows))
    for at, (name, *numbers) in enumerate(rows):
        cells = (number.rjust(width) for number, width in zip(numbers, others))
        line = "  ".join((name.ljust(first), *cells))
        say(_bold(line) if at == 0 else line)


def _bold(text: str) -> str:
    plain = "NO_COLOR" in os.environ or os.environ.get("TERM", "dumb") == "dumb"
    return text if plain or not sys.stderr.isatty() else f"\033[1m{text}\033[0m"


def _near(file: Path) -> str:
    """As one would type it here."""
    here = Path.cwd()
    return str(file.relative_to(here)) if here in file.parents else str(file)


def print_last_words(text: str) -> None:
    """Why ranks ended the job: launchers may throw away what they print just before the end."""
    said = list(dict.fromkeys(text.splitlines()))
    for line in said[:MOST_LAST_WORDS]:
        say(f"{_bold('the job ended because')}: {line.removeprefix('tutti: ')}")
    if len(said) > MOST_LAST_WORDS:
        say(f"and {plural(len(said) - MOST_LAST_WORDS, 'more sentence')} of other ranks")


def print_no_trace() -> None:
    """The job failed."""
    say("no trace: the job writes it at MPI_Finalize")


def _next_command(
    report: dict[str, Any],
    calls: list[dict[str, Any]],
    trace: Optional[Path],
    again: Sequence[str],
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
    nonblocking = most["collective"].startswith("I")  # as Iallreduce, and no other
    words = [*(["--overlap"] if nonblocking else ()), most["collective"].lower()]
    return shlex.join(["tutti", "bench", *words, "-n", str(report["ranks"]), *again])
