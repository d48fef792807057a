# SPDX-License-Identifier: BSD-3-Clause
"""Communicators of every origin: all collectives on them are right, and taken where they can be."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from rig.mpis import INTEL, LIBRARY, MAIN, OTHERS, Mpi

# What a rank's own communicator and what only the MPI can do leave.
APART = "its ranks were started apart"
ON_PURPOSE = {
    # Of one that is being freed nothing is known any more.
    "attributes": {"its members have not met on this communicator"},
    "merged": {"intercommunicator"},
    "spawned": {APART},
}


def comms(mpi: Mpi, what: str, ranks: int = 2, tutti: dict[str, str] | None = None) -> None:
    # Intel MPI may delete a duplicate on one rank later than on the others.
    later = ["later"] if what == "attributes" and mpi is INTEL else []
    result = mpi.run(ranks, [str(mpi.compile("comms.cc")), what, *later], tutti)
    assert result.returncode == 0 and "comms: 0 wrong" in result.stdout, result.stdout[-3000:]


def calls_of(report) -> list[dict]:
    return json.loads(report.read_text())["calls"]


# On Intel MPI the function of an attribute may be called on one rank later than on the others.
@pytest.mark.parametrize("mpi", [mpi for mpi in MAIN if mpi is not INTEL], ids=lambda mpi: mpi.name)
def test_collectives_of_what_is_freed(mpi: Mpi) -> None:
    comms(mpi, "freed", 4, {})


@pytest.mark.parametrize("what", ["plain", "topologies", "merged", "attributes", "pending"])
@pytest.mark.parametrize("mpi", MAIN + OTHERS, ids=lambda mpi: mpi.name)
def test_communicators(mpi: Mpi, what: str, tmp_path) -> None:
    report = tmp_path / "report.json"
    comms(mpi, what, tutti={"TUTTI_REPORT": str(report)})
    for row in calls_of(report):
        assert row["taken"] > 0
        assert set(row["reasons"]) <= ON_PURPOSE.get(what, set())


def spawning(mpi: Mpi) -> Mpi:
    return replace(mpi, environment=mpi.environment | {"I_MPI_SPAWN": "on"})


@pytest.fixture(scope="module")
def can_spawn():
    """Skips for an MPI that cannot start children here when it is bare."""
    known: dict[str, str] = {}

    def check(mpi: Mpi) -> None:
        if mpi.name not in known:
            result = spawning(mpi).run(3, [str(mpi.compile("comms.cc")), "spawned"])
            known[mpi.name] = "" if result.returncode == 0 else result.stdout.strip()[-300:]
        if known[mpi.name]:
            pytest.skip(f"the MPI alone: {known[mpi.name]}")

    return check


@pytest.mark.parametrize("children", ["bare", "under Tutti"])
@pytest.mark.parametrize("mpi", MAIN, ids=lambda mpi: mpi.name)
def test_spawned(mpi: Mpi, children: str, can_spawn, tmp_path) -> None:
    """Children may or may not have Tutti; what they share with their parents works either way."""
    can_spawn(mpi)
    report = tmp_path / "report.json"
    options = {"TUTTI_REPORT": str(report)}
    if children == "bare":
        comms(spawning(mpi), "spawned", 3, options)
        assert APART in calls_of(report)[0]["reasons"]
        return
    everywhere = mpi.environment | {"LD_PRELOAD": str(LIBRARY)} | options
    comms(spawning(replace(mpi, environment=everywhere)), "spawned", 3)
    assert json.loads(report.read_text())["ranks"] == 3  # and not that of the children
