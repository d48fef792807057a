# SPDX-License-Identifier: BSD-3-Clause
"""`make demo` from its second line on, with one run of each program: all is there, and the results
are the same with Tutti and without. And what it makes of a machine that is not quiet."""

from __future__ import annotations

import subprocess
import sys

import pytest
from demonstration.measure import Row
from demonstration.quiet import Pair, Reading, disturbance, parse_stat, quiet_pairs, read
from demonstration.table import ratio_of, warning_of
from rig import ROOT

PNG = b"\x89PNG"


def test_demo(tmp_path) -> None:
    plot = tmp_path / "demo.png"
    words = [sys.executable, ROOT / "scripts" / "demo.py", "--turns", "1", "--plot", plot]
    done = subprocess.run(words, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    for row in ("Bcast", "Reduce", "Allreduce", "Barrier", "asp: Bcast", "digits: Allreduce"):
        lines = [line for line in done.stdout.splitlines() if row in line]
        assert any("x" in line or "not quiet" in line for line in lines), row
    assert ("not quiet" in done.stdout) == ("Not a result" in done.stdout)
    assert "gave the same results with and without Tutti" in done.stdout
    assert "tutti run -n 2" in done.stdout
    assert plot.read_bytes().startswith(PNG)


def seconds(**more: float) -> Reading:
    """2 s later, in which a program has used both of two cores; with what else there was."""
    return Reading(at_s=102, busy_s=1004 + more.pop("others_s", 0), own_s=14, **more)


BEFORE = Reading(at_s=100, busy_s=1000, own_s=10)


def test_who_disturbs_a_run_is_named() -> None:
    assert disturbance(BEFORE, seconds(), 2, 2) == ""
    assert disturbance(BEFORE, seconds(others_s=0.4), 2, 2) == ""
    assert disturbance(BEFORE, seconds(others_s=1), 2, 2) == "other processes used 0.5 of 2 cores"
    stolen = disturbance(BEFORE, seconds(stolen_s=1), 2, 2)
    assert stolen == "the host of this virtual machine took 0.5 cores away"
    throttled = disturbance(BEFORE, seconds(others_s=2, throttled_s=1), 2, 2)
    assert throttled.startswith("other processes used 1.0 of 2 cores and the quota")
    assert throttled.endswith("50% of the time")


def test_others_may_use_the_cores_that_are_left() -> None:
    for others_s, found in ((0, False), (4, False), (4.4, False), (4.6, True)):
        assert bool(disturbance(BEFORE, seconds(others_s=others_s), 4, 2)) == found, others_s


def test_only_the_cores_that_may_be_used_are_read() -> None:
    lines = [
        "cpu  1 1 1 1 1 1 1 1 0 0",
        "cpu0 100 50 30 900 7 3 2 40 0 0",
        "cpu1 1000 0 0 0 0 0 0 0 0 0",
        "cpu10 200 0 0 5 0 0 0 0 0 0",
        "intr 1",
    ]
    busy_s, stolen_s = parse_stat(lines, {0, 10})
    assert busy_s == pytest.approx(3.85)
    assert stolen_s == pytest.approx(0.4)


def test_what_a_program_of_ours_uses_is_not_the_others() -> None:
    before = read()
    subprocess.run([sys.executable, "-c", "for i in range(10**7): pass"], check=True)
    after = read()
    assert after.own_s - before.own_s > 0.05
    assert after.busy_s - before.busy_s > 0.8 * (after.own_s - before.own_s)


@pytest.mark.parametrize(
    ("disturbed", "taken", "kept", "said"),
    [
        ("...", 3, [0, 1, 2], ""),
        (".x..", 4, [0, 2, 3], ""),
        (".xxxx.", 6, [0, 5], ""),
        (".xxxxx.", 6, [0], ""),
        ("xxx", 3, [0, 1, 2], "noise 2"),
    ],
)
def test_disturbed_runs_are_made_again(disturbed, taken, kept, said) -> None:
    """At most as many as there should be, and none where nothing was quiet."""
    made: list[int] = []

    def take() -> Pair[int]:
        made.append(len(made))
        return Pair({False: made[-1]}, f"noise {made[-1]}" if disturbed[made[-1]] == "x" else "")

    pairs, found = quiet_pairs(take, 3)
    assert (len(made), [pair.runs[False] for pair in pairs], found) == (taken, kept, said)


def test_a_disturbed_row_has_no_ratio() -> None:
    result = Row("digits: Allreduce", 0, 87e3, 28e3, None)
    unlucky = Row("digits: Allreduce", 0, 87e3, 619e3, None, "other processes used 1.0 of 2 cores")
    assert "3.11x" in ratio_of(result)
    assert "0.14" not in ratio_of(unlucky) and "not quiet" in ratio_of(unlucky)
    assert warning_of([result]) == ""
    said = warning_of([result, unlucky])
    assert "1 of 2 rows" in said
    assert "While they were measured, other processes used 1.0 of 2 cores." in said
