# SPDX-License-Identifier: BSD-3-Clause
"""The plot of `tutti simulate`: bars for one number of ranks, else lines over it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tutti.reporters.simulate_table import levels, title
from tutti.reporters.text import plain_axes, plotting, save_figure

# Distinguishable without colour as well.
STYLES = (
    {"color": "#2f6db5", "marker": "o"},
    {"color": "#d9661f", "marker": "s"},
    {"color": "#7a4fa3", "marker": "^"},
    {"color": "#2c8a57", "marker": "D"},
    {"color": "#a8324a", "marker": "v"},
    {"color": "#5c5c5c", "marker": "x"},
)


def draw(path: Path, result: dict[str, Any], overlap: bool) -> None:
    pyplot = plotting()

    figure, panel = pyplot.subplots(figsize=(7.6, 4.8), layout="constrained")
    one = len({case["ranks"] for case in result["cases"]}) == 1
    (_bars if one else _lines)(panel, result["cases"], overlap)
    panel.set_ylabel("time (ms)")
    panel.set_ylim(bottom=0)
    plain_axes(panel)
    panel.legend(frameon=False)
    panel.set_title(title(result), fontsize=10)
    save_figure(figure, path)


def _label(case: dict[str, Any], cases: list[dict[str, Any]]) -> str:
    """What tells this case from those with as many ranks."""
    words = []
    if len({c["placement"] for c in cases}) > 1:
        words.append(case["placement"])
    if len({levels(c) for c in cases}) > 1:
        words.append(f"S = {case['levels']}" if case["algorithm"] == "paper" else "direct")
    return ", ".join(words) or str(case["placement"])


def _bars(panel: Any, cases: list[dict[str, Any]], overlap: bool) -> None:
    keys = [("pure_ns", "communication alone", 1.0)]
    if overlap:
        keys.append(("overlapped_ns", "overlapped with computation", 0.55))
    width = 0.8 / len(keys)
    for number, (key, label, alpha) in enumerate(keys):
        at = [i + (number - (len(keys) - 1) / 2) * width for i in range(len(cases))]
        heights = [case[key] / 1e6 for case in cases]
        bars = panel.bar(at, heights, 0.9 * width, alpha=alpha, color="#2f6db5", label=label)
        panel.bar_label(bars, fmt="%.3g", fontsize=8, padding=5)
    if overlap:
        panel.axhline(
            cases[0]["computation_ns"] / 1e6,
            color="#777777",
            linestyle="--",
            zorder=0.5,
            label="computation alone",
        )
    panel.set_xticks(range(len(cases)), [_label(case, cases) for case in cases])
    panel.set_xlabel(f"{cases[0]['ranks']} ranks")


def _lines(panel: Any, cases: list[dict[str, Any]], overlap: bool) -> None:
    ranks = sorted({case["ranks"] for case in cases})
    style: dict[str, Any] = {"color": "#000000", "linestyle": "--"}
    alone = [next(c for c in cases if c["ranks"] == n) for n in ranks]
    after = [c["blocking_ns"] + (c["computation_ns"] if overlap else 0) for c in alone]
    label = "computation, then the blocking call" if overlap else "the blocking call"
    panel.plot(ranks, [ns / 1e6 for ns in after], label=label, **style)
    if overlap:
        style = {"color": "#999999", "linestyle": ":"}
        times = [c["computation_ns"] / 1e6 for c in alone]
        panel.plot(ranks, times, label="computation alone", **style)
    key = "overlapped_ns" if overlap else "pure_ns"
    labels = list(dict.fromkeys(_label(case, cases) for case in cases))
    for number, name in enumerate(labels):
        rows = sorted(
            (c for c in cases if _label(c, cases) == name), key=lambda case: int(case["ranks"])
        )
        times = [row[key] / 1e6 for row in rows]
        marks = STYLES[number % len(STYLES)]
        panel.plot([row["ranks"] for row in rows], times, label=name, markersize=4, **marks)
    panel.set_xlabel("ranks (all other cores communicate)")
