# SPDX-License-Identifier: BSD-3-Clause
"""Quantities for people."""

from __future__ import annotations

from typing import Optional

UNITS = ("B", "KiB", "MiB", "GiB", "TiB")


def show_bytes(count: Optional[float]) -> str:
    """``"4 MiB"``: at most one decimal, none for whole numbers."""
    if count is None:
        return "?"
    unit = 0
    while count >= 1024 and unit + 1 < len(UNITS):
        count /= 1024
        unit += 1
    return f"{count:.0f} {UNITS[unit]}" if count == int(count) else f"{count:.1f} {UNITS[unit]}"


def plural(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
