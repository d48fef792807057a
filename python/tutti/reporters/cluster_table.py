# SPDX-License-Identifier: BSD-3-Clause
"""The table of `tutti simulate --nodes`."""

from __future__ import annotations

from typing import Any

from rich.table import Table

from tutti.reporters.bench_table import show_time
from tutti.reporters.quantities import show_bytes
from tutti.reporters.text import console, table


def title(result: dict[str, Any]) -> str:
    machine = result["machine"]
    nodes = sorted({case["nodes"] for case in result["cases"]})
    counts = ", ".join(map(str, nodes))
    where = f"{counts} simulated nodes of {result['each']} ranks"
    if result["layout"] != "block":
        where += f", {result['layout']}"
    net = f"{result['network']}, {machine['nic_bytes_per_ns']:.3g} GB/s"
    if machine["taper"] > 1:
        net += f", tapered {machine['taper']:g}:1"
    late = f", the last node {result['late_ns'] / 1000:g} us late" if result["late_ns"] else ""
    return f"{result['collective']} on {where}: {net}{late}"


def label(case: dict[str, Any], cases: list[dict[str, Any]]) -> str:
    """What tells this variant from others of the same size."""
    led = [c for c in cases if c["scheme"] == "leaders"]
    words = [case["scheme"]]
    if case["scheme"] == "leaders":
        if len({c["leaders"] for c in led}) > 1:
            words = [f"{case['leaders']} a node"]
        if len({c["slice_bytes"] for c in led}) > 1:
            words.append(f"slices of {show_bytes(case['slice_bytes'])}")
    if len({c["forwarded_bytes"] for c in cases}) > 1:
        most = case["forwarded_bytes"]
        words.append(f"passed on up to {show_bytes(most)}" if most else "direct")
    return ", ".join(words)


def print_table(result: dict[str, Any]) -> None:
    """Times in us, and messages between nodes: one or two variants side by side, more in rows."""
    cases = result["cases"]
    labels = list(dict.fromkeys(label(case, cases) for case in cases))
    out = console()
    out.print(title(result) + "; times in us")
    out.print(_beside(result, labels) if len(labels) <= 2 else _in_rows(result))
    if not all(case["compared"] for case in cases):
        out.print("of the largest the results were not compared: their buffers are shared")


def _size(result: dict[str, Any], size: int) -> str:
    return "" if result["collective"] == "Barrier" else show_bytes(size)


def _by_size(cases: list[dict[str, Any]]) -> dict[tuple[int, int], list[dict[str, Any]]]:
    rows: dict[tuple[int, int], list[dict[str, Any]]] = {}
    for case in cases:
        rows.setdefault((case["nodes"], case["bytes"]), []).append(case)
    return rows


def _time(case: dict[str, Any], of: list[dict[str, Any]]) -> str:
    """The least of them is green."""
    shown = show_time(case["ns"] / 1000)
    return f"[green]{shown}[/]" if case["ns"] == min(c["ns"] for c in of) else shown


def _beside(result: dict[str, Any], labels: list[str]) -> Table:
    heads = [*labels, "ratio"] if len(labels) == 2 else labels
    messages = [f"messages, {each}" for each in labels]
    printed = table("nodes", "bytes", *heads, *messages, right=len(heads) + len(messages) + 2)
    for (nodes, size), found in _by_size(result["cases"]).items():
        shown = [_time(case, found) for case in found]
        if len(found) == 2:
            shown.append(f"{found[0]['ns'] / found[1]['ns']:.2f}")
        shown += [str(case["messages"]) for case in found]
        printed.add_row(str(nodes), _size(result, size), *shown)
    return printed


def _in_rows(result: dict[str, Any]) -> Table:
    cases = result["cases"]
    printed = table("", "nodes", "bytes", "time", "messages", right=4)
    for (nodes, size), found in _by_size(cases).items():
        for case in found:
            shown = [_size(result, size), _time(case, found), str(case["messages"])]
            printed.add_row(label(case, cases), str(nodes), *shown)
    return printed
