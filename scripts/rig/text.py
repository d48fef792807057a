# SPDX-License-Identifier: BSD-3-Clause
"""How sizes and times are written, and the terminal to write them to."""

from __future__ import annotations

from rich.console import Console


def console(width: int) -> Console:
    """As wide as the terminal; `width` columns where the output goes elsewhere."""
    found = Console()
    return found if found.is_terminal else Console(width=width)


def size_text(size: int) -> str:
    """4194304 -> '4 MiB'."""
    for unit, name in ((1 << 20, "MiB"), (1 << 10, "KiB")):
        if size >= unit and size % unit == 0:
            return f"{size // unit} {name}"
    return f"{size} B"


def time_text(us: float) -> str:
    """A time in the unit that suits it, with three digits that count."""
    for unit, name in ((1e6, "s"), (1e3, "ms"), (1, "µs")):
        if us >= unit * (0.1 if name == "µs" else 1):
            return f"{us / unit:.3g} {name}" if us / unit < 999.5 else f"{us / unit:.0f} {name}"
    return f"{us * 1000:.2g} ns"
