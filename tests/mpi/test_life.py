# SPDX-License-Identifier: BSD-3-Clause
"""Threads, communicators of every kind, memory, and a library that is linked, not preloaded."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest
from rig.mpis import LIBRARY, MAIN, OTHERS, Mpi

every_mpi = pytest.mark.parametrize("mpi", MAIN + OTHERS, ids=lambda mpi: mpi.name)


@every_mpi
@pytest.mark.parametrize("what", ["threads", "communicators", "memory", "bottom", "unseen"])
def test_life(mpi: Mpi, what: str, tmp_path) -> None:
    report = tmp_path / "report.json"
    result = mpi.run(2, [str(mpi.compile("life.cc")), what], {"TUTTI_REPORT": str(report)})
    assert result.returncode == 0 and "life: 0 wrong" in result.stdout, result.stdout[-2000:]
    if what != "unseen":
        calls = json.loads(report.read_text())["calls"]
        taken = {row["collective"]: row["taken"] for row in calls}
        assert taken["Bcast" if what == "bottom" else "Allreduce"] > 0
    if what == "communicators":
        reasons = next(row for row in calls if row["collective"] == "Allreduce")["reasons"]
        assert "intercommunicator" in reasons


@every_mpi
def test_switched_off_everything_goes_to_the_mpi(mpi: Mpi, tmp_path) -> None:
    report = tmp_path / "report.json"
    off = {"TUTTI_OFF": "1", "TUTTI_REPORT": str(report)}
    result = mpi.run(2, [str(mpi.compile("life.cc")), "communicators"], off)
    assert result.returncode == 0 and "life: 0 wrong" in result.stdout
    assert not report.exists()


@pytest.mark.parametrize("first", ["tool", "tutti"])
@pytest.mark.parametrize("mpi", MAIN, ids=lambda mpi: mpi.name)
def test_a_tool_begins_and_ends_with_the_program(mpi: Mpi, first: str, tmp_path) -> None:
    report = tmp_path / "report.json"
    tool = mpi.compile("life_tool.cc", "-shared", "-fPIC")
    preload = [str(tool), str(LIBRARY)] if first == "tool" else [str(LIBRARY), str(tool)]
    options = {"LD_PRELOAD": ":".join(preload), "TUTTI_REPORT": str(report)}
    result = mpi.run(2, [str(mpi.compile("life.cc")), "communicators"], options)
    assert result.returncode == 0 and "life: 0 wrong" in result.stdout, result.stdout[-2000:]
    assert result.stdout.count("the tool has begun") == 2
    assert result.stdout.count("the tool has ended") == 2
    taken = {row["collective"]: row["taken"] for row in json.loads(report.read_text())["calls"]}
    assert taken["Allreduce"] > 0


@pytest.mark.parametrize("mpi", MAIN, ids=lambda mpi: mpi.name)
def test_linked_instead_of_preloaded(mpi: Mpi, tmp_path) -> None:
    program = tmp_path / "life-linked"
    source = Path(__file__).with_name("life.cc")
    command = [mpi.cxx, "-O1", "-std=c++17", str(source)]
    command += ["-o", str(program), str(LIBRARY), f"-Wl,-rpath,{LIBRARY.parent}"]
    subprocess.run(command, check=True, env=os.environ | mpi.environment)
    report = tmp_path / "report.json"
    result = subprocess.run(
        [mpi.mpirun, "-n", "2", str(program), "communicators"],
        env=os.environ | mpi.environment | {"TUTTI_REPORT": str(report)},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert result.returncode == 0 and "life: 0 wrong" in result.stdout, result.stdout
    taken = {row["collective"]: row["taken"] for row in json.loads(report.read_text())["calls"]}
    assert taken["Allreduce"] > 0


@pytest.mark.parametrize("allocations", ["auto", "never"])
def test_descriptors_have_room_from_the_start(allocations: str) -> None:
    """With threads there, the kernel would make every process wait for all processors."""
    variables = {"LD_PRELOAD": str(LIBRARY), "TUTTI_COMMONS_MALLOC": allocations}
    words = ["grep", "FDSize", "/proc/self/status"]
    done = subprocess.run(words, env=os.environ | variables, capture_output=True, text=True)
    assert int(done.stdout.split()[1]) > 512
