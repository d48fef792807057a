# SPDX-License-Identifier: BSD-3-Clause
"""What must be reached against Open MPI 6.0, whatever of its components does a point best."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from statistics import geometric_mean

from rig.text import size_text

from records.bars.points import POWERS_OF_TWO, Verdict

COLLECTIVES = (
    *("bcast", "reduce", "allreduce", "gather", "scatter"),
    *("allgather", "alltoall", "reduce_scatter_block", "scan"),
)
SIZES = POWERS_OF_TWO
# What the launcher is given for each: the components that other settings put before the rest.
COMPONENTS: dict[str, tuple[str, ...]] = {
    "default": (),
    "xhc": ("--mca", "coll_xhc_priority", "100"),
    "acoll": ("--mca", "coll_acoll_priority", "100"),
}


@dataclass(frozen=True)
class RangeBar:
    """The geometric mean of the ratios at these sizes, and the least of them."""

    first: int
    last: int
    mean: float
    least: float


BARS = (
    RangeBar(8, 4 << 10, 1.7, 0.95),
    RangeBar(8 << 10, 64 << 10, 3, 0.95),
    RangeBar(128 << 10, 4 << 20, 4, 0.95),
)


def lowest(rows: Iterable[dict]) -> dict[tuple[str, int], dict]:
    """For each point the row in which the MPI does best against Tutti."""
    found: dict[tuple[str, int], dict] = {}
    for row in rows:
        point = row["collective"], row["bytes"]
        if point not in found or row["ratio"] < found[point]["ratio"]:
            found[point] = row
    return found


def _where(row: dict) -> str:
    return f"{row['collective']}, {size_text(row['bytes'])}, {row['component']}"


def judge(rows: Iterable[dict]) -> list[Verdict]:
    """`rows` are those of tutti-bench, each with its `component`."""
    points = lowest(rows)
    verdicts = []
    for bar in BARS:
        case = f"nine collectives, {size_text(bar.first)} to {size_text(bar.last)}, hot"
        text = f"at least {bar.mean:g}x; never below {bar.least:g}x"
        there = [row for (_, size), row in points.items() if bar.first <= size <= bar.last]
        wanted = len(COLLECTIVES) * sum(bar.first <= size <= bar.last for size in SIZES)
        if not there:
            verdicts.append(Verdict(case, "openmpi6", text, "not measured", False, {}))
            continue
        mean = geometric_mean(row["ratio"] for row in there)
        worst = min(there, key=lambda row: row["ratio"])
        below = sum(row["ratio"] < bar.least for row in there)
        measured = f"{mean:.2f}x; least {worst['ratio']:.2f}x ({_where(worst)}); {below} below"
        if len(there) < wanted:
            measured += f"; {len(there)} of {wanted} points"
        met = mean >= bar.mean and below == 0 and len(there) == wanted
        verdicts.append(Verdict(case, "openmpi6", text, measured, met, worst))
    return verdicts
