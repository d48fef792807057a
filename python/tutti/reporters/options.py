# SPDX-License-Identifier: BSD-3-Clause
"""The table of options, for `tutti config` and for docs/options.md."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from rich.markup import escape

from tutti.reporters.text import console, table


@dataclass(frozen=True)
class Row:
    variable: str
    type: str
    default: str
    meaning: str


def print_options(rows: Iterable[Row], environment: Mapping[str, str], notes: list[str]) -> None:
    out = console()
    printed = table("variable", "value", "default", "meaning")
    for row in rows:
        value = environment.get(row.variable)
        shown = escape(row.default) if value is None else f"[bold]{escape(value)}[/]"
        printed.add_row(row.variable, shown, escape(row.default), escape(row.meaning))
    out.print(printed)
    for note in notes:
        out.print(f"[yellow]{escape(note)}[/]")


def markdown(rows: Iterable[Row]) -> str:
    """The table for the documentation."""
    lines = ["| variable | type | default | meaning |", "|---|---|---|---|"]
    for row in rows:
        default = f"`{row.default}`" if row.default else ""
        lines.append(f"| `{row.variable}` | {row.type} | {default} | {row.meaning} |")
    return "\n".join(lines) + "\n"
