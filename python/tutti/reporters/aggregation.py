# SPDX-License-Identifier: BSD-3-Clause
"""The table and the plot of `tutti model --aggregation`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tutti.aggregation import SCATTER, Alltoall, Network
from tutti.reporters.bench_table import show_time
from tutti.reporters.quantities import plural, show_bytes
from tutti.reporters.simulate_plot import STYLES
from tutti.reporters.text import console, log_times, plain_axes, plotting, save_figure, table

SIZES = [1 << k for k in range(15)]
TOTALS = [1 << k for k in (8, 10, 12, 14, 16)]


def figures(network: Network, what: Alltoall) -> dict[str, Any]:
    """All that is printed."""
    rows = [
        {
            "bytes": size,
            "scatter_us": network.scatter_us(size),
            "unpacked_us": what.unpacked_us(network, size),
            "packed_us": what.packed_us(network, size),
        }
        for size in SIZES
    ]
    return {
        "startup_us": network.startup_us,
        "byte_us": network.byte_us,
        "constant_us": network.constant_us,
        "nodes": what.nodes,
        "ranks": what.ranks,
        "switch_bytes": network.switch_bytes,
        "rows": rows,
    }


def print_table(said: dict[str, Any]) -> None:
    out = console()
    out.print(
        f"{said['startup_us']:g} us to start a message, {1000 * said['byte_us']:g} ns a byte; "
        "times in us"
    )
    where = f"{plural(said['nodes'], 'node')} x {plural(said['ranks'], 'rank')}"
    heads = (f"scatter, {SCATTER} ranks", f"alltoall, {where}", "packed", "ratio")
    printed = table("bytes", *heads, right=len(heads) + 1)
    for row in said["rows"]:
        apart, packed = row["unpacked_us"], row["packed_us"]
        ratio = f"{apart / packed:.2f}" if packed > 0 else ""
        times = map(show_time, (row["scatter_us"], apart, packed))
        printed.add_row(show_bytes(row["bytes"]), *times, ratio)
    out.print(printed)
    out.print(f"blocks up to {int(said['switch_bytes'])} bytes are worth packing (equation 5)")


def draw(path: Path, said: dict[str, Any]) -> None:
    """Figure 4 of the paper, and an Alltoall beside it."""
    pyplot = plotting()

    network = Network(said["startup_us"], said["byte_us"], said["constant_us"])
    figure, (first, second, third) = pyplot.subplots(1, 3, figsize=(15, 4.6), layout="constrained")
    figure.suptitle(
        f"{said['startup_us']:g} us to start a message, {1000 * said['byte_us']:g} ns a byte"
    )
    rows = said["rows"]
    sizes = [row["bytes"] for row in rows]
    _lines(first, sizes, {f"{SCATTER} ranks": [row["scatter_us"] for row in rows]})
    first.set_title("Scatter, a message a rank (Figure 4a)", fontsize=10)
    _size_axis(first, "bytes of a message", said)
    connections = [1 << k for k in range(6)]
    _lines(
        second,
        connections,
        {
            show_bytes(total): [network.time_us(k, total / k) for k in connections]
            for total in TOTALS
        },
    )
    second.set_title("The same bytes in several messages (Figure 4b)", fontsize=10)
    second.set_xticks(connections, [str(k) for k in connections])
    second.set_xlabel("messages")
    _lines(
        third,
        sizes,
        {
            "a message a block": [row["unpacked_us"] for row in rows],
            "a message a node": [row["packed_us"] for row in rows],
        },
    )
    third.set_title(f"Alltoall, {said['nodes']} nodes of {said['ranks']} ranks", fontsize=10)
    _size_axis(third, "bytes of a block", said)
    for panel in (first, second, third):
        plain_axes(panel)
        panel.legend(frameon=False, fontsize=9)
    save_figure(figure, path)


def _lines(panel: Any, across: list[int], lines: dict[str, list[float]]) -> None:
    panel.set_xscale("log", base=2)
    log_times(panel)
    for number, (name, up) in enumerate(lines.items()):
        style: dict[str, Any] = STYLES[number % len(STYLES)]
        panel.plot(across, up, label=name, markersize=4, **style)


def _size_axis(panel: Any, name: str, said: dict[str, Any]) -> None:
    ticks = SIZES[::3]
    panel.set_xticks(ticks, [show_bytes(tick) for tick in ticks])
    panel.set_xlabel(name)
    switch = said["switch_bytes"]
    panel.axvline(
        switch,
        color="#777777",
        linestyle="--",
        zorder=0.5,
        label=f"equation 5: {int(switch)} bytes",
    )
