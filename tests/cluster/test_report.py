# SPDX-License-Identifier: BSD-3-Clause
"""What the report says of communicators of several hosts."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from cases import BY_OPTION, NOT_MET, SEVERAL, changed_on
from rig.cluster import Cluster
from rig.launchers import Layout
from rig.mpis import LIBRARY, MAIN, Mpi

LONG = 8
COUNTS = (1, 1000, 10000, 300000)  # of sums.cc


def report(
    cluster: Cluster, mpi: Mpi, tmp_path: Path, words: Sequence[str] = (), **options: str
) -> dict[str, Any]:
    """That of sums.cc, two ranks on each of two hosts, its calls by collective."""
    file = tmp_path / "report.json"
    variables = {"LD_PRELOAD": str(LIBRARY), "TUTTI_REPORT": str(file), **options}
    program = str(mpi.compile("../cluster/sums.cc"))
    result = cluster.run(mpi, Layout((2, 2)), [*words, program], variables, limit_s=60)
    assert result.code == 0, result.output
    written: dict[str, Any] = json.loads(file.read_text())
    written["calls"] = {row["collective"]: row for row in written["calls"]}
    return written


@pytest.mark.parametrize("mpi", MAIN, ids=lambda mpi: mpi.name)
def test_messages(cluster: Cluster, mpi: Mpi, tmp_path: Path) -> None:
    written = report(cluster, mpi, tmp_path, TUTTI_NODES="1")
    calls = written["calls"]
    assert written["nodes"] == 2
    assert all(row["left"] == 0 for row in calls.values()), calls
    # Each of two leaders sends one message for a Barrier, and half of all bytes, twice, for a sum.
    barrier, bcast, allreduce = (calls[name] for name in ("Barrier", "Bcast", "Allreduce"))
    assert (barrier["messages"], barrier["message_bytes"]) == (2 * len(COUNTS), 0)
    assert bcast["message_bytes"] == LONG * sum(COUNTS)
    assert allreduce["message_bytes"] == 2 * LONG * sum(COUNTS)
    # Without leaders halves meet on the node first. Then a quarter goes to the other, and back.
    assert barrier["without_leaders"] == {"messages": 6 * len(COUNTS), "bytes": 0}
    assert bcast["without_leaders"] == {"messages": len(COUNTS), "bytes": LONG * sum(COUNTS)}
    halved = sum(COUNTS) - COUNTS[0]
    bytes_ = LONG * (4 * COUNTS[0] + 4 * 2 * halved // 4)
    assert allreduce["without_leaders"] == {"messages": 4 + 8 * 3, "bytes": bytes_}
    # The bytes of the calls are those of all four ranks.
    assert written["ways"]["messages"] == 2 * 4 * LONG * sum(COUNTS)


@pytest.mark.parametrize("mpi", MAIN, ids=lambda mpi: mpi.name)
def test_without_them(cluster: Cluster, mpi: Mpi, tmp_path: Path) -> None:
    written = report(cluster, mpi, tmp_path, TUTTI_NODES="0")
    assert written["ways"]["messages"] == 0
    for name in ("Barrier", "Bcast", "Allreduce"):
        row = written["calls"][name]
        assert not {"messages", "message_bytes", "without_leaders"} & row.keys()
        assert row["reasons"] == {SEVERAL: len(COUNTS)}


@pytest.mark.parametrize("nodes", ["auto", "0"])
@pytest.mark.parametrize("mpi", MAIN, ids=lambda mpi: mpi.name)
def test_hosts_that_share_cores(cluster: Cluster, mpi: Mpi, nodes: str, tmp_path: Path) -> None:
    """Each host has as many ranks as cores at most, and all of them have the same ones."""
    notes = report(cluster, mpi, tmp_path, TUTTI_NODES=nodes)["notes"]
    shared = len(os.sched_getaffinity(0)) < 4
    assert shared == any("more ranks than cores" in note for note in notes), notes


@pytest.mark.parametrize("mpi", MAIN, ids=lambda mpi: mpi.name)
def test_several_leaders(cluster: Cluster, mpi: Mpi, tmp_path: Path) -> None:
    """Each has a part of every slice: twice the messages of a large Allreduce, the same bytes."""
    one = report(cluster, mpi, tmp_path, TUTTI_NODES="1", TUTTI_LEADERS="1")["calls"]["Allreduce"]
    two = report(cluster, mpi, tmp_path, TUTTI_NODES="1")["calls"]["Allreduce"]
    small = 2 + 2  # those of the smaller sums
    assert two["messages"] - small == 2 * (one["messages"] - small)
    assert two["message_bytes"] == one["message_bytes"]


@pytest.mark.parametrize("mpi", MAIN, ids=lambda mpi: mpi.name)
def test_forced(cluster: Cluster, mpi: Mpi, tmp_path: Path) -> None:
    """What one rank says holds for all; halves take two messages, whatever the size."""
    words = changed_on("3", "export TUTTI_ALLREDUCE=halving")
    written = report(cluster, mpi, tmp_path, words, TUTTI_NODES="1", TUTTI_LEADERS="1")
    row = written["calls"]["Allreduce"]
    assert (row["left"], row["messages"]) == (0, 2 * 2 * len(COUNTS))


@pytest.mark.parametrize("nodes", ["1", "auto"])
@pytest.mark.parametrize("mpi", MAIN, ids=lambda mpi: mpi.name)
def test_left_to_the_mpi(cluster: Cluster, mpi: Mpi, nodes: str, tmp_path: Path) -> None:
    """As one rank of another node says; that on a node where none does is still served."""
    words = changed_on("3", "export TUTTI_ALLREDUCE=mpi")
    written = report(cluster, mpi, tmp_path, words, TUTTI_NODES=nodes, TUTTI_ALLREDUCE="ring")
    row = written["calls"]["Allreduce"]
    assert (row["left"], row["taken"]) == (len(COUNTS), 1) and not row.get("messages")
    # With auto they need not meet for calls that are left.
    why = BY_OPTION if nodes == "1" else NOT_MET
    assert row["reasons"] == {why: len(COUNTS)}
