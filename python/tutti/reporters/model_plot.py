# SPDX-License-Identifier: BSD-3-Clause
"""The plot of `tutti model`: Figures 12 to 16 of Denis et al. 2019, and the best split."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tutti.reporters.text import plain_axes, plotting, save_figure

GREY = {"color": "#777777", "linestyle": "--", "linewidth": 1.4}
DARK = {"color": "#222222", "linestyle": "-.", "linewidth": 1.4}

Rows = Sequence[dict[str, Any]]


def draw(path: Path, said: dict[str, Any]) -> None:
    """Messages and best split on top; below, for each kind of buffer, communication and all."""
    pyplot = plotting()

    constant, growing = said["rows"], said["growing"]
    figure, grid = pyplot.subplots(3, 2, figsize=(12, 13), layout="constrained")
    figure.suptitle(f"Nonblocking collectives with a split tree on {said['cores']} cores")
    levels = len(constant[-1]["messages"])
    colors = pyplot.get_cmap("turbo")([0.05 + 0.9 * s / levels for s in range(levels + 1)])
    _messages(grid[0][0], constant, colors)
    _best(grid[0][1], constant, growing)
    for line, rows, name in (
        (grid[1], constant, "bcast, reduce"),
        (grid[2], growing, "gather, scatter"),
    ):
        _communication(line[0], rows, name, colors)
        _overlapped(line[1], rows, name, colors)
    for panel in grid.flatten():
        panel.set_xlabel("ranks (the other cores progress communication)")
        plain_axes(panel, "both")
        panel.legend(frameon=False, fontsize=8, ncols=2)
    save_figure(figure, path)


def _messages(panel: Any, rows: Rows, colors: Any) -> None:
    panel.set_title("Messages of each level (Figure 12)")
    panel.set_ylabel("messages")
    for level in range(1, len(rows[-1]["messages"]) + 1):
        points = [
            (row["ranks"], row["messages"][level - 1])
            for row in rows
            if len(row["messages"]) >= level
        ]
        panel.step(*zip(*points), where="mid", color=colors[level], label=f"level {level}")


def _best(panel: Any, constant: Rows, growing: Rows) -> None:
    panel.set_title("Best S")
    panel.set_ylabel("levels of the tree on the ranks' cores")
    for rows, label, style in (
        (constant, "bcast, reduce", {"color": "#30507a"}),
        (growing, "gather, scatter", {"color": "#d9661f", "linestyle": "--"}),
    ):
        split = rows[:-1]  # with a rank on each core nothing is split
        panel.step(
            [row["ranks"] for row in split],
            [row["best_levels"] for row in split],
            where="mid",
            label=label,
            **style,
        )
    _upper_half(panel, rows)
    panel.yaxis.get_major_locator().set_params(integer=True)


def _communication(panel: Any, rows: Rows, name: str, colors: Any) -> None:
    number = 13 if name.startswith("bcast") else 15
    panel.set_title(f"Communication alone: {name} (Figure {number})")
    panel.set_ylabel("time (transfers)")
    _splits(panel, rows, "communication_times", colors)
    ranks = [row["ranks"] for row in rows]
    panel.plot(ranks, [row["blocking_time"] for row in rows], label="blocking", **GREY)
    panel.plot(ranks, [row["computation_time"] for row in rows], label="computation", **DARK)
    # Few ranks compute for long, which is of no interest here.
    most = max(time for row in rows for time in row["communication_times"].values())
    panel.set_ylim(0, 1.1 * most)


def _overlapped(panel: Any, rows: Rows, name: str, colors: Any) -> None:
    number = 14 if name.startswith("bcast") else 16
    panel.set_title(f"Communication and computation: {name} (Figure {number})")
    panel.set_ylabel("time (transfers)")
    _splits(panel, rows, "times", colors)
    blocking = [row["blocking_time"] + row["computation_time"] for row in rows]
    panel.plot([row["ranks"] for row in rows], blocking, label="blocking", **GREY)
    _upper_half(panel, rows)
    panel.set_ylim(0, 2 * min(blocking))
    times = ((time, row["ranks"], s) for row in rows for s, time in row["times"].items())
    least, ranks, s = min(times)
    panel.plot(ranks, least, "o", color="#222222", markersize=5, zorder=3)
    panel.annotate(
        f"{least:.4g} with {ranks} ranks, S = {s}",
        (ranks, least),
        xytext=(-12, -22),
        textcoords="offset points",
        ha="right",
        fontsize=9,
        arrowprops={"arrowstyle": "-", "color": "#222222"},
    )


def _upper_half(panel: Any, rows: Rows) -> None:
    """With fewer ranks all communication is hidden."""
    cores = rows[-1]["ranks"]
    panel.set_xlim(cores // 2, cores + cores / 60)


def _splits(panel: Any, rows: Rows, key: str, colors: Any) -> None:
    for s in range(len(rows[-1]["messages"]) + 1):
        points = [(row["ranks"], row[key][str(s)]) for row in rows if str(s) in row[key]]
        if len(points) > 1:
            panel.plot(*zip(*points), color=colors[s], label=f"S = {s}", linewidth=1.4)
