# SPDX-License-Identifier: BSD-3-Clause
"""What all drawings of a trace share: colours, legend, and times as people write them."""

from __future__ import annotations

# Bright and dark alternate, so that neighbours differ without colour as well.
COLORS = {
    "computing": "#a6d49f",
    "progress": "#2f62a8",
    "waiting": "#b3362c",
    "idle": "#f3b653",
}
LEGEND = {
    "computing": "computing",
    "progress": "progressing communication",
    "waiting": "waiting, busy",
    "idle": "idle",
}
MESSAGE_COLOR = "#222222"
UNITS = (("s", 1e9), ("ms", 1e6), ("us", 1e3), ("ns", 1.0))


def unit_of(length: float) -> tuple[str, float]:
    """The largest unit of which `length` (in ns) has at least one, and its ns."""
    return next((unit for unit in UNITS if length >= unit[1]), UNITS[-1])


def show_time(time: float) -> str:
    """``"1.25 ms"``: about four digits."""
    name, ns = unit_of(abs(time))
    return f"{time / ns:.4g} {name}"
