# SPDX-License-Identifier: BSD-3-Clause
"""The table that `tutti model` prints."""

from __future__ import annotations

from typing import Any

from tutti.reporters.quantities import plural
from tutti.reporters.text import console, table

NAMES = {"rows": "Bcast and Reduce", "growing": "Gather and Scatter"}


def print_table(said: dict[str, Any], growing: bool) -> None:
    """A row for each number of ranks: the time for each S, and of the blocking collective."""
    key = "growing" if growing else "rows"
    rows = [row for row in said[key] if row["ranks"] > 1]
    splits = [str(s) for s in range(len(rows[-1]["messages"]) + 1)]
    out = console()
    out.print(
        f"{NAMES[key]} on {plural(said['cores'], 'core')}, with computation that would last as "
        "long on all of them"
    )
    out.print(
        "time of both, in transfers of a rank's buffer; S: levels of the tree on the ranks' cores"
    )
    heads = [f"S={s}" for s in splits]
    printed = table("ranks", "other cores", "best S", *heads, "blocking", right=len(heads) + 4)
    for row in rows:
        best = str(row["best_levels"])
        times = [show(row["times"].get(s), s == best) for s in splits]
        blocking = row["blocking_time"] + row["computation_time"]
        left = str(said["cores"] - row["ranks"])
        printed.add_row(str(row["ranks"]), left, best, *times, show(blocking))
    out.print(printed)
    least = min(rows, key=best_time)
    out.print(
        f"least time: {show(best_time(least))} with {least['ranks']} ranks and "
        f"S = {least['best_levels']}"
    )


def best_time(row: dict[str, Any]) -> float:
    return float(row["times"][str(row["best_levels"])])


def show(time: Any, best: bool = False) -> str:
    if time is None:
        return ""
    return f"[bold green]{time:.2f}[/]" if best else f"{time:.2f}"
