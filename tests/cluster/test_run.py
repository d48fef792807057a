# SPDX-License-Identifier: BSD-3-Clause
"""`tutti run` on hosts, named or in a file: library and options reach the ranks of every one."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from rig.cluster import NAMES, Cluster
from rig.launchers import Layout, launch
from rig.mpis import MAIN, OPENMPI, Mpi

COMMAND = Path(sys.executable).parent / "tutti"
PLACING = {"--host", "-hosts", "-ppn", "--map-by", "-n"}


def rig_options(mpi: Mpi) -> list[str]:
    """What the launcher needs to know here, but for hosts and ranks."""
    words = launch(mpi, Layout((1,)), NAMES, [])[1:]
    pairs = zip(words, [*words[1:], ""], ["", *words])
    return [word for word, _, before in pairs if word not in PLACING and before not in PLACING]


def said_by(cluster: Cluster, mpi: Mpi, words: Sequence[str]) -> str:
    command = [str(COMMAND), "run", "--mpi", mpi.mpirun, *words, *rig_options(mpi), "--"]
    environment = {**os.environ, **mpi.environment, "TUTTI_NODES": "1"}
    program = str(mpi.compile("../cluster/sums.cc"))
    result = cluster.run_on(0, [*command, program], environment, limit_s=60)
    assert result.code == 0, result.output
    return result.output


def check_three(output: str) -> None:
    for line in (
        "rank 0 of 3 on tutti-a node 0:2, 0 wrong",
        "rank 1 of 3 on tutti-a node 0:2, 0 wrong",
        "rank 2 of 3 on tutti-b node 2:1, 0 wrong",
    ):
        assert line in output
    assert "3 ranks on 2 nodes" in output
    assert "left to the MPI" not in output
    assert "between nodes: Barrier 8 messages of 0 B in all" in output


@pytest.mark.parametrize("mpi", MAIN, ids=lambda mpi: mpi.name)
def test_hosts(cluster: Cluster, mpi: Mpi) -> None:
    check_three(said_by(cluster, mpi, ["-n", "3", "--hosts", "tutti-a,tutti-b"]))


@pytest.mark.parametrize("mpi", MAIN, ids=lambda mpi: mpi.name)
def test_a_file_of_hosts(cluster: Cluster, mpi: Mpi, tmp_path: Path) -> None:
    hosts = tmp_path / "hosts"
    hosts.write_text("tutti-a slots=2\ntutti-b:1\n")
    check_three(said_by(cluster, mpi, ["-n", "3", "--hostfile", str(hosts)]))


@pytest.mark.parametrize("mpi", MAIN, ids=lambda mpi: mpi.name)
def test_a_file_of_hosts_for_the_launcher(cluster: Cluster, mpi: Mpi, tmp_path: Path) -> None:
    hosts = tmp_path / "hosts"
    slots = " slots=" if mpi is OPENMPI else ":"
    hosts.write_text(f"tutti-a{slots}2\ntutti-b{slots}1\n")
    option = "-hostfile" if mpi is OPENMPI else "-f"
    check_three(said_by(cluster, mpi, ["-n", "3", option, str(hosts)]))
