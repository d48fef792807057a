# SPDX-License-Identifier: BSD-3-Clause
"""Programs that are right, and hard for communicators of several hosts."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from cases import LAYOUTS, SEVERAL, SHORT, UNEQUAL, changed_on, layout_cases, lines_of, whole_mpis
from rig.cluster import Cluster
from rig.launchers import Layout
from rig.mpis import INTEL, MAIN, MPICH, OPENMPI, Mpi
from rig.spanning import ALONE, variables

# What spans.cc does, and what of it makes a short form.
PROGRAMS = {
    "overlapped 1": SHORT,  # MPI_THREAD_FUNNELED
    "overlapped 2": SHORT,
    "overlapped 3": SHORT,
    "outlasted": None,
    "outstanding": None,
    "awaited": SHORT,
    "threads 4": SHORT,
    "cycles 5000": None,
    "alive 300": SHORT,
    "alive 1500": None,
    "roots 5000": SHORT,
    "roots 2000000": None,
    "operations": None,
    "freed 200": None,
    "ahead 5000": None,
    "beside 4": SHORT,
}

# A collective of which Tutti must take all calls there, but so many: the MPI's own would not have
# hung, and not have used up anything.
TAKEN = {"overlapped": ("Ibcast", 1), "cycles": ("Allreduce", 0), "alive": ("Allreduce", 0)}


def on_ranks(short: str, *others: str) -> pytest.MarkDecorator:
    """The test with what it changes on these ranks, of which the first make a short form."""
    marked = [pytest.param(each, marks=pytest.mark.whole) for each in others]
    return pytest.mark.parametrize("ranks", [short, *marked])


def spans(cluster: Cluster, mpi: Mpi, layout: Layout, words: Sequence[str], **options: str) -> str:
    """What the program and Tutti say."""
    result = cluster.run(mpi, layout, words, variables(mpi, **options), limit_s=60)
    assert result.code == 0, f"{result.code}: {result.output}"
    assert "spans: 0 wrong" in result.output, result.output
    return result.output


def program(mpi: Mpi, what: str) -> list[str]:
    return [str(mpi.compile("../cluster/spans.cc")), *what.split()]


def cases() -> list[object]:
    found: list[object] = []
    for what, short in PROGRAMS.items():
        for layout in LAYOUTS:
            for mpi in MAIN:
                # Intel MPI's own Allreduces of several threads hang there, without Tutti, too.
                if mpi is INTEL and layout is UNEQUAL and what == "threads 4":
                    continue
                # It ends the job by an assertion, without Tutti, too.
                if mpi is INTEL and what == "alive 1500":
                    continue
                quick = layout is short and mpi is MPICH
                marks = [] if quick else [pytest.mark.whole]
                name = f"{mpi.name} {layout} {what}"
                found.append(pytest.param(mpi, layout, what, marks=marks, id=name))
    return found


@pytest.mark.parametrize(("mpi", "layout", "what"), cases())
def test_spans(cluster: Cluster, mpi: Mpi, layout: Layout, what: str, tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    said = spans(cluster, mpi, layout, program(mpi, what), TUTTI_REPORT=str(report))
    assert lines_of(said) == ["spans: 0 wrong"]
    if (name := what.split()[0]) in TAKEN:
        collective, most_left = TAKEN[name]
        row = calls_of(report)[collective]
        assert row["taken"] > 10 and row["left"] <= most_left, row


@pytest.mark.whole
@pytest.mark.parametrize("layout", [ALONE, SHORT], ids=str)
def test_more_than_there_are_tags(cluster: Cluster, layout: Layout, tmp_path: Path) -> None:
    """The other MPIs have no more than 2048 communicators."""
    report = tmp_path / "report.json"
    words = program(OPENMPI, "crowded 2300")
    spans(cluster, OPENMPI, layout, words, TUTTI_REPORT=str(report))
    row = calls_of(report)["Allreduce"]
    # MPI_COMM_WORLD comes last, when there are tags again.
    assert 0 < row["reasons"][SEVERAL] < 400 and row["taken"] > 2000


@pytest.mark.parametrize(
    ("mpi", "layout"),
    layout_cases(MAIN, LAYOUTS, lambda mpi, layout: mpi is MPICH and layout is UNEQUAL),
)
def test_others_are_served(cluster: Cluster, mpi: Mpi, layout: Layout, tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    spans(cluster, mpi, layout, program(mpi, "others 12"), TUTTI_REPORT=str(report))
    row = calls_of(report)["Allreduce"]
    assert row["taken"] == row["seen"] > 100, row


def calls_of(report: Path) -> dict[str, Any]:
    return {row["collective"]: row for row in json.loads(report.read_text())["calls"]}


@whole_mpis
@on_ranks("1", "0", "3", "2|3")
def test_some_ranks_lack_the_option(cluster: Cluster, mpi: Mpi, ranks: str, tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    words = [*changed_on(ranks, "TUTTI_NODES=0"), *program(mpi, "alive 40")]
    spans(cluster, mpi, SHORT, words, TUTTI_REPORT=str(report))
    row = calls_of(report)["Allreduce"]
    assert row["reasons"][SEVERAL] > 10 and row["taken"] > 10
    assert json.loads(report.read_text())["nodes"] == 2
    words = [*changed_on(ranks, "TUTTI_NODES=0"), *program(mpi, "roots 5000")]
    spans(cluster, mpi, SHORT, words, TUTTI_REPORT=str(report))
    calls = calls_of(report)
    assert all(row["taken"] == 0 for row in calls.values()), calls


@whole_mpis
@on_ranks("0", "1", "2|3")
def test_some_ranks_are_without_tutti(cluster: Cluster, mpi: Mpi, ranks: str) -> None:
    for what in ("alive 40", "roots 5000"):
        words = [*changed_on(ranks, "unset LD_PRELOAD"), *program(mpi, what)]
        said = spans(cluster, mpi, SHORT, words)
        assert "runs without Tutti" in said or "run without Tutti" in said, said


@whole_mpis
@pytest.mark.parametrize("layout", [SHORT, UNEQUAL], ids=str)
def test_one_rank_is_strict(cluster: Cluster, mpi: Mpi, layout: Layout) -> None:
    for what in ("roots 5000", "alive 100", "ahead 500"):
        words = [*changed_on("1", "export TUTTI_CHECK=strict"), *program(mpi, what)]
        spans(cluster, mpi, layout, words)
