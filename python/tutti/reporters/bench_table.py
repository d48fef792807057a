# SPDX-License-Identifier: BSD-3-Clause
"""The table that `tutti bench` prints."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import geometric_mean
from typing import Any

from rich.markup import escape

from tutti.reporters.checks import machine_line
from tutti.reporters.quantities import show_bytes
from tutti.reporters.text import console, table


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
    if rows:
        out.print("geometric mean of the ratios: " + ", ".join(_means(rows)))


def _means(rows: Sequence[dict[str, Any]]) -> list[str]:
    """``allreduce 2.48`` for each collective, and over all rows where there are several."""
    ratios: dict[str, list[float]] = {}
    for row in rows:
        ratios.setdefault(row["collective"], []).append(row["ratio"])
    means = [f"{name} {geometric_mean(of):.2f}" for name, of in ratios.items()]
    if len(ratios) > 1:
        means.append(f"all {geometric_mean([row['ratio'] for row in rows]):.2f}")
    return means


def show_time(microseconds: float) -> str:
    """About three digits, and no exponent."""
    if microseconds >= 100:
        return f"{microseconds:.0f}"
    if microseconds >= 10:
        return f"{microseconds:.1f}"
    return f"{microseconds:.2f}" if microseconds >= 0.1 else f"{microseconds:.3f}"
