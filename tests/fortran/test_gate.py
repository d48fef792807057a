# SPDX-License-Identifier: BSD-3-Clause
"""What becomes of calls to PMPI_X: of Fortran bindings however loaded, and of everybody else."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path

import pytest
from bindings import ALL, Bindings
from mpis import DEBIAN_MPICH, DEBIAN_OPENMPI, LIBRARY, MAIN, PROGRAMS, Mpi

HERE = Path(__file__).parent
PROGRAM = HERE / "collectives.F90"
DEBIAN = [each for each in ALL if each.mpi in (DEBIAN_OPENMPI, DEBIAN_MPICH)]

debian_bindings = pytest.mark.parametrize("bindings", DEBIAN, ids=lambda each: each.mpi.name)


def taken(report: Path) -> dict[str, int]:
    return {row["collective"]: row["taken"] for row in json.loads(report.read_text())["calls"]}


def test_every_function_has_its_gate() -> None:
    """A collective without a row in src/mpi/gate.cc would be none for Fortran on Open MPI."""
    names = subprocess.run(["nm", "-D", str(LIBRARY)], capture_output=True, text=True).stdout
    exported = set(re.findall(r" T (P?MPI_\w+)", names))
    taken_over = {name for name in exported if name.startswith("MPI_") and not name.endswith("_c")}
    assert "MPI_Bcast" in taken_over
    assert {name for name in exported if name.startswith("PMPI_")} == {f"P{n}" for n in taken_over}


@debian_bindings
def test_bindings_opened_at_run_time(bindings: Bindings, tmp_path) -> None:
    """All of MPI comes by dlopen and is local, so nothing is found in the link order. The search by
    name must not find Tutti itself.
    """
    library = tmp_path / "mpi" / LIBRARY.name
    library.parent.mkdir()
    library.symlink_to(LIBRARY)
    module = bindings.compile(PROGRAM, "mpi_f08", "-module", "-shared", "-fPIC")
    loader = PROGRAMS / bindings.mpi.name / "loader"
    subprocess.run(["cc", str(HERE / "loader.c"), "-o", str(loader), "-ldl"], check=True)
    report = tmp_path / "report.json"
    tutti = {"LD_PRELOAD": str(library), "TUTTI_REPORT": str(report)}
    result = bindings.mpi.run(2, [str(loader), str(module)], tutti)
    assert result.returncode == 0 and "fortran: 0 wrong" in result.stdout, result.stdout[-2000:]
    assert taken(report)["Barrier"] == 2


@debian_bindings
def test_linked_instead_of_preloaded(bindings: Bindings, tmp_path) -> None:
    link = ["-Wl,--no-as-needed", str(LIBRARY), f"-Wl,-rpath,{LIBRARY.parent}"]
    program = bindings.compile(PROGRAM, "mpi_f08", "-linked", *link)
    report = tmp_path / "report.json"
    result = subprocess.run(
        [bindings.mpi.mpirun, "-n", "2", str(program)],
        env=os.environ | bindings.mpi.environment | {"TUTTI_REPORT": str(report)},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert result.returncode == 0 and "fortran: 0 wrong" in result.stdout, result.stdout
    assert taken(report)["Barrier"] == 2


@pytest.mark.parametrize("mpi", [*MAIN, DEBIAN_OPENMPI, DEBIAN_MPICH], ids=lambda mpi: mpi.name)
def test_a_profiler_reaches_the_mpi(mpi: Mpi, tmp_path) -> None:
    profiler = PROGRAMS / mpi.name / "libprofiler.so"
    profiler.parent.mkdir(parents=True, exist_ok=True)
    build = [
        mpi.cxx,
        "-x",
        "c++",
        "-shared",
        "-fPIC",
        str(HERE / "profiler.c"),
        "-o",
        str(profiler),
    ]
    subprocess.run(build, check=True, env=os.environ | mpi.environment)
    report = tmp_path / "report.json"
    both = {"LD_PRELOAD": f"{profiler}:{LIBRARY}", "TUTTI_REPORT": str(report)}
    result = mpi.run(2, [str(mpi.compile("life.cc")), "communicators"], both)
    assert result.returncode == 0 and "life: 0 wrong" in result.stdout, result.stdout[-2000:]
    assert len(re.findall(r"profiler: \d+ calls", result.stdout)) == 2
    assert "Allreduce" not in taken(report)
