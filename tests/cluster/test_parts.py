# SPDX-License-Identifier: BSD-3-Clause
"""Long messages between hosts, in parts or as one (TUTTI_MESSAGE)."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from cases import CYCLIC, SHORT, UNEQUAL, changed_on
from rig.cluster import Cluster
from rig.mpis import MAIN, Mpi
from rig.spanning import ALONE, variables

mpis = pytest.mark.parametrize("mpi", MAIN, ids=lambda mpi: mpi.name)
CHOSEN = re.compile(
    r"messages of (\d+) KiB between nodes go (in parts|as one): .* take [\d.]+ times"
)


def output(cluster: Cluster, mpi: Mpi, layout: object, words: list[str], **options: str) -> str:
    result = cluster.run(mpi, layout, words, variables(mpi, **options), limit_s=60)
    assert result.code == 0, result.output[-3000:]
    return result.output


@mpis
def test_results(cluster: Cluster, mpi: Mpi) -> None:
    """What one side cuts in parts the other one receives in the same parts; rank 0 decides."""
    words = changed_on("1|2|3|4|5", "export TUTTI_MESSAGE=1M")
    words += [str(mpi.compile("../cluster/packed.cc"))]
    assert "packed: 0 wrong" in output(cluster, mpi, UNEQUAL, words, TUTTI_MESSAGE="1000")


@mpis
def test_measured(cluster: Cluster, mpi: Mpi) -> None:
    """Which is faster is found out once, by the first communicator that meets."""
    words = [str(mpi.compile("../cluster/turns.cc")), "3"]  # on two communicators
    found = output(cluster, mpi, SHORT, words, TUTTI_LOG="info")
    # Longer ones are tried where these go as one.
    lengths = {"in parts": ["128"], "as one": ["128", "512"]}
    tried = CHOSEN.findall(found)
    assert tried and [length for length, _ in tried] == lengths[tried[0][1]], found[-3000:]
    told = output(cluster, mpi, SHORT, words, TUTTI_LOG="info", TUTTI_MESSAGE="48K")
    assert not CHOSEN.findall(told), told[-3000:]


@mpis
@pytest.mark.parametrize(("message", "calls"), [("16K", []), ("1G", []), ("16K", ["gather"])])
def test_none_runs_ahead(cluster: Cluster, mpi: Mpi, message: str, calls: list[str]) -> None:
    """A rank that is late need not keep all that others send: 100 MiB would come, or 64."""
    if calls and mpi.name == "impi":
        pytest.skip("Intel MPI itself lets all of a long message come early, without Tutti too")
    words = [str(mpi.compile("../cluster/ahead.cc")), *calls]
    # With huge pages a few bytes more may be 2 MiB.
    options = {"TUTTI_MESSAGE": message, "TUTTI_COMMONS_HUGE": "0"}
    found = output(cluster, mpi, ALONE, words, **options)
    grown, wrong = map(int, re.findall(r"grown: (-?\d+) KiB, (\d+) wrong", found)[0])
    assert grown < 8 * 1024 and wrong == 0, found


def assert_noticed(
    cluster: Cluster, mpi: Mpi, layout: object, said: Path, lengths: list[int], **options: str
) -> None:
    """An error if what is sent is not as long as what is awaited, and none otherwise."""
    words = [str(mpi.compile("../cluster/lengths.cc")), str(said), *map(str, lengths)]
    found = cluster.run(mpi, layout, words, variables(mpi, **options), limit_s=15)
    assert said.exists(), found.output[-2000:]
    sent, room, *_ = lengths
    assert said.read_text() == ("error" if sent != room else "none"), found.output[-2000:]


@mpis
@pytest.mark.parametrize(("sent", "room"), [(96, 48), (48, 96), (96, 96), (48, 48)])
def test_another_length(cluster: Cluster, mpi: Mpi, tmp_path: Path, sent: int, room: int) -> None:
    """A message whose length is not the one that is awaited is an error, wherever it is cut."""
    said = tmp_path / "said"
    assert_noticed(cluster, mpi, ALONE, said, [sent, room], TUTTI_MESSAGE="48K")


@mpis
@pytest.mark.parametrize(("sent", "room"), [(256, 1024), (1024, 256), (512, 1024), (512, 512)])
@pytest.mark.parametrize("root", [0, 3])
def test_another_way(
    cluster: Cluster, mpi: Mpi, tmp_path: Path, sent: int, room: int, root: int
) -> None:
    """So where one side lets its leader speak for it and the other one does not."""
    assert_noticed(cluster, mpi, CYCLIC, tmp_path / "said", [sent, room, root])
