# SPDX-License-Identifier: BSD-3-Clause
"""A trace as a still picture: a row a core, coloured by kind, messages as lines between rows."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Optional

from tutti.reporters.quantities import plural, show_bytes
from tutti.reporters.text import plotting, save_figure
from tutti.reporters.trace_kinds import COLORS, LEGEND, MESSAGE_COLOR, show_time, unit_of
from tutti.reporters.trace_summary import times_by_kind
from tutti.trace import KINDS, Message, Span, Trace

MOST_SHAPES = 5000  # of more than that, an image in the file is smaller and quicker to look at
MOST_LABELS = 64
GAP = 0.0008  # of the width, between neighbours that are wide enough: where one step ends


def draw(path: Path, trace: Trace, marked: Optional[Message]) -> None:
    """`marked` is a message of the trace to point out."""
    pyplot = plotting()

    rows = trace.rows()
    count = len(rows)
    height = min(14.0, 1.6 + max(0.14, min(0.42, 9 / count)) * count)
    figure, (panel, bars) = pyplot.subplots(
        1,
        2,
        figsize=(13, height),
        sharey=True,
        gridspec_kw={"width_ratios": (6, 1)},
        layout="constrained",
    )
    for each in (panel, bars):
        each.spines[["top", "right"]].set_visible(False)
        each.tick_params(axis="y", length=0)
    _activity(panel, trace, rows, marked)
    totals = _shares(bars, rows, trace.end - trace.begin)
    every = -(-count // MOST_LABELS)
    names = [_plain(name) for name in trace.cores[::every]]
    panel.set_yticks(range(0, count, every), names, fontsize=8 if count <= 32 else 6.5)
    panel.set_ylim(count - 0.5, -0.5)  # the first core on top
    figure.suptitle(_title(trace, marked), fontsize=11)
    _legend(figure, totals, bool(trace.messages))
    save_figure(figure, path)


def _activity(
    panel: Any, trace: Trace, rows: Sequence[Sequence[Span]], marked: Optional[Message]
) -> None:
    name, unit = unit_of(trace.end - trace.begin)
    raster = sum(map(len, rows)) + len(trace.messages) > MOST_SHAPES
    _spans(panel, rows, unit, GAP * (trace.end - trace.begin) / unit, raster)
    _messages(panel, trace.messages, unit, raster)
    if marked is not None:
        _mark(panel, marked, unit)
    panel.set_xlim(trace.begin / unit, trace.end / unit)
    panel.set_xlabel(f"time ({name})")
    panel.ticklabel_format(axis="x", style="plain", useOffset=False)


def _legend(figure: Any, totals: Sequence[float], with_messages: bool) -> None:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    keys: list[Any] = [
        Patch(color=COLORS[kind], label=f"{LEGEND[kind]} {share:.1%}")
        for kind, share in zip(KINDS, totals)
    ]
    if with_messages:
        keys.append(Line2D([], [], color=MESSAGE_COLOR, linewidth=1, label="message"))
    figure.legend(
        handles=keys, loc="outside lower center", ncols=len(keys), frameon=False, fontsize=9
    )


def _plain(text: str) -> str:
    return text.replace("$", r"\$")  # which begins a formula


def _title(trace: Trace, marked: Optional[Message]) -> str:
    title = trace.title
    if marked is not None:
        took = show_time(marked.end - marked.begin)
        title += f"\n{marked.what}, {show_bytes(marked.bytes)} in {took}"
    if trace.dropped:
        title += f"\n{plural(trace.dropped, 'event')} had no room: the trace has gaps"
    return _plain(title)


def _spans(
    panel: Any, rows: Sequence[Sequence[Span]], unit: float, gap: float, raster: bool
) -> None:
    for index, row in enumerate(rows):
        for kind in KINDS:
            bars = [(s.begin / unit, (s.end - s.begin) / unit) for s in row if s.kind == kind]
            bars = [(at, width - gap if width > 5 * gap else width) for at, width in bars]
            if bars:
                # Smooth edges would leave light gaps between neighbours.
                panel.broken_barh(
                    bars,
                    (index - 0.42, 0.84),
                    color=COLORS[kind],
                    linewidth=0,
                    antialiased=False,
                    rasterized=raster,
                )


def _messages(panel: Any, messages: Sequence[Message], unit: float, raster: bool) -> None:
    from matplotlib.collections import LineCollection

    if messages:
        lines = [[(m.begin / unit, m.from_row), (m.end / unit, m.to_row)] for m in messages]
        panel.add_collection(
            LineCollection(
                lines,
                colors=MESSAGE_COLOR,
                linewidths=0.7,
                alpha=max(0.15, min(0.8, 100 / len(lines))),
                rasterized=raster,
            ),
            autolim=False,
        )


def _mark(panel: Any, message: Message, unit: float) -> None:
    panel.annotate(
        "",
        (message.end / unit, message.to_row),
        xytext=(message.begin / unit, message.from_row),
        arrowprops={"arrowstyle": "-|>", "linewidth": 2, "color": MESSAGE_COLOR},
    )


def _shares(panel: Any, rows: Sequence[Sequence[Span]], length: float) -> list[float]:
    """Draws each core's time by kind and returns that of all cores together."""
    left = [0.0] * len(rows)
    times = [times_by_kind(row) for row in rows]
    for kind in KINDS:
        parts = [100 * of[kind] / length for of in times]
        panel.barh(range(len(rows)), parts, 0.84, left, color=COLORS[kind])
        left = [a + b for a, b in zip(left, parts)]
    panel.set_xlim(0, 100)
    panel.set_xlabel("share (%)")
    return [sum(of[kind] for of in times) / (length * len(rows)) for kind in KINDS]
