# SPDX-License-Identifier: BSD-3-Clause
"""The table that `tutti bench` prints."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.markup import escape

from tutti.reporters.checks import machine_line
from tutti.reporters.text import console, show_bytes, table


def print_table(machine: dict[str, Any], mpi: str, rows: Sequence[dict[str, Any]]) -> None:
    """Times in microseconds; the ratio is the MPI's time by Tutti's."""
    out = console()
    out.print(escape(machine_line(machine)))
    if rows:
        out.print(
            f"{escape(mpi)}, {rows[0]['ranks']} ranks, {rows[0]['cache']} caches; times in us"
        )
    printed = table("collective", "way", "size", "MPI", "Tutti", "ratio", "limit", right=5)
    for row in rows:
        good = row["ratio"] >= 1
        printed.add_row(
            row["collective"],
            row["way"],
            show_bytes(row["bytes"]) if row["bytes"] else "",
            show_time(row["base_us"]),
            show_time(row["tutti_us"]),
            f"[{'green' if good else 'red'}]{row['ratio']:.2f}[/]",
            show_time(row["limit_us"]),
        )
    out.print(printed)


def show_time(microseconds: float) -> str:
    """About three digits, and no exponent."""
    if microseconds >= 100:
        return f"{microseconds:.0f}"
    if microseconds >= 10:
        return f"{microseconds:.1f}"
    return f"{microseconds:.2f}" if microseconds >= 0.1 else f"{microseconds:.3f}"
