# SPDX-License-Identifier: BSD-3-Clause
"""The plot of `tutti bench --overlap`: groups of bars, times above and the overlap below."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tutti.reporters.checks import machine_line
from tutti.reporters.overlap_table import setting
from tutti.reporters.quantities import plural, show_bytes
from tutti.reporters.text import plain_axes, plotting, save_figure

# The MPI dark, Tutti orange; what communicates and computes in full colour, what only communicates
# pale.
BARS = (
    ("base_pure_us", "the MPI alone, pure", "#a9b8cc"),
    ("base_overlapped_us", "the MPI alone, with computation", "#30507a"),
    ("tutti_pure_us", "with Tutti, pure", "#f2c3a2"),
    ("tutti_overlapped_us", "with Tutti, with computation", "#d9661f"),
)
OVERLAPS = (
    ("base_overlap_percent", "#30507a", (0, 1)),  # below the library's two bars
    ("tutti_overlap_percent", "#d9661f", (2, 3)),
)
WIDTH = 0.2  # of a bar; a group is 1
MOST_COLUMNS = 4


def draw(path: Path, machine: dict[str, Any], mpi: str, rows: Sequence[dict[str, Any]]) -> None:
    """Two panels a collective."""
    pyplot = plotting()

    collectives = list(dict.fromkeys(row["collective"] for row in rows))
    columns = min(len(collectives), MOST_COLUMNS)
    lines = -(-len(collectives) // columns)
    groups = max(sum(row["collective"] == name for row in rows) for name in collectives)
    wide = min(max(3.6, 0.55 * groups + 1), 14)
    figure, grid = pyplot.subplots(
        2 * lines,
        columns,
        figsize=(max(1.2 + wide * columns, 8), 4.8 * lines + 0.9),
        squeeze=False,
        layout="constrained",
        height_ratios=[3, 1.2] * lines,
    )
    for panel in grid.flatten():
        panel.set_visible(False)
    for at, name in enumerate(collectives):
        line, column = divmod(at, columns)
        own = [row for row in rows if row["collective"] == name]
        _pair(grid[2 * line][column], grid[2 * line + 1][column], name, own)
    handles, labels = grid[0][0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3, frameon=False, fontsize=9)
    title = f"{mpi}, {_ranks(rows)}, {setting(rows[0])}\n{machine_line(machine)}"
    figure.suptitle(title, fontsize=10)
    save_figure(figure, path)


def _pair(times: Any, overlaps: Any, name: str, rows: Sequence[dict[str, Any]]) -> None:
    for panel in (times, overlaps):
        panel.set_visible(True)
        plain_axes(panel)
        panel.set_xlim(-0.6, len(rows) - 0.4)
    places = range(len(rows))
    for index, (key, label, color) in enumerate(BARS):
        at = [place + (index - 1.5) * WIDTH for place in places]
        times.bar(at, [row[key] for row in rows], WIDTH, color=color, label=label)
    low = [place - 2 * WIDTH for place in places]
    high = [place + 2 * WIDTH for place in places]
    alone = [row["compute_us"] for row in rows]
    times.hlines(alone, low, high, color="black", linewidth=1.2, label="the computation alone")
    times.set_yscale("log")
    times.set_title(f"MPI_I{name[1:]}".replace("_transpose", ", transpose"))
    times.set_ylabel("time (us)")
    times.set_xticks(places, [""] * len(rows))
    for key, color, (first, last) in OVERLAPS:
        at = [place + ((first + last) / 2 - 1.5) * WIDTH for place in places]
        overlaps.bar(at, [row[key] for row in rows], 2 * WIDTH, color=color)
    overlaps.set_ylim(0, 105)
    overlaps.set_yticks([0, 50, 100])
    overlaps.set_ylabel("overlap (%)")
    overlaps.set_xticks(places, _labels(rows), rotation=45, fontsize=8, ha="right")


def _labels(rows: Sequence[dict[str, Any]]) -> list[str]:
    """The size, the number of ranks, or both: whatever differs."""
    sizes = [show_bytes(row["bytes"]) if row["bytes"] else "" for row in rows]
    ranks = [plural(row["ranks"], "rank") for row in rows]
    if len(set(ranks)) == 1:
        return sizes
    if len(set(sizes)) == 1:
        return ranks
    return [f"{size}, {count}" if size else count for size, count in zip(sizes, ranks)]


def _ranks(rows: Sequence[dict[str, Any]]) -> str:
    *others, last = sorted({row["ranks"] for row in rows})
    return (
        f"{', '.join(map(str, others))} and {plural(last, 'rank')}"
        if others
        else plural(last, "rank")
    )
