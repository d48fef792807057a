# SPDX-License-Identifier: BSD-3-Clause
"""What `tutti explain` prints."""

from __future__ import annotations

from typing import Any, Optional

from rich.markup import escape
from rich.table import Table

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
    out.print(f"{call}{size} on {where} {runs(said)} {chosen['name']}: {chosen['description']}")
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
    if (unheeded := forced_in_vain(said, said["chosen"], "a node")) is not None:
        out.print(unheeded)
    if len(said["sizes"]) > 1:
        out.print("by size: " + ", ".join(rung(row) for row in said["sizes"]))
    out.print(costs(said["costs"]))
    other = next((row["name"] for row in said["algorithms"] if other_than(said, row)), None)
    if other is not None:
        out.print(f"{variable(said)}={other} tutti run -n {said['ranks']} ... runs another one")


def print_leaders(said: dict[str, Any]) -> None:
    """What leaders do, a row for each algorithm of theirs, and one for ranks without leaders."""
    out = console()
    rows = said["algorithms"]
    chosen = next(row for row in rows if row["chosen"])
    name = chosen["name"]
    size = f" of {plural(said['bytes'], 'byte')}" if said["collective"] != "Barrier" else ""
    where = f"{plural(said['nodes'], 'node')} of {plural(said['each'], 'rank')}"
    call = f"MPI_{said['collective']}{size} on {where}"
    out.print(f"{call} {runs(said)} {name}: {chosen['description']}")
    out.print()
    out.print(_leaders(said, "forced" if said["forced"] == name else "chosen"))
    out.print()
    if (unheeded := forced_in_vain(said, name, "leaders")) is not None:
        out.print(unheeded)
    how = f"simulated on a network like {said['network']}"
    if not said["cases"]:
        how = "not simulated, as that would take long (docs/explain.md says what is)"
    out.print(f"{how}; docs/nodes.md has the limits of sizes")
    other = next((row["name"] for row in rows if row["fits"] and not row["chosen"]), None)
    if other is not None:
        out.print(f"{variable(said)}={other} runs another one")


def variable(said: dict[str, Any]) -> str:
    return f"TUTTI_{said['collective'].upper()}"


def runs(said: dict[str, Any]) -> str:
    if said["forced"] == "mpi":
        return f"is left to the MPI by {variable(said)}; else it would run"
    return "runs"


def forced_in_vain(said: dict[str, Any], chosen: str, whose: str) -> Optional[str]:
    """Why the algorithm that is asked for is not ``chosen``; None where it is, or none is."""
    forced = said["forced"]
    if forced in ("", "mpi", chosen):
        return None
    known = forced in [row["name"] for row in said["algorithms"]]
    reason = "cannot run this call" if known else f"no algorithm of {whose} has that name"
    return f"{escape(forced)} is forced, but {reason}"


def _leaders(said: dict[str, Any], why: str) -> Table:
    led = {case["algorithm"]: case for case in said["cases"] if case["scheme"] == "leaders"}
    printed = table("between nodes", "simulated, us", "messages", "their bytes", "")
    for row in said["algorithms"]:
        note = why if row["chosen"] else "" if row["fits"] else "cannot run it"
        style = "bold green" if row["chosen"] else ""
        printed.add_row(row["name"], *_figures(led.get(row["name"])), note, style=style)
    flat = next((case for case in said["cases"] if case["scheme"] == "flat"), None)
    if flat is not None:
        note = f"each rank by itself, {flat['algorithm']}"
        printed.add_row("(no leaders)", *_figures(flat), note)
    return printed


def _figures(case: Optional[dict[str, Any]]) -> tuple[str, str, str]:
    if case is None:
        return "-", "-", "-"
    return show_time(case["ns"] / 1000), str(case["messages"]), str(case["message_bytes"])


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
    source = (
        f"kept in {escape(said['file'])}" if said["source"] == "kept" else SOURCES[said["source"]]
    )
    return (
        f"made from this machine's costs ({source}): a flag {said['flag_ns']:.0f} ns, its second "
        f"cache line {said['line_ns']:.0f} ns; 1 KiB copied {said['copy_ns']:.0f} ns, through a "
        f"slot {said['left_ns']:.0f} ns, handed back {said['handed_back_ns']:.0f} ns; "
        f"512 B through a slot {said['short_ns']:.0f} ns, reserved {said['reserved_ns']:.0f} ns; "
        f"from one thread of a core to another {said['switch_ns']:.0f} ns"
    )
