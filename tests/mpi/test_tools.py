# SPDX-License-Identifier: BSD-3-Clause
"""A tool counts under Tutti what it counts without, wherever it is, and Tutti takes what it did."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from rig.mpis import LIBRARY, MAIN, OPENMPI, PROGRAMS, Mpi, built, run_job
from tools import Compared, make

HERE = Path(__file__).parent
PYTHON = [sys.executable, str(HERE / "tooled.py")]

every_mpi = pytest.mark.parametrize("mpi", MAIN, ids=lambda mpi: mpi.name)


def program(mpi: Mpi) -> Path:
    return mpi.compile("tooled.cc", "-rdynamic")


@every_mpi
def test_c(mpi: Mpi, tmp_path) -> None:
    plain = program(mpi)
    calling = make(mpi, plain, "c", "pmpi", "calls")
    jumping = make(mpi, plain, "c", "pmpi", "jumps")
    next_of = make(mpi, plain, "c", "next", "calls")
    jumps_to_next = make(mpi, plain, "c", "next", "jumps")
    compared = Compared(mpi, [str(plain)], calling, tmp_path)
    compared.same([calling, LIBRARY])
    compared.same([LIBRARY, jumping])
    compared.same([jumps_to_next, LIBRARY])
    compared.same([LIBRARY, next_of])
    compared.unseen(str(jumping), "local")
    compared.unseen(str(calling), "global")


def linked(mpi: Mpi, tool: Path) -> Path:
    """The program with a tool linked in, before the MPI."""

    def link(program: Path) -> None:
        words = ["-O1", "-std=c++17", str(HERE / "tooled.cc"), str(tool), "-o", str(program)]
        mpi.run_compiler(*words, f"-Wl,-rpath,{tool.parent}", "-ldl")

    path = PROGRAMS / mpi.name / f"tooled-with-{tool.name}"
    return built(path, [HERE / "tooled.cc", tool], link)


@every_mpi
def test_linked(mpi: Mpi, tmp_path) -> None:
    plain = program(mpi)
    tool = make(mpi, plain, "c", "pmpi", "calls")
    compared = Compared(mpi, [str(plain)], tool, tmp_path)
    inside = make(mpi, plain, "c", "pmpi", "calls", shared=False)
    for by in (inside, tool, make(mpi, plain, "c", "next", "jumps")):
        compared.same([LIBRARY], command=[str(linked(mpi, by))])


@every_mpi
def test_python(mpi: Mpi, tmp_path) -> None:
    plain = program(mpi)
    calling = make(mpi, plain, "c", "pmpi", "calls")
    jumps_to_next = make(mpi, plain, "c", "next", "jumps")
    # Where it finds no MPI_X_c, mpi4py asks how many counts there are to make smaller.
    of_its_own = "MPI_Comm_(size|test_inter)" if mpi is OPENMPI else "$^"
    compared = Compared(mpi, PYTHON, calling, tmp_path, of_its_own)
    compared.same([LIBRARY, calling])
    compared.same([jumps_to_next, LIBRARY])
    compared.same([LIBRARY], str(calling), "first")
    compared.unseen(str(calling), "last")


@every_mpi
def test_on_one_rank(mpi: Mpi, tmp_path) -> None:
    """Who takes a call is the same on all ranks, whether a tool stands between or not."""
    plain = program(mpi)
    tool = make(mpi, plain, "c", "next", "calls")
    words = ["-n", "1", "env", f"--chdir={tmp_path}", f"LD_PRELOAD={LIBRARY}:{tool}", str(plain)]
    words += [":", "-n", "1", "env", f"--chdir={tmp_path}", f"LD_PRELOAD={LIBRARY}", str(plain)]
    environment = os.environ | mpi.environment | {"TOOL_COUNTS": str(tmp_path / "counts")}
    result = run_job([mpi.mpirun, *words], environment, timeout_s=60)
    assert result.returncode == 0 and "tooled: 0 wrong" in result.stdout, result.stdout[-3000:]
    assert [each.name for each in tmp_path.iterdir()] == ["counts.0"]


@pytest.mark.parametrize("first", ["tutti", "wrapper"])
def test_what_is_not_of_mpi_is_libcs(first: str, tmp_path) -> None:
    wrapper, next_of = tmp_path / "wrapper.so", tmp_path / "next"
    shared = ["-shared", "-fPIC", "-DWRAPPER", "-o", str(wrapper)]
    for options in (shared, ["-o", str(next_of)]):
        subprocess.run(["cc", "-O1", str(HERE / "next.c"), *options, "-ldl"], check=True)
    preload = [LIBRARY, wrapper] if first == "tutti" else [wrapper, LIBRARY]
    environment = os.environ | {"LD_PRELOAD": ":".join(map(str, preload))}
    result = run_job([str(next_of)], environment, timeout_s=20)
    assert result.stdout == "next: 0 wrong\n" and result.returncode == 0, result.stdout
