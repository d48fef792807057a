# SPDX-License-Identifier: BSD-3-Clause
"""Collectives of ranks on several hosts, bare and with Tutti."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from cases import SHORT, UNEQUAL, layout_cases, lines_of
from rig.cluster import Cluster
from rig.launchers import Layout
from rig.mpis import DEBIAN_MPICH, LIBRARY, MAIN, OTHERS, Mpi
from rig.spanning import ALONE, variables

LAYOUTS = [
    SHORT,
    ALONE,
    UNEQUAL,
    Layout((2, 2, 2, 2)),
    Layout((2, 2, 2, 2), cyclic=True),
]


def quick(mpi: Mpi, layout: Layout) -> bool:
    return mpi in MAIN and layout in (SHORT, Layout((2, 2, 2, 2)))


# Debian's MPICH now and then hangs in MPI_Finalize with more ranks, without Tutti, too: one closes
# a connection in UCX, and its peer already waits for all in PMI.
CASES = [
    *layout_cases([mpi for mpi in [*MAIN, *OTHERS] if mpi is not DEBIAN_MPICH], LAYOUTS, quick),
    *layout_cases([DEBIAN_MPICH], [ALONE], quick),
]


def expected(layout: Layout) -> list[str]:
    """What each rank prints."""
    hosts = layout.hosts()
    return sorted(
        f"rank {rank} of {len(hosts)} on tutti-{'abcd'[host]} "
        f"node {hosts.index(host)}:{layout.counts[host]}, 0 wrong"
        for rank, host in enumerate(hosts)
    )


@pytest.mark.parametrize(("mpi", "layout"), CASES)
def test_all_ranks_have_the_same_bits(
    cluster: Cluster, mpi: Mpi, layout: Layout, tmp_path: Path
) -> None:
    report = tmp_path / "report.json"
    options = variables(mpi, TUTTI_REPORT=str(report))
    result = cluster.run(mpi, layout, [str(mpi.compile("../cluster/bits.cc"))], options, 60)
    assert result.code == 0 and "bits: 0 of 8 sums differ" in result.output, result.output
    calls = {row["collective"]: row for row in json.loads(report.read_text())["calls"]}
    assert calls["Allreduce"]["taken"] == 8, calls


@pytest.mark.parametrize("tutti", [False, True], ids=["bare", "tutti"])
@pytest.mark.parametrize(("mpi", "layout"), CASES)
def test_sums(cluster: Cluster, mpi: Mpi, layout: Layout, tutti: bool, tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    options = (
        {"LD_PRELOAD": str(LIBRARY), "TUTTI_NODES": "1", "TUTTI_REPORT": str(report)}
        if tutti
        else {}
    )
    program = str(mpi.compile("../cluster/sums.cc"))
    result = cluster.run(mpi, layout, [program], options, limit_s=60)
    assert result.code == 0, result.output
    assert sorted(lines_of(result.output)) == expected(layout)
    if tutti:
        seen = {row["collective"]: row["seen"] for row in json.loads(report.read_text())["calls"]}
        assert seen["Barrier"] == 4, seen
