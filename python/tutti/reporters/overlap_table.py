# SPDX-License-Identifier: BSD-3-Clause
"""The table that `tutti bench --overlap` prints."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import geometric_mean
from typing import Any

from rich.markup import escape

from tutti.reporters.bench_table import show_time
from tutti.reporters.checks import machine_line
from tutti.reporters.quantities import plural, show_bytes
from tutti.reporters.text import console, table

HEADINGS = (
    "collective", "ranks", "size", "compute",
    *("MPI\npure", "\noverlapped", "\noverlap", "\npost"),
    *("Tutti\npure", "\noverlapped", "\noverlap", "\npost"),
    *("ratio\npure", "\noverlapped"),
)  # fmt: skip


def print_table(machine: dict[str, Any], mpi: str, rows: Sequence[dict[str, Any]]) -> None:
    """Times in microseconds; a ratio is the MPI's time by Tutti's."""
    out = console()
    out.print(escape(machine_line(machine)))
    if not rows:
        return
    out.print(f"{escape(mpi)}, {setting(rows[0])}; times in us, overlap in percent")
    printed = table(*HEADINGS, right=len(HEADINGS) - 1)
    for row in rows:
        printed.add_row(
            row["collective"],
            str(row["ranks"]),
            show_bytes(row["bytes"]) if row["bytes"] else "",
            show_time(row["compute_us"]),
            *_library(row, "base"),
            *_library(row, "tutti"),
            *(_ratio(row[f"{name}_ratio"]) for name in ("pure", "overlapped")),
        )
    out.print(printed)
    pure, overlapped = (
        geometric_mean([row[f"{name}_ratio"] for row in rows]) for name in ("pure", "overlapped")
    )
    out.print(f"geometric mean of the ratios: pure {pure:.2f}, overlapped {overlapped:.2f}")


def setting(row: dict[str, Any]) -> str:
    """``cold caches, 1 core for communication``"""
    kept = row["comm_cores"]
    words = f"{row['cache']} caches"
    return f"{words}, {plural(kept, 'core')} for communication" if kept else words


def _library(row: dict[str, Any], name: str) -> list[str]:
    times = [row[f"{name}_{what}"] for what in ("pure_us", "overlapped_us", "post_us")]
    pure, overlapped, post = map(show_time, times)
    return [pure, overlapped, f"{row[f'{name}_overlap_percent']:.0f}", post]


def _ratio(ratio: float) -> str:
    return f"[{'green' if ratio >= 1 else 'red'}]{ratio:.2f}[/]"
