# SPDX-License-Identifier: BSD-3-Clause
"""A record as people read it: Markdown, and a table in the terminal."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table

HEAD = """\
# {date}, {cpu}, {cores} cores

Commit {commit}; {machine}; {mpis}.
{note}

| case | MPI | bar | measured | alone, µs | with Tutti, µs | limit, µs | |
|---|---|---|---|---|---|---|---|
"""
NOTE = """\
A ratio is the MPI's own time over the time with Tutti, in the same run; a limit is what the ranks
need for the same work on memory of their own. 2 ranks and heap buffers unless said."""


def _cells(verdict: dict, names: dict[str, str]) -> list[str]:
    times = [verdict["row"].get(key) for key in ("base_us", "tutti_us", "limit_us")]
    return [
        verdict["case"],
        names[verdict["mpi"]],
        verdict["bar"],
        verdict["measured"],
        *("" if time is None else f"{time:.4g}" for time in times),
        "met" if verdict["met"] else "**not met**",
    ]


def markdown(record: dict) -> str:
    about = record["machine"]
    facts = [f"{key} {value}" for key, value in about.items() if key not in ("cpu", "cores")]
    head = HEAD.format(
        date=record["date"][:10],
        cpu=about["cpu"],
        cores=about["cores"],
        commit=record["commit"],
        machine=", ".join(facts),
        mpis=", ".join(record["mpis"].values()),
        note=record.get("note", NOTE),
    )
    rows = [" | ".join(_cells(verdict, record["mpis"])) for verdict in record["verdicts"]]
    return head + "".join(f"| {row} |\n" for row in rows)


def show(console: Console, verdicts: list[dict], names: dict[str, str]) -> None:
    table = Table("case", "MPI", "bar", "measured", "")
    for verdict in verdicts:
        word = "[green]met[/]" if verdict["met"] else "[red]not met[/]"
        cells = _cells(verdict, names)
        table.add_row(*cells[:4], word)
    console.print(table)
