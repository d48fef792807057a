# SPDX-License-Identifier: BSD-3-Clause
"""What collectives between hosts need beside the program's buffers (docs/nodes.md, "Memory")."""

from __future__ import annotations

import re

import pytest
from cluster import Cluster
from launchers import Layout
from rig.mpis import MAIN, Mpi
from spanning import CYCLIC, SHORT, variables


@pytest.mark.parametrize("layout", [SHORT, CYCLIC], ids=str)
@pytest.mark.parametrize("mpi", MAIN, ids=lambda mpi: mpi.name)
def test_blocks_go_where_they_lie(cluster: Cluster, mpi: Mpi, layout: Layout) -> None:
    """Four blocks of 16 MiB: a leader does not hold its node's, nor a root or anybody all.

    Nor does a rank that is late hold those that come early.
    """
    # Memory of peers that a rank maps would count as its own.
    options = {"TUTTI_MEMORY": "bounce", "TUTTI_COMMONS_HUGE": "0"}
    words = [str(mpi.compile("../cluster/peak.cc"))]
    found = cluster.run(mpi, layout, words, variables(mpi, **options), limit_s=60)
    assert "peak: 0 wrong" in found.output, found.output[-3000:]
    grown = {call: int(kib) for call, kib in re.findall(r"peak: ([a-z]+) (-?\d+)", found.output)}
    assert set(grown) == {"gather", "scatter", "allgather", "alltoall", "alltoallv"}
    if mpi.name == "impi":
        del grown["allgather"]  # it lets all of a long message come early, without Tutti too
    assert max(grown.values()) < 12 * 1024, grown
