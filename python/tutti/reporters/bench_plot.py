# SPDX-License-Identifier: BSD-3-Clause
"""The plot of `tutti bench`: time against size, the MPI alone, with Tutti, and the limit."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tutti.reporters.checks import machine_line
from tutti.reporters.quantities import show_bytes
from tutti.reporters.text import plain_axes, plotting, save_figure

# Distinguishable without colour as well: dark, orange, grey dashes.
LINES = (
    ("base_us", "the MPI alone", {"color": "#30507a", "marker": "s"}),
    ("tutti_us", "with Tutti", {"color": "#d9661f", "marker": "o"}),
    ("limit_us", "physical limit", {"color": "#777777", "linestyle": "--"}),
)


MOST_COLUMNS = 5


def draw(path: Path, machine: dict[str, Any], mpi: str, rows: Sequence[dict[str, Any]]) -> None:
    """One panel a collective, both axes logarithmic."""
    pyplot = plotting()

    collectives = list(dict.fromkeys(row["collective"] for row in rows))
    columns = min(len(collectives), MOST_COLUMNS)
    lines = -(-len(collectives) // columns)
    wide, high = (4.4, 4.8) if lines == 1 else (3.6, 3.4)
    figure, grid = pyplot.subplots(
        lines,
        columns,
        figsize=(2.2 + wide * columns, high * lines),
        sharey=True,
        squeeze=False,
        layout="constrained",
    )
    panels = grid.flatten()
    for panel, collective in zip(panels, collectives):
        _panel(panel, collective, [row for row in rows if row["collective"] == collective])
    for unused in panels[len(collectives) :]:
        unused.set_visible(False)
    for line in grid:
        line[0].set_ylabel("time of one call (us)")
    keyed = next((panel for panel in panels if panel.get_lines()), panels[0])  # one without bars
    if lines == 1:
        keyed.legend(frameon=False)
    else:  # small panels have no room for it
        handles, labels = keyed.get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside upper right", ncols=len(LINES), frameon=False)
    first = rows[0]
    figure.suptitle(
        f"{mpi}, {first['ranks']} ranks, {first['cache']} caches\n{machine_line(machine)}",
        fontsize=10,
    )
    save_figure(figure, path)


def _panel(panel: Any, collective: str, rows: Sequence[dict[str, Any]]) -> None:
    panel.set_title(f"MPI_{collective.capitalize()}".replace("_transpose", ", transpose"))
    panel.set_yscale("log")
    plain_axes(panel, "both")
    if not rows[0]["bytes"]:  # a barrier has one point: bars
        for at, (key, label, style) in enumerate(LINES):
            if rows[0][key] > 0:
                panel.bar(at, rows[0][key], color=style["color"], label=label)
        panel.set_xticks([])
        return
    sizes = [row["bytes"] for row in rows]
    panel.set_xscale("log", base=2)
    for key, label, style in LINES:
        panel.plot(sizes, [row[key] for row in rows], label=label, markersize=4, **style)
    ticks = sizes[:: max(1, len(sizes) // 7)]
    panel.set_xticks(ticks, [show_bytes(size) for size in ticks], rotation=45, fontsize=8)
    panel.minorticks_off()
    panel.set_xlabel("size of the message")
