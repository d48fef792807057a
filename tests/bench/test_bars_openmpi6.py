# SPDX-License-Identifier: BSD-3-Clause
"""The verdicts on Open MPI 6.0 that `scripts/record.py openmpi6` writes down."""

from __future__ import annotations

from records.bars import openmpi6 as bars

RATIOS = {8: 2.0, 8 << 10: 4.0, 128 << 10: 5.0}  # from this size on


def rows(component: str, **changed: float) -> list[dict]:
    """Of all points; `changed` has other ratios, as bcast_8=0.5."""
    found = []
    for collective in bars.COLLECTIVES:
        for size in bars.SIZES:
            usual = [ratio for first, ratio in RATIOS.items() if first <= size][-1]
            ratio = changed.get(f"{collective}_{size}", usual)
            row = {"collective": collective, "bytes": size, "component": component, "ratio": ratio}
            found.append(row)
    return found


def test_all_bars_met():
    verdicts = bars.judge(rows("default") + rows("acoll"))
    assert [verdict.met for verdict in verdicts] == [True] * 3
    assert verdicts[0].measured == "2.00x; least 2.00x (bcast, 8 B, default); 0 below"


def test_the_component_counts_that_does_best():
    verdicts = bars.judge(rows("default") + rows("xhc", bcast_8=0.9))
    assert [verdict.met for verdict in verdicts] == [False, True, True]
    assert "least 0.90x (bcast, 8 B, xhc); 1 below" in verdicts[0].measured


def test_a_mean_that_is_too_low():
    slow = {f"{name}_{size}": 1.2 for name in bars.COLLECTIVES for size in bars.SIZES[:10]}
    [small, *_] = bars.judge(rows("default", **slow))
    assert not small.met and small.measured.startswith("1.20x")


def test_points_that_no_component_has():
    some = [row for row in rows("default") if (row["collective"], row["bytes"]) != ("scan", 4096)]
    verdicts = bars.judge(some)
    assert [verdict.met for verdict in verdicts] == [False, True, True]
    assert verdicts[0].measured.endswith("; 89 of 90 points")
    assert [verdict.measured for verdict in bars.judge([])] == ["not measured"] * 3
