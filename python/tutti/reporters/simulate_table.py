# SPDX-License-Identifier: BSD-3-Clause
"""The table that `tutti simulate` prints."""

from __future__ import annotations

from typing import Any

from tutti.reporters.bench_table import show_time
from tutti.reporters.quantities import plural, show_bytes
from tutti.reporters.text import console, table


def title(result: dict[str, Any]) -> str:
    what = f"{result['collective'].capitalize()} of {show_bytes(result['bytes'])}"
    domains = plural(result["domains"], "NUMA domain")
    return (
        f"{what} on a simulated chip: {result['cores']} cores in {domains}, "
        f"{result['bytes_per_ns']:g} GB/s each"
    )


def print_table(result: dict[str, Any], overlap: bool) -> None:
    """Times in milliseconds; the best levels of each number of ranks are marked."""
    out = console()
    out.print(title(result) + "; times in ms")
    columns = ["blocking", "nonblocking"]
    if overlap:
        columns += ["computation", "one after the other", "overlapped"]
    printed = table("placement", "ranks", "levels", *columns, right=len(columns) + 2)
    for case in result["cases"]:
        times = [case["blocking_ns"], case["pure_ns"]]
        if overlap:
            alone = case["blocking_ns"] + case["computation_ns"]
            times += [case["computation_ns"], alone, case["overlapped_ns"]]
        shown = [show_time(ns / 1e6) for ns in times]
        key = "overlapped_ns" if overlap else "pure_ns"
        if _is_best(case, result["cases"], key):
            shown[-1] = f"[green]{shown[-1]}[/]"
        printed.add_row(case["placement"], str(case["ranks"]), levels(case), *shown)
    out.print(printed)
    if overlap:
        best = min(result["cases"], key=lambda case: int(case["overlapped_ns"]))
        left = f"{plural(best['levels'], 'level')} left to them"
        out.print(
            f"least: {show_time(best['overlapped_ns'] / 1e6)} ms with {best['ranks']} ranks, "
            f"{best['placement']}, {left if best['algorithm'] == 'paper' else 'direct'}"
        )


def levels(case: dict[str, Any]) -> str:
    """``direct`` for the algorithms that have none."""
    return str(case["levels"]) if case["algorithm"] == "paper" else "direct"


def _is_best(case: dict[str, Any], cases: list[dict[str, Any]], key: str) -> bool:
    """Of those with as many ranks."""
    return bool(case[key] == min(c[key] for c in cases if c["ranks"] == case["ranks"]))
