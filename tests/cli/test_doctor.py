# SPDX-License-Identifier: BSD-3-Clause
"""`tutti doctor`: exact output for a made-up machine, and the real one."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

from machines import CHECKS, EXAMPLE, MACHINE

WAYS_SAID = """\
no   CMA                      denied -> allow it
yes  commons                  works
"""


def test_a_made_up_machine(tutti, stand_in, home, tmp_path):
    mpi = stand_in("mpich")
    shutil.copy("/bin/true", mpi.prefix / "bin")
    result = tutti("doctor", TUTTI_HOME=str(home), PATH=f"{mpi.prefix}/bin")
    said = f"{EXAMPLE}\n{CHECKS}{WAYS_SAID}"
    expected = said.format(library=f"{home}/lib/libtutti.so", launcher=mpi.launcher)
    assert (result.code, result.err) == (0, "")
    assert [line.rstrip() for line in result.out.splitlines()] == expected.splitlines()


def test_no_mpi_and_a_broken_library(tutti, home, tmp_path):
    (home / "lib" / "libtutti.so").write_text("no library")
    tools = tmp_path / "tools"
    tools.mkdir()
    shutil.copy("/bin/true", tools)
    result = tutti("doctor", TUTTI_HOME=str(home), PATH=str(tools))
    assert result.code == 0
    assert "no   Tutti                    ERROR: ld.so: object" in result.out
    assert "no   MPI                      no mpirun or mpiexec of Open MPI, MPICH or" in result.out
    assert "-> install one (Debian: `apt install openmpi-bin`" in result.out


def test_this_machine(tutti, real_mpi):
    launcher = Path(real_mpi.launcher)
    result = tutti("doctor", PATH=f"{launcher.parent}{os.pathsep}{os.environ['PATH']}")
    assert (result.code, result.err) == (0, "")
    lines = result.out.splitlines()[1:]
    assert all(line.startswith(("yes  ", "no   ")) for line in lines)
    assert any(f"MPI                           {real_mpi.family}" in line for line in lines)
    for title in ("Tutti", "commons", "CMA", "XPMEM", "KNEM", "ptrace scope", "huge pages"):
        assert sum(line[5:].startswith(title) for line in lines) == 1


def test_a_probe_that_fails(tutti, home):
    (home / "bin" / "tutti-probe").write_text("#!/bin/sh\necho broken >&2\nexit 3\n")
    result = tutti("doctor", TUTTI_HOME=str(home))
    assert result.code == 5
    assert result.err == f"tutti: {home}/bin/tutti-probe machine failed: broken\n"


def test_json(tutti, stand_in, home, tmp_path):
    mpi = stand_in("mpich")
    words = ["doctor", "--mpi", mpi.launcher, "--json"]
    result = tutti(*words, "-", TUTTI_HOME=str(home))
    assert (result.code, result.err) == (0, "")
    said = json.loads(result.out)
    assert said["machine"] == MACHINE
    assert {row["title"]: row["good"] for row in said["checks"]} == {
        "Tutti": True,
        "MPI": True,
        "all cores": False,
        "cgroup: no CPU limit": False,
        "cgroup: no memory limit": False,
        "CMA": False,
        "commons": True,
    }
    file = tmp_path / "said.json"
    assert "yes  Tutti" in tutti(*words, str(file), TUTTI_HOME=str(home)).out
    assert json.loads(file.read_text()) == said


def test_an_mpi_that_is_not_there(tutti, home):
    result = tutti("doctor", "--mpi", "/no/mpi", TUTTI_HOME=str(home))
    assert result.code == 0
    assert "no   MPI                      /no/mpi is neither an MPI launcher nor" in result.out
