# SPDX-License-Identifier: BSD-3-Clause
"""Every result against the MPI's own, by the programs of tests/mpi."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from cases import LAYOUTS, SEVERAL, SHORT, UNEQUAL, changed_on, layout_cases
from rig.cluster import Cluster
from rig.launchers import Layout
from rig.mpis import INTEL, MAIN, MPICH, Mpi
from rig.spanning import ALONE, variables

CASES = layout_cases(MAIN, LAYOUTS, lambda mpi, layout: mpi is MPICH and layout is SHORT)
# Algorithms between nodes that options ask for: for large calls, and for small ones, whatever the
# size of the calls.
FORCED = {
    "large": {
        **dict.fromkeys(("BCAST", "REDUCE", "SCAN", "EXSCAN"), "chain"),
        **dict.fromkeys(("ALLREDUCE", "ALLGATHER", "ALLGATHERV"), "ring"),
        **dict.fromkeys(("GATHER", "SCATTER", "ALLTOALL", "ALLTOALLV", "ALLTOALLW"), "direct"),
        **dict.fromkeys(("REDUCE_SCATTER", "REDUCE_SCATTER_BLOCK"), "pairwise"),
    },
    "small": {
        **dict.fromkeys(("BCAST", "REDUCE", "GATHER", "SCATTER"), "binomial"),
        **dict.fromkeys(("SCAN", "EXSCAN", "ALLGATHER", "ALLGATHERV"), "doubling"),
        **dict.fromkeys(("REDUCE_SCATTER", "REDUCE_SCATTER_BLOCK"), "halving"),
        "ALLREDUCE": "shares",
        "ALLTOALL": "forwarded",
    },
}
# As usual on all layouts, and each set on three hosts.
VARIED = [
    *(pytest.param(*case.values, "", marks=case.marks, id=case.id) for case in CASES),
    *(
        pytest.param(
            mpi,
            UNEQUAL,
            forced,
            marks=[] if mpi is MPICH else [pytest.mark.whole],
            id=f"{mpi.name} {UNEQUAL} {forced}",
        )
        for mpi in MAIN
        for forced in FORCED
    ),
]
# Of them all calls are served, whatever the layout.
MOVES = (
    *("Gather", "Gatherv", "Scatter", "Scatterv", "Allgather", "Allgatherv"),
    *("Alltoall", "Alltoallv", "Alltoallw"),
)
# Of them those with operations of MPI; of the last two where ranks of each host follow each other.
SUMS = ("Reduce_scatter", "Reduce_scatter_block", "Scan", "Exscan")
LEFT = {"no kernel for this datatype", SEVERAL}


def compared(
    cluster: Cluster, mpi: Mpi, layout: Layout, words: list[str], report: Path, forced: str = ""
) -> tuple[int, dict[str, Any]]:
    """How many results were compared; and the report's calls.

    The last rank alone names the algorithms of a set that is `forced`. Else hosts would wait for
    each other for ever.
    """
    settings = variables(mpi, TUTTI_REPORT=str(report))
    if forced:
        names = " ".join(f"TUTTI_{name}={value}" for name, value in FORCED[forced].items())
        words = [*changed_on(str(sum(layout.counts) - 1), f"export {names}"), *words]
    result = cluster.run(mpi, layout, words, settings, limit_s=60)
    # A name that there is not is warned about by a rank that is the first of its host.
    assert not forced or "TUTTI_" not in result.output, result.output
    found = re.search(r": (\d+) compared, (\d+) wrong", result.output)
    assert result.code == 0 and found, result.output[-3000:]
    assert int(found[2]) == 0
    rows = json.loads(report.read_text())["calls"]
    return int(found[1]), {row["collective"]: row for row in rows}


@pytest.mark.parametrize(("mpi", "layout", "forced"), VARIED)
def test_conformance(
    cluster: Cluster,
    mpi: Mpi,
    layout: Layout,
    forced: str,
    tmp_path: Path,
    pytestconfig: pytest.Config,
) -> None:
    whole = pytestconfig.getoption("--whole")
    stride = 400 if not whole else 100 if layout is UNEQUAL else 30
    words = [str(mpi.compile("conformance.cc")), "--stride", str(stride)]
    # Intel MPI's own MPI_Reduce crashes where a rank that is alone on its host, and not the root,
    # has no place for a result.
    if mpi is INTEL:
        words += ["--reduce-to-null", "0"]
    count, calls = compared(cluster, mpi, layout, words, tmp_path / "report.json", forced)
    assert count > 30
    for name in ("Bcast", "Reduce", "Allreduce"):
        # Operations of the user may not commute.
        assert calls[name]["taken"] > 0.5 * calls[name]["seen"], calls
        assert set(calls[name]["reasons"]) <= LEFT


@pytest.mark.parametrize(("mpi", "layout", "forced"), VARIED)
def test_moves(
    cluster: Cluster,
    mpi: Mpi,
    layout: Layout,
    forced: str,
    tmp_path: Path,
    pytestconfig: pytest.Config,
) -> None:
    whole = pytestconfig.getoption("--whole")
    cases = 30 if not whole else 60 if layout is UNEQUAL else 150
    words = [str(mpi.compile("moves.cc")), "--cases", str(cases)]
    count, calls = compared(cluster, mpi, layout, words, tmp_path / "report.json", forced)
    assert count == cases * sum(layout.counts)
    for name in MOVES:
        assert calls[name]["taken"] == calls[name]["seen"] > 0, calls
    for name in SUMS:
        in_order = not layout.cyclic or "scan" not in name.lower()
        assert calls[name]["taken"] > (0.5 * calls[name]["seen"] if in_order else 0), calls
        assert set(calls[name].get("reasons", {})) <= LEFT, calls


@pytest.mark.parametrize(("mpi", "layout"), CASES)
def test_operations_of_the_user(cluster: Cluster, mpi: Mpi, layout: Layout, tmp_path: Path) -> None:
    """Against what one process computes alone. One in three does not commute, and some are long."""
    words = [str(mpi.compile("operations.cc", "-std=c++20")), "all"]
    _, calls = compared(cluster, mpi, layout, words, tmp_path / "report.json")
    for name in ("Reduce", "Allreduce", *SUMS):
        row, scans = calls[name], "scan" in name.lower()
        if scans and layout.cyclic:
            assert row["taken"] == 0, row
        elif scans:
            assert row["taken"] == row["seen"] > 0, row
        else:
            assert 0.8 * row["seen"] < row["taken"] < row["seen"], row
        started = calls[f"I{name.lower()}"]
        assert started["taken"] > 0.5 * started["seen"] > 0, started


# The MPIs' own scans of such elements write behind memory.
@pytest.mark.parametrize(("mpi", "layout"), [case for case in CASES if not case.values[1].cyclic])
def test_elements_with_gaps(cluster: Cluster, mpi: Mpi, layout: Layout, tmp_path: Path) -> None:
    words = [str(mpi.compile("operations.cc", "-std=c++20")), "gapped"]
    _, calls = compared(cluster, mpi, layout, words, tmp_path / "report.json")
    for name in ("Reduce", "Allreduce", *SUMS):
        assert calls[name]["taken"] == calls[name]["seen"] > 0, calls[name]


# Intel MPI's own collectives, to compare with, crash in the program where a host has several ranks.
@pytest.mark.parametrize(
    ("mpi", "layout"),
    [case for case in CASES if case.values[0] is not INTEL or case.values[1] is ALONE],
)
def test_nonblocking(
    cluster: Cluster, mpi: Mpi, layout: Layout, tmp_path: Path, pytestconfig: pytest.Config
) -> None:
    cases = 60 if pytestconfig.getoption("--whole") else 20
    words = [str(mpi.compile("nonblocking.cc")), "--cases", str(cases)]
    words += ["--meet", "1"]  # what comes before a communicator's first blocking one is the MPI's
    report = tmp_path / "report.json"
    count, _ = compared(cluster, mpi, layout, words, report)
    assert count >= cases * sum(layout.counts)
    rows = json.loads(report.read_text())["calls"]
    begun = {row["collective"]: row for row in rows if row["collective"].startswith("I")}
    assert len(begun) == 17 or cases < 60, begun
    for name, row in begun.items():
        in_order = not layout.cyclic or "scan" not in name
        assert row["taken"] == row["seen"] or not in_order, row
