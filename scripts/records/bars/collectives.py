# SPDX-License-Identifier: BSD-3-Clause
"""The table of all blocking collectives, and the verdicts on it.

Ratios are those of tutti-bench. A point that was not measured fails the bars that need it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from statistics import geometric_mean

from rig.text import size_text

from records.bars.points import (
    MIB,
    POWERS_OF_TWO,
    Measured,
    Point,
    Verdict,
    by_mpi,
    every_mpi,
)

LARGE = [size for size in POWERS_OF_TWO if size >= 64 << 10]  # 64 KiB to 4 MiB
SMALL = [size for size in POWERS_OF_TWO if size < 64 << 10]
CACHES = ("hot", "cold")
OLD = ("bcast", "reduce", "allreduce", "barrier")
NEW = (
    "gather", "gatherv", "scatter", "scatterv", "allgather", "allgatherv", "alltoall", "alltoallv",
    "alltoallw", "reduce_scatter", "reduce_scatter_block", "scan", "exscan",
)  # fmt: skip
TRANSPOSES = ("alltoallv_transpose", "alltoallw_transpose")
COLLECTIVES = (*NEW, *TRANSPOSES, *OLD)

NOT_SLOWER = 0.95
STEP_DOWN = 1.1

# A call of MPICH where ranks share cores takes milliseconds, and seconds with bad luck.
FOUR_RANK_SIZES = by_mpi(LARGE, [64 << 10, 512 << 10, 4 * MIB], LARGE)
FOUR_RANK_CACHES = by_mpi(CACHES, ("hot",), CACHES)


def large_points(collectives: Iterable[str]) -> list[Point]:
    return [Point(c, size, cache) for c in collectives for cache in CACHES for size in LARGE]


def four_rank_points(mpi: str) -> list[Point]:
    return [
        Point(collective, size, cache, ranks=4)
        for collective in NEW
        for cache in FOUR_RANK_CACHES[mpi]
        for size in FOUR_RANK_SIZES[mpi]
    ]


def all_sizes(collective: str) -> list[Point]:
    sizes = [0] if collective == "barrier" else POWERS_OF_TWO
    return [Point(collective, size, cache) for cache in CACHES for size in sizes]


@dataclass(frozen=True)
class MeanBar:
    """The geometric mean of the ratios at these points is at least so large."""

    case: str
    least: dict[str, float]  # by MPI
    points: dict[str, list[Point]]  # by MPI
    to_best: bool = False  # to the fastest MPI by itself, at each point; else to the same MPI


MEAN_BARS = (
    MeanBar(
        "13 collectives, 64 KiB to 4 MiB, hot and cold, against the best MPI",
        every_mpi(2.5),
        every_mpi(large_points(NEW)),
        to_best=True,
    ),
    MeanBar("Allgather 4 MiB, hot", by_mpi(2.5, 8, 8), every_mpi([Point("allgather", 4 * MIB)])),
    *(
        MeanBar(
            f"{name}, 64 KiB to 4 MiB, hot and cold",
            every_mpi(2.0),
            every_mpi(large_points([name])),
        )
        for name in TRANSPOSES
    ),
    MeanBar(
        "4 ranks, 13 collectives, 64 KiB to 4 MiB",
        by_mpi(3, 50, 1),
        by_mpi(*map(four_rank_points, ("openmpi", "mpich", "impi"))),
    ),
)


def _where(point: Point) -> str:
    return f"{size_text(point.bytes)}, {point.cache}" if point.bytes else point.cache


def _mean(bar: MeanBar, mpi: str, ratios: dict[Point, float]) -> Verdict:
    """All of its points must be there."""
    least, points = bar.least[mpi], bar.points[mpi]
    there = {point: ratios[point] for point in points if point in ratios}
    if not there:
        return Verdict(bar.case, mpi, f"at least {least:g}x", "not measured", False, {})
    mean, worst = geometric_mean(there.values()), min(there, key=there.__getitem__)
    text = f"{mean:.2f}x; least {there[worst]:.2f}x ({worst.collective}, {_where(worst)})"
    if len(there) < len(points):
        text += f"; {len(there)} of {len(points)} points"
    met = mean >= least and len(there) == len(points)
    return Verdict(bar.case, mpi, f"at least {least:g}x", text, met, {})


def _never_slower(
    collective: str, mpi: str, ratios: dict[Point, float], measured: Measured
) -> Verdict:
    points = all_sizes(collective)
    there = {point: ratios[point] for point in points if point in ratios}
    case, bar = f"{collective}, every size, hot and cold", f"never below {NOT_SLOWER:g}x"
    if not there:
        return Verdict(case, mpi, bar, "not measured", False, {})
    worst = min(there, key=there.__getitem__)
    below = sum(ratio < NOT_SLOWER for ratio in there.values())
    text = f"{there[worst]:.2f}x ({_where(worst)}); {below} of {len(there)} below"
    if len(there) < len(points):
        text += f"; {len(points) - len(there)} missing"
    met = below == 0 and len(there) == len(points)
    return Verdict(case, mpi, bar, text, met, measured[mpi, worst])


def _no_steps_down(mpi: str, measured: Measured) -> Verdict:
    """A size that takes much longer than the next larger one has got the wrong algorithm."""
    case, bar = "any size, hot", f"at most {STEP_DOWN:g} times as long as the next larger one"
    there, down = 0, []
    for name in COLLECTIVES:
        for size in POWERS_OF_TWO[:-1]:
            pair = [measured.get((mpi, Point(name, bytes))) for bytes in (size, 2 * size)]
            if None in pair:
                continue
            there += 1
            times = pair[0]["tutti_us"] / pair[1]["tutti_us"]
            if times > STEP_DOWN:
                down.append(f"{name}, {size_text(size)} {times:.2f}")
    if there == 0:
        return Verdict(case, mpi, bar, "not measured", False, {})
    text = "; ".join([f"{len(down)} of {there} are longer", *down])
    return Verdict(case, mpi, bar, text, not down, {})


def best_of_all(measured: Measured, mpi: str) -> dict[Point, float]:
    """How much faster than the fastest MPI by itself, at each point."""
    fastest: dict[Point, float] = {}
    for (_, point), row in measured.items():
        fastest[point] = min(row["base_us"], fastest.get(point, row["base_us"]))
    return {p: fastest[p] / row["tutti_us"] for (m, p), row in measured.items() if m == mpi}


def judge(measured: Measured, mpis: Iterable[str]) -> list[Verdict]:
    mpis = list(mpis)
    own = {m: {p: r["ratio"] for (of, p), r in measured.items() if of == m} for m in mpis}
    best = {m: best_of_all(measured, m) for m in mpis}
    verdicts = [
        _mean(bar, m, best[m] if bar.to_best else own[m]) for bar in MEAN_BARS for m in mpis
    ]
    verdicts += [_no_steps_down(m, measured) for m in mpis]
    return verdicts + [_never_slower(c, m, own[m], measured) for c in COLLECTIVES for m in mpis]
