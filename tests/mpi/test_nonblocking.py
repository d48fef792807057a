# SPDX-License-Identifier: BSD-3-Clause
"""Nonblocking collectives: random ones, many at once, completed in every way, on every MPI."""

from __future__ import annotations

import json
import re
import shutil

import pytest
from rig.mpis import LIBRARY, MAIN, OPENMPI, OTHERS, Mpi
from test_conformance import RUNGS
from test_moves import COLLECTIVES

ALL = {"I" + name.lower() for name in COLLECTIVES | {"Barrier", "Bcast", "Reduce", "Allreduce"}}


def nonblocking(mpi: Mpi, ranks: int, options: dict[str, str], tmp_path, cases: int) -> None:
    report = tmp_path / "report.json"
    command = [str(mpi.compile("nonblocking.cc")), "--cases", str(cases)]
    if mpi.name == "debian-mpich":
        command += ["--in-place-reduce", "0", "--forget", "0"]
    result = mpi.run(ranks, command, {"TUTTI_REPORT": str(report), **options})
    found = re.search(r"nonblocking: (\d+) compared, (\d+) wrong", result.stdout)
    assert result.returncode == 0 and found, result.stdout[-3000:]
    assert int(found[1]) >= cases * ranks and int(found[2]) == 0, result.stdout[-3000:]
    calls = {row["collective"]: row for row in json.loads(report.read_text())["calls"]}
    for name in {name[0] + name[1:].lower() for name in ALL} & set(calls):
        assert calls[name]["taken"] > 0 and not calls[name]["reasons"]
    assert cases < 60 or len([name for name in calls if name.startswith("I")]) == 17


@pytest.mark.parametrize("mpi", MAIN, ids=lambda mpi: mpi.name)
def test_rounding(mpi: Mpi) -> None:
    result = mpi.run(2, [str(mpi.compile("rounding.cc"))], {})
    assert result.returncode == 0, result.stdout[-3000:]
    assert result.stdout.count("rounding: 0 wrong") == 2, result.stdout


@pytest.mark.alone
@pytest.mark.parametrize("rung", RUNGS)
@pytest.mark.parametrize("ranks", [1, 2, 3, 4])
@pytest.mark.parametrize("mpi", MAIN, ids=lambda mpi: mpi.name)
def test_nonblocking(mpi: Mpi, ranks: int, rung: str, tmp_path) -> None:
    crowd = 1 if ranks <= 2 or mpi is OPENMPI else 2 * mpi.sharing_slowness
    nonblocking(mpi, ranks, {"TUTTI_MEMORY": RUNGS[rung]}, tmp_path, 60 // crowd)


@pytest.mark.alone
@pytest.mark.parametrize("mpi", MAIN, ids=lambda mpi: mpi.name)
def test_without_a_thread(mpi: Mpi, tmp_path) -> None:
    nonblocking(mpi, 2, {"TUTTI_PROGRESS": "none"}, tmp_path, 60)


@pytest.mark.alone
@pytest.mark.parametrize("mpi", OTHERS, ids=lambda mpi: mpi.name)
def test_other_mpis(mpi: Mpi, tmp_path) -> None:
    nonblocking(mpi, 2, {}, tmp_path, 60)


@pytest.mark.parametrize("thread", ["auto", "none"])
@pytest.mark.parametrize(
    "what",
    [
        "freed_early",
        "profiled",
        "handled",
        "threaded",
        "mixed",
        "unseen",
        "unseen_by_one",
        "miscounted",
        "untyped",
        "failed_among_some",
        "failed_among_all",
        "failed_before_others",
        "among_persistent_ones",
        "truncated_among_all",
        "failed_on_a_freed_one",
        "failed_on_threads",
    ],
)
@pytest.mark.parametrize("mpi", MAIN, ids=lambda mpi: mpi.name)
def test_requests(mpi: Mpi, what: str, thread: str) -> None:
    command = [str(mpi.compile("requests.cc")), what]
    result = mpi.run(2, command, {"TUTTI_PROGRESS": thread})
    assert result.returncode == 0 and "requests: 0 wrong" in result.stdout, result.stdout[-3000:]


@pytest.mark.parametrize("mpi", MAIN, ids=lambda mpi: mpi.name)
def test_a_request_that_the_mpi_refuses_is_an_error(mpi: Mpi) -> None:
    refusing = mpi.compile("refusing.cc", "-shared", "-fPIC", "-Wl,--no-as-needed")
    command = [str(mpi.compile("requests.cc")), "refused"]
    result = mpi.run(2, command, {"LD_PRELOAD": f"{LIBRARY}:{refusing}"})
    assert result.returncode == 0 and "requests: 0 wrong" in result.stdout, result.stdout[-3000:]


# mpiP's library begins with libmpi, wraps what waits, and leaves the rest alone.
@pytest.mark.parametrize("name", ["libmpiP.so", "libtool.so"])
@pytest.mark.parametrize("mpi", MAIN, ids=lambda mpi: mpi.name)
def test_a_tool_that_wraps_what_waits(mpi: Mpi, name: str, tmp_path) -> None:
    tool = tmp_path / name
    shutil.copy(mpi.compile("waiting_tool.cc", "-shared", "-fPIC"), tool)
    command = [str(mpi.compile("requests.cc")), "mixed"]
    result = mpi.run(2, command, {"LD_PRELOAD": f"{tool}:{LIBRARY}"}, timeout_s=30)
    assert result.returncode == 0 and "requests: 0 wrong" in result.stdout, result.stdout[-3000:]
    assert "the tool has waited" in result.stdout
