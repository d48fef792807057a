# SPDX-License-Identifier: BSD-3-Clause
"""Lines of `tutti doctor`: yes or no, the reason, and what to do about a no."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rich.markup import escape

from tutti.reporters.quantities import plural, show_bytes
from tutti.reporters.text import console


@dataclass(frozen=True)
class Check:
    title: str
    good: bool
    reason: str
    advice: str = ""  # what to do; printed only for a no


def machine_line(machine: dict[str, Any]) -> str:
    """The machine in one line."""
    parts = [
        machine["cpu"],
        plural(machine["cores"], "core"),
        plural(len(machine["numa_nodes"]), "NUMA node"),
        f"{show_bytes(machine['memory_bytes'])} of memory",
    ]
    largest = max(machine["caches"], key=lambda cache: cache["level"], default=None)
    if largest:
        parts.append(f"L{largest['level']} {show_bytes(largest['bytes'])}")
    return ", ".join(parts)


def checks_of(document: dict[str, Any]) -> list[Check]:
    """Those of what `tutti doctor --json` writes."""
    return [Check(**row) for row in document["checks"]]


def print_checks(headings: Sequence[str], checks: Sequence[Check]) -> None:
    out = console()
    for heading in headings:
        out.print(escape(heading))
    width = max(len(check.title) for check in checks)
    for check in checks:
        mark = "[green]yes[/]" if check.good else "[red]no [/]"
        advice = f" -> {check.advice}" if check.advice and not check.good else ""
        out.print(f"{mark}  {check.title:<{width}}  {escape(check.reason + advice)}")
