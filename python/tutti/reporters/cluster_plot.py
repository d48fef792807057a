# SPDX-License-Identifier: BSD-3-Clause
"""The plot of `tutti simulate --nodes`: times over sizes, or over nodes if there is one size."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tutti.reporters.cluster_table import label, title
from tutti.reporters.quantities import show_bytes
from tutti.reporters.simulate_plot import STYLES
from tutti.reporters.text import log_times, plain_axes, plotting, save_figure


def draw(path: Path, result: dict[str, Any]) -> None:
    pyplot = plotting()

    cases = result["cases"]
    over = "bytes" if len({case["bytes"] for case in cases}) > 1 else "nodes"
    other = "nodes" if over == "bytes" else "bytes"
    several = len({case[other] for case in cases}) > 1
    figure, panel = pyplot.subplots(figsize=(7.6, 4.8), layout="constrained")
    lines: dict[str, list[tuple[int, float]]] = {}
    for case in cases:
        name = label(case, cases) + (f", {case[other]} {other}" if several else "")
        lines.setdefault(name, []).append((case[over], case["ns"] / 1000))
    for number, (name, points) in enumerate(lines.items()):
        across, up = zip(*points)
        style: dict[str, Any] = STYLES[number % len(STYLES)]
        panel.plot(across, up, label=name, markersize=4, **style)
    panel.set_xscale("log", base=2)
    log_times(panel)
    ticks = sorted({case[over] for case in cases})
    shown = [show_bytes(tick) if over == "bytes" else str(tick) for tick in ticks]
    step = 1 + len(ticks) // 10
    panel.set_xticks(ticks[::step], shown[::step])
    panel.set_xlabel("bytes" if over == "bytes" else "nodes")
    plain_axes(panel)
    panel.legend(frameon=False)
    panel.set_title(title(result), fontsize=10)
    save_figure(figure, path)
