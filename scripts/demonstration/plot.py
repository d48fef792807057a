# SPDX-License-Identifier: BSD-3-Clause
"""The demo's one plot: three collectives over size, and the ratios of everything else."""

from __future__ import annotations

from pathlib import Path

from rig.text import time_text
from tutti.reporters.text import plotting

plt = plotting()
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator  # noqa: E402

BASE, TUTTI = "#8c8c8c", "#0b6e99"


def draw(rows: list, applications: list, path: Path) -> None:
    """`rows` and `applications` are rows of the demo; three panels share their axes."""
    figure, axes = plt.subplots(2, 2, figsize=(10, 7.5), constrained_layout=True)
    panels = dict(zip(("Bcast", "Reduce", "Allreduce"), axes.flat))
    for collective, axis in panels.items():
        draw_sizes(axis, collective, [row for row in rows if row.what == collective])
    share_range(list(panels.values()))
    draw_ratios(axes.flat[3], [row for row in rows if row.what not in panels] + applications)
    title = "Unmodified programs, alone and under tutti run (2 ranks)"
    if any(row.disturbed for row in [*rows, *applications]):
        title += "\nNot a result: the machine was not quiet"
    figure.suptitle(title, fontsize=14)
    figure.savefig(path, dpi=130)
    plt.close(figure)


def draw_sizes(axis, collective: str, rows: list) -> None:
    sizes = [row.size for row in rows]
    lines = (
        ("Intel MPI alone", [row.base_us for row in rows], BASE, "-", "o"),
        ("with Tutti", [row.tutti_us for row in rows], TUTTI, "-", "o"),
    )
    for label, times, colour, style, marker in lines:
        axis.plot(sizes, times, style, color=colour, marker=marker, markersize=4, lw=2, label=label)
    # Below a few KiB the limit is a handful of nanoseconds, which says nothing and hides the rest.
    limits = [(row.size, row.limit_us) for row in rows if row.limit_us and row.size >= 8192]
    if limits:
        axis.plot(*zip(*limits), "--", color=TUTTI, lw=1.2, alpha=0.7, label="physical limit")
    axis.set_xscale("log", base=2)
    axis.set_yscale("log")
    axis.set_title(collective)
    axis.set_xticks(sizes, [short(size) for size in sizes], fontsize=9)
    axis.set_xlim(sizes[0] / 2, sizes[-1] * 4)  # room for the ratio at the end
    axis.xaxis.set_minor_locator(NullLocator())
    axis.yaxis.set_major_locator(LogLocator(10))
    axis.yaxis.set_minor_locator(NullLocator())
    axis.yaxis.set_major_formatter(FuncFormatter(lambda us, _: time_text(us)))
    axis.grid(axis="y", color="#e6e6e6")
    axis.spines[["top", "right"]].set_visible(False)
    for row in rows[-1:]:
        axis.annotate(
            f"{row.ratio:.1f}x",
            (row.size, row.tutti_us),
            xytext=(8, 0),
            textcoords="offset points",
            va="center",
            color=TUTTI,
            fontsize=10,
            fontweight="bold",
        )
    if collective == "Bcast":
        axis.legend(frameon=False, loc="upper left")
        axis.set_ylabel("time of a call")
    axis.set_xlabel("bytes", fontsize=9)


def short(size: int) -> str:
    """4194304 -> '4M'."""
    for unit, letter in ((1 << 20, "M"), (1 << 10, "K")):
        if size >= unit:
            return f"{size // unit}{letter}"
    return str(size)


def share_range(axes: list) -> None:
    low = min(axis.get_ylim()[0] for axis in axes)
    high = max(axis.get_ylim()[1] for axis in axes)
    for axis in axes:
        axis.set_ylim(low, high)


def draw_ratios(axis, rows: list) -> None:
    names = [row.what.replace(": ", "\n") for row in rows]
    ratios = [row.ratio for row in rows]
    bars = axis.barh(names, ratios, color=TUTTI, height=0.55)
    changes = [f"{time_text(row.base_us)} to {time_text(row.tutti_us)}" for row in rows]
    labels = [f"{row.ratio:.2f}x  ({change})" for row, change in zip(rows, changes)]
    box = {"facecolor": "white", "edgecolor": "none", "pad": 1}
    axis.bar_label(bars, labels, padding=6, fontsize=9, bbox=box)
    axis.axvline(1, color=BASE, lw=1, zorder=0)
    axis.invert_yaxis()
    axis.set_xlim(0, max([*ratios, 1]) * 1.75)
    axis.set_title("Times faster with Tutti")
    axis.spines[["top", "right"]].set_visible(False)
