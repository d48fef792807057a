# SPDX-License-Identifier: BSD-3-Clause
"""The acceptance table: every row gets a verdict, and the right one."""

from __future__ import annotations

import json

from records.bars.blocking import FASTEST_BARS, RATIO_BARS, SWEEPS, judge
from records.bars.points import POWERS_OF_TWO, Point
from records.blocking import at, groups
from records.report import markdown

MPIS = ("openmpi", "mpich", "impi")


def row(base_us: float, tutti_us: float, limit_us: float = 1, size: int = 0) -> dict:
    return {"base_us": base_us, "tutti_us": tutti_us, "ratio": base_us / tutti_us,
            "limit_us": limit_us, "bytes": size}  # fmt: skip


def everything(base_us: float, tutti_us: float) -> dict:
    points = [bar.point for bar in (*RATIO_BARS, *FASTEST_BARS)]
    points += [Point(s.collective, size, s.cache, s.ranks, s.memory)
               for s in SWEEPS for size in POWERS_OF_TWO]  # fmt: skip
    return {(mpi, p): row(base_us, tutti_us, 0.1, p.bytes) for mpi in MPIS for p in points}


def met(verdicts, case: str) -> dict[str, bool]:
    return {v.mpi: v.met for v in verdicts if v.case == case}


def test_all_rows_on_all_mpis() -> None:
    verdicts = judge(everything(100.0, 0.1))
    assert len(verdicts) == 3 * (len(RATIO_BARS) + len(FASTEST_BARS) + len(SWEEPS))
    assert all(v.met for v in verdicts if "Allreduce 1 MiB, hot" in v.case)


def test_ratio_and_limit_both_count() -> None:
    point = Point("allreduce", 4 << 20)
    case = "Allreduce 4 MiB, hot"
    close = {(m, point): row(2500, 120, 100) for m in MPIS}  # 20.8x, 1.2 limits
    assert met(judge(close), case) == dict.fromkeys(MPIS, True)
    far = {(m, point): row(2500, 120, 90) for m in MPIS}  # 1.33 limits
    assert met(judge(far), case) == dict.fromkeys(MPIS, False)
    slow = {(m, point): row(1500, 120, 100) for m in MPIS}  # 12.5x
    assert met(judge(slow), case) == {"openmpi": True, "mpich": False, "impi": True}


def test_fastest_is_of_all_mpis() -> None:
    point = Point("barrier", 0)
    base_us = {"openmpi": 0.3, "mpich": 1.0, "impi": 0.15}
    measured = {(m, point): row(us, 0.16) for m, us in base_us.items()}
    assert met(judge(measured), "Barrier") == dict.fromkeys(MPIS, False)
    measured = {(m, point): row(us, 0.15) for m, us in base_us.items()}
    assert met(judge(measured), "Barrier") == dict.fromkeys(MPIS, True)


def test_one_slow_size_fails_a_sweep() -> None:
    measured = everything(100.0, 0.1)
    key = ("impi", Point("bcast", 4096, "hot", memory="static"))
    measured[key] = row(1.0, 1.1, size=4096)
    case = "Bcast on static buffers, 8 B to 4 MiB, hot"
    verdicts = judge(measured)
    assert met(verdicts, case) == {"openmpi": True, "mpich": True, "impi": False}
    assert "at 4096 B" in next(v.measured for v in verdicts if v.case == case and v.mpi == "impi")


def test_groups_hold_every_point() -> None:
    points = {at(group, {"bytes": size}) for group, sizes in groups().items() for size in sizes}
    assert points == {bar.point for bar in (*RATIO_BARS, *FASTEST_BARS)}


def test_markdown_has_a_line_a_verdict() -> None:
    verdicts = [vars(v) for v in judge(everything(100.0, 0.1))]
    record = {"date": "2026-01-02T03:04:05", "commit": "abc", "verdicts": verdicts,
              "machine": {"cpu": "A", "cores": 2}, "mpis": {m: m for m in MPIS}}  # fmt: skip
    lines = markdown(json.loads(json.dumps(record))).splitlines()
    assert sum(line.startswith("| ") for line in lines) == len(verdicts) + 1
    assert len({line.count("|") for line in lines if line.startswith("|")}) == 1
