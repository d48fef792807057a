# SPDX-License-Identifier: BSD-3-Clause
"""What `tutti explain` prints."""

from __future__ import annotations

from typing import Any

from tutti.reporters.bench_table import show_time
from tutti.reporters.quantities import plural
from tutti.reporters.text import console, table

SOURCES = {
    "usual": "of the machine that Tutti comes with, as nothing was measured here",
    "measured": "measured just now",
}


def print_table(said: dict[str, Any]) -> None:
    """The choice, a row for each algorithm, and the sizes up to which each is taken."""
    out = console()
    call = f"MPI_{said['collective']}"
    sharing = f" on {plural(said['cores'], 'core')}" if said["cores"] < said["ranks"] else ""
    where = f"{plural(said['ranks'], 'rank')} of a node{sharing}"
    size = f" of {plural(said['bytes'], 'byte')}" if said["bytes"] else ""
    chosen = next(row for row in said["algorithms"] if row["name"] == said["chosen"])
    why = "forced" if said["forced"] == said["chosen"] else "chosen"
    out.print(f"{call}{size} on {where} runs {chosen['name']}: {chosen['description']}")
    out.print()
    printed = table("algorithm", "estimate, us", "")
    for row in said["algorithms"]:
        is_chosen = row["name"] == said["chosen"]
        note = why if is_chosen else "" if row["fits"] else cannot(row)
        style = "bold green" if is_chosen else ""
        printed.add_row(
            row["name"], show_time(row["ns"] / 1000) if row["fits"] else "-", note, style=style
        )
    out.print(printed)
    out.print()
    if said["forced"] and said["forced"] != said["chosen"]:
        known = said["forced"] in [row["name"] for row in said["algorithms"]]
        reason = "but cannot run this call" if known else "but there is no such algorithm"
        out.print(f"{said['forced']} is forced, {reason}")
    if len(said["sizes"]) > 1:
        out.print("by size: " + ", ".join(rung(row) for row in said["sizes"]))
    out.print(costs(said["costs"]))
    other = next((row["name"] for row in said["algorithms"] if other_than(said, row)), None)
    if other is not None:
        variable = f"TUTTI_{said['collective'].upper()}"
        out.print(f"{variable}={other} tutti run -n {said['ranks']} ... runs another one")


def other_than(said: dict[str, Any], row: dict[str, Any]) -> bool:
    return bool(row["fits"]) and row["name"] != said["chosen"]


def cannot(row: dict[str, Any]) -> str:
    if row["most_bytes"] is None:
        return "cannot run it"
    return f"needs a size that all ranks know, of at most {plural(row['most_bytes'], 'byte')}"


def rung(row: dict[str, Any]) -> str:
    if row["most_bytes"] is None:
        return f"{row['name']} above"
    if row["most_bytes"] == 0:
        return f"{row['name']} without any"
    return f"{row['name']} up to {plural(row['most_bytes'], 'byte')}"


def costs(said: dict[str, Any]) -> str:
    source = f"kept in {said['file']}" if said["source"] == "kept" else SOURCES[said["source"]]
    return (
        f"made from this machine's costs ({source}): a flag {said['flag_ns']:.0f} ns, its second "
        f"cache line {said['line_ns']:.0f} ns; 1 KiB copied {said['copy_ns']:.0f} ns, through a "
        f"slot {said['left_ns']:.0f} ns, handed back {said['handed_back_ns']:.0f} ns; "
        f"512 B through a slot {said['short_ns']:.0f} ns, reserved {said['reserved_ns']:.0f} ns; "
        f"from one thread of a core to another {said['switch_ns']:.0f} ns"
    )
