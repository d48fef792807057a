# SPDX-License-Identifier: BSD-3-Clause
"""Alltoalls whose blocks leaders pack, and what rank 0 decides for all."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from cases import CYCLIC, SHORT, UNEQUAL, changed_on
from rig.cluster import Cluster
from rig.launchers import Layout
from rig.mpis import MAIN, MPICH, Mpi
from rig.spanning import variables

LONGEST = 4096  # of blocks that are packed
SIZES = (8, 64, 2400, 4096, 4800)  # of packed.cc
KINDS = ("Alltoall", "Alltoallv", "Alltoallw")


def calls(
    cluster: Cluster,
    mpi: Mpi,
    layout: Layout,
    tmp_path: Path,
    before: Sequence[str] = (),
    **options: str,
) -> dict[str, Any]:
    """The rows of the report, by collective. All results have been right."""
    report = tmp_path / "report.json"
    words = [*before, str(mpi.compile("../cluster/packed.cc"))]
    settings = variables(mpi, TUTTI_REPORT=str(report), **options)
    result = cluster.run(mpi, layout, words, settings, limit_s=60)
    assert result.code == 0, result.output[-3000:]
    assert re.search(r"packed: 0 wrong, 30 calls", result.output), result.output[-3000:]
    return {row["collective"]: row for row in json.loads(report.read_text())["calls"]}


def messages(layout: Layout, longest: int) -> int:
    """Between nodes, of all 30 calls of a kind: those of packed blocks one from node to node."""
    ranks, nodes = sum(layout.counts), len(layout.counts)
    far = sum(count * (ranks - count) for count in layout.counts)
    each = len(SIZES), 30 // len(SIZES)
    packed = sum(size <= longest for size in SIZES)
    return each[1] * (packed * nodes * (nodes - 1) + (each[0] - packed) * far)


@pytest.mark.parametrize("layout", [UNEQUAL, CYCLIC], ids=str)
@pytest.mark.parametrize("mpi", MAIN, ids=lambda mpi: mpi.name)
def test_packed(cluster: Cluster, mpi: Mpi, layout: Layout, tmp_path: Path) -> None:
    found = calls(cluster, mpi, layout, tmp_path)
    for kind in KINDS:
        assert found[kind]["messages"] == messages(layout, LONGEST), kind
        begun = found["I" + kind.lower()]
        assert begun["taken"] == begun["seen"] == 30, kind


@pytest.mark.parametrize("ways", ["cma,bounce", "bounce"])
def test_leaders_out_of_reach(cluster: Cluster, ways: str, tmp_path: Path) -> None:
    found = calls(cluster, MPICH, UNEQUAL, tmp_path, TUTTI_MEMORY=ways)
    for kind in KINDS:
        assert found[kind]["messages"] == messages(UNEQUAL, LONGEST), kind


@pytest.mark.parametrize("mpi", MAIN, ids=lambda mpi: mpi.name)
def test_rank_0_decides(cluster: Cluster, mpi: Mpi, tmp_path: Path) -> None:
    """How long packed blocks are, and how many leaders there are."""
    usual = calls(cluster, mpi, SHORT, tmp_path)
    settings = "export TUTTI_PACKED=64 TUTTI_LEADERS=1"
    first = calls(cluster, mpi, SHORT, tmp_path, changed_on("0", settings))
    for kind in KINDS:
        assert first[kind]["messages"] == messages(SHORT, 64) > messages(SHORT, LONGEST)
    assert 2 * first["Allreduce"]["messages"] == usual["Allreduce"]["messages"]
    others = calls(cluster, mpi, SHORT, tmp_path, changed_on("1|2|3", settings))
    for name in (*KINDS, "Allreduce"):
        assert others[name]["messages"] == usual[name]["messages"]


def test_what_any_rank_forces(cluster: Cluster, tmp_path: Path) -> None:
    """Blocks that no leader packs."""
    names = " ".join(f"TUTTI_{kind.upper()}=direct" for kind in KINDS)
    found = calls(cluster, MPICH, SHORT, tmp_path, changed_on("1", f"export {names}"))
    for kind in KINDS:
        assert found[kind]["messages"] == messages(SHORT, 0), kind
