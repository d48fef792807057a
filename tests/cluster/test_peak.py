# SPDX-License-Identifier: BSD-3-Clause
"""What collectives between hosts need beside the program's buffers (docs/nodes.md, "Memory")."""

from __future__ import annotations

import re

import pytest
from cases import CYCLIC, SHORT
from rig.cluster import Cluster
from rig.launchers import Layout
from rig.mpis import MAIN, Mpi
from rig.spanning import variables


def growth(cluster: Cluster, mpi: Mpi, layout: Layout, *words: str) -> dict[str, int]:
    """The most KiB that any rank grows by, of each call."""
    # Memory of peers that a rank maps would count as its own.
    options = {"TUTTI_MEMORY": "bounce", "TUTTI_COMMONS_HUGE": "0"}
    program = str(mpi.compile("../cluster/peak.cc"))
    found = cluster.run(mpi, layout, [program, *words], variables(mpi, **options), limit_s=60)
    assert "peak: 0 wrong" in found.output, found.output[-3000:]
    return {call: int(kib) for call, kib in re.findall(r"peak: ([a-z]+) (-?\d+)", found.output)}


@pytest.mark.parametrize("layout", [SHORT, CYCLIC], ids=str)
@pytest.mark.parametrize("mpi", MAIN, ids=lambda mpi: mpi.name)
def test_blocks_go_where_they_lie(cluster: Cluster, mpi: Mpi, layout: Layout) -> None:
    """Four blocks of 16 MiB: a leader does not hold its node's, nor a root or anybody all."""
    grown = growth(cluster, mpi, layout)
    assert set(grown) == {"gather", "scatter", "allgather"}
    if mpi.name == "impi":
        del grown["allgather"]  # it lets all of a long message come early, without Tutti too
    assert max(grown.values()) < 12 * 1024, grown


@pytest.mark.parametrize("call", ["alltoall", "alltoallv"])
@pytest.mark.parametrize("mpi", MAIN, ids=lambda mpi: mpi.name)
def test_late_ranks_keep_little(cluster: Cluster, mpi: Mpi, call: str) -> None:
    """Others send the last rank 16 MiB each, to which it comes late."""
    grown = growth(cluster, mpi, SHORT, call)
    assert set(grown) == {call}
    assert grown[call] < 6 * 1024, grown
