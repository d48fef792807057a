# SPDX-License-Identifier: BSD-3-Clause
"""TUTTI_NODES=auto: blocking collectives by turns, by Tutti and by the MPI."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from cases import CYCLIC, NOT_MET, SEVERAL, SHORT, UNEQUAL, changed_on, layout_cases
from rig.cluster import Cluster
from rig.launchers import Layout
from rig.mpis import LIBRARY, MAIN, MPICH, Mpi
from rig.spanning import ALONE, variables

FASTER = "the MPI is faster between these nodes, or was timed"
DEPENDS = "the result may depend on who computes it, and no node has two of its ranks"

CASES = layout_cases(MAIN, (SHORT, UNEQUAL, CYCLIC, ALONE), lambda _, layout: layout is SHORT)
SUMS = {"Allreduce", "Scan"}  # those that turns.cc also calls for such results


@pytest.mark.parametrize(("mpi", "layout"), CASES)
def test_turns(cluster: Cluster, mpi: Mpi, layout: Layout, tmp_path: Path) -> None:
    """Results are right, whoever does it, and both have had turns in each collective."""
    report = tmp_path / "report.json"
    options = {"TUTTI_NODES": "auto", "TUTTI_REPORT": str(report), "TUTTI_LOG": "info"}
    words = [str(mpi.compile("../cluster/turns.cc")), "200"]
    result = cluster.run(mpi, layout, words, variables(mpi, **options), limit_s=100)
    assert result.code == 0 and "turns: 0 wrong" in result.output, result.output[-3000:]
    calls = {row["collective"]: row for row in json.loads(report.read_text())["calls"]}
    assert calls.pop("Iallreduce")["reasons"].keys() == {SEVERAL}
    scans = {"Scan", "Exscan"} if layout is CYCLIC else set()  # the MPI's there
    for name, row in calls.items():
        left = set(row["reasons"]) - {NOT_MET, DEPENDS}
        assert left == {SEVERAL if name in scans else FASTER}, (name, row)
        assert (DEPENDS in row["reasons"]) == (layout is ALONE and name in SUMS), (name, row)
        assert (row["taken"] > 0) == (name not in scans), (name, row)
        if name not in scans:
            assert f"MPI_{name} of " in result.output
    assert len(calls) == 17
    # Of two communicators: 32 calls each, or those before the first that computes.
    put_off = sum(row["reasons"].get(NOT_MET, 0) for row in calls.values())
    assert put_off == (2 * 32 if layout is ALONE else 2)


def test_unasked(cluster: Cluster, tmp_path: Path) -> None:
    """It is the default."""
    report = tmp_path / "report.json"
    options = {"LD_PRELOAD": str(LIBRARY), "TUTTI_REPORT": str(report)}
    words = [str(MPICH.compile("../cluster/turns.cc")), "40"]
    result = cluster.run(MPICH, SHORT, words, options, limit_s=60)
    assert result.code == 0 and "turns: 0 wrong" in result.output, result.output[-3000:]
    calls = {row["collective"]: row for row in json.loads(report.read_text())["calls"]}
    assert FASTER in calls["Barrier"]["reasons"] and calls["Barrier"]["taken"] > 0


def test_all_or_none(cluster: Cluster, tmp_path: Path) -> None:
    """One rank that says `auto` says it for all."""
    report = tmp_path / "report.json"
    words = [
        *changed_on("3", "TUTTI_NODES=auto"),
        str(MPICH.compile("../cluster/turns.cc")),
        "40",
    ]
    options = {"TUTTI_REPORT": str(report)}
    result = cluster.run(MPICH, SHORT, words, variables(MPICH, **options), limit_s=60)
    assert result.code == 0 and "turns: 0 wrong" in result.output, result.output[-3000:]
    calls = {row["collective"]: row for row in json.loads(report.read_text())["calls"]}
    assert FASTER in calls["Barrier"]["reasons"]


@pytest.mark.parametrize("mpi", MAIN, ids=lambda mpi: mpi.name)
def test_long_sums_apart(cluster: Cluster, mpi: Mpi, tmp_path: Path) -> None:
    """Where each node has one rank, long sums of floats are Tutti's, from the first call on."""
    report = tmp_path / "report.json"
    options = {"TUTTI_NODES": "auto", "TUTTI_REPORT": str(report)}
    words = [str(mpi.compile("../cluster/apart.cc"))]
    layout = Layout((1, 1, 1, 1))  # of four operands the order shows
    result = cluster.run(mpi, layout, words, variables(mpi, **options), limit_s=100)
    assert result.code == 0 and "apart: 0 wrong" in result.output, result.output[-3000:]
    calls = {row["collective"]: row for row in json.loads(report.read_text())["calls"]}
    for name, often in (("Reduce_scatter_block", 40), ("Scan", 40), ("Reduce", 8)):
        assert (calls[name]["taken"], calls[name]["reasons"]) == (often, {}), name
    left = calls["Allreduce"]["reasons"]
    # One short call came before its members had met, and those of a user's operation never do. The
    # sum of integers may be left, too.
    assert (left.pop(NOT_MET), left.pop(DEPENDS)) == (2, 79)
    assert calls["Allreduce"]["taken"] + sum(left.values()) == 81 and set(left) <= {FASTER}
