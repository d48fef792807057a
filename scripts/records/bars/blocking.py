# SPDX-License-Identifier: BSD-3-Clause
"""The acceptance table: Bcast, Reduce, Allreduce and Barrier, a row each, and the verdicts on it.

Times are those of tutti-bench: medians of the slowest rank, in microseconds.
"""

from __future__ import annotations

from dataclasses import dataclass

from records.bars.points import MIB, Measured, Point, Verdict, by_mpi

# Two runs of the very same function differ by this much: "not slower" allows for it.
NOISE = 1.02


@dataclass(frozen=True)
class RatioBar:
    """At least this many times faster than the same MPI, and no more than so many limits."""

    case: str
    point: Point
    least: dict[str, float]  # by MPI
    limits: float | None = None


@dataclass(frozen=True)
class FastestBar:
    """On every MPI not slower than the fastest of the three is by itself; perhaps more."""

    case: str
    point: Point
    under_us: float | None = None
    least: tuple[str, float] | None = None  # (MPI, ratio)


RATIO_BARS = (
    RatioBar("Allreduce 4 MiB, hot", Point("allreduce", 4 * MIB), by_mpi(4, 20, 12), 1.3),
    RatioBar("Allreduce 4 MiB, cold", Point("allreduce", 4 * MIB, "cold"), by_mpi(3.5, 10, 6), 1.4),
    RatioBar("Allreduce 1 MiB, hot", Point("allreduce", MIB), by_mpi(5, 20, 3)),
    RatioBar("Reduce 4 MiB, hot", Point("reduce", 4 * MIB), by_mpi(4, 20, 10)),
    RatioBar("Bcast 4 MiB, hot", Point("bcast", 4 * MIB), by_mpi(3, 5, 3)),
    RatioBar("Bcast 4 MiB, cold", Point("bcast", 4 * MIB, "cold"), by_mpi(2, 8, 8)),
    RatioBar("Allreduce 1 MiB, 4 ranks", Point("allreduce", MIB, ranks=4), by_mpi(50, 1000, 1)),
)

FASTEST_BARS = (
    FastestBar("Bcast 8 B", Point("bcast", 8)),
    FastestBar("Allreduce 8 B", Point("allreduce", 8)),
    FastestBar("Barrier", Point("barrier", 0), under_us=0.2),
    FastestBar("Allreduce 8 B, 4 ranks", Point("allreduce", 8, ranks=4), least=("mpich", 500)),
    FastestBar("Barrier, 4 ranks", Point("barrier", 0, ranks=4), least=("mpich", 500)),
)

SWEEPS = tuple(
    Point(collective, 0, cache, memory=memory)
    for memory in ("static", "mmap")
    for cache in ("hot", "cold")
    for collective in ("bcast", "reduce", "allreduce")
)


def _ratio_verdict(bar: RatioBar, mpi: str, row: dict) -> Verdict:
    least = bar.least[mpi]
    met = row["ratio"] * (NOISE if least == 1 else 1) >= least
    text, measured = f"at least {least:g}x", f"{row['ratio']:.1f}x"
    if bar.limits is not None:
        limits = row["tutti_us"] / row["limit_us"]
        met = met and limits <= bar.limits
        text += f"; at most {bar.limits:g} limits"
        measured += f"; {limits:.2f} limits"
    return Verdict(bar.case, mpi, text, measured, met, row)


def _fastest_verdict(bar: FastestBar, mpi: str, row: dict, base_us: dict[str, float]) -> Verdict:
    fastest = min(base_us, key=base_us.__getitem__)
    met = row["tutti_us"] <= base_us[fastest] * NOISE
    text = f"at most {base_us[fastest]:.3g} µs ({fastest})"
    measured = f"{row['tutti_us']:.3g} µs"
    if bar.under_us is not None:
        met = met and row["tutti_us"] < bar.under_us
        text += f"; under {bar.under_us:g} µs"
    if bar.least is not None and bar.least[0] == mpi:
        met = met and row["ratio"] >= bar.least[1]
        text += f"; at least {bar.least[1]:g}x"
        measured += f"; {row['ratio']:.0f}x"
    return Verdict(bar.case, mpi, text, measured, met, row)


def _sweep_verdict(sweep: Point, mpi: str, rows: list[dict]) -> Verdict:
    worst = min(rows, key=lambda row: row["ratio"])
    case = f"{sweep.collective.capitalize()} on {sweep.memory} buffers, 8 B to 4 MiB, {sweep.cache}"
    slower = [row["bytes"] for row in rows if row["ratio"] * NOISE < 1]
    measured = f"{worst['ratio']:.2f}x at {worst['bytes']} B"
    if slower:
        measured += f"; slower at {len(slower)} of {len(rows)} sizes"
    return Verdict(case, mpi, "at no size slower", measured, not slower, worst)


def judge(measured: Measured) -> list[Verdict]:
    """Of every row of the table, in its order, on each MPI that was measured."""
    mpis = list(dict.fromkeys(mpi for mpi, _ in measured))
    verdicts = [
        _ratio_verdict(bar, mpi, measured[mpi, bar.point])
        for bar in RATIO_BARS
        for mpi in mpis
        if (mpi, bar.point) in measured
    ]
    for bar in FASTEST_BARS:
        rows = {mpi: measured[mpi, bar.point] for mpi in mpis if (mpi, bar.point) in measured}
        base_us = {mpi: row["base_us"] for mpi, row in rows.items()}
        verdicts += [_fastest_verdict(bar, mpi, row, base_us) for mpi, row in rows.items()]
    for sweep in SWEEPS:
        for mpi in mpis:
            rows = [
                row
                for (m, p), row in measured.items()
                if m == mpi
                and (p.collective, p.cache, p.memory)
                == (sweep.collective, sweep.cache, sweep.memory)
            ]
            if rows:
                verdicts.append(_sweep_verdict(sweep, mpi, rows))
    return verdicts
