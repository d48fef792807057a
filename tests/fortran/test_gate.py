# SPDX-License-Identifier: BSD-3-Clause
"""PMPI_X as Fortran bindings call it, however they are loaded."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path

import pytest
from bindings import ALL, Bindings
from rig.mpis import DEBIAN_MPICH, DEBIAN_OPENMPI, LIBRARY

HERE = Path(__file__).parent
PROGRAM = HERE / "collectives.F90"
DEBIAN = [each for each in ALL if each.mpi in (DEBIAN_OPENMPI, DEBIAN_MPICH)]

debian_bindings = pytest.mark.parametrize("bindings", DEBIAN, ids=lambda each: each.mpi.name)


def taken(report: Path) -> dict[str, int]:
    return {row["collective"]: row["taken"] for row in json.loads(report.read_text())["calls"]}


def test_every_function_has_both_names() -> None:
    """A collective without PMPI_X would be none for tools, and for Fortran on Open MPI."""
    names = subprocess.run(["nm", "-D", str(LIBRARY)], capture_output=True, text=True).stdout
    exported = set(re.findall(r" T (P?MPIX?_\w+)", names))
    taken_over = {name for name in exported if name.startswith("MPI")}
    assert {"MPI_Bcast", "MPI_Ibcast_c", "MPIX_Comm_revoke"} < taken_over
    assert exported - taken_over == {f"P{name}" for name in taken_over}


@debian_bindings
def test_bindings_opened_at_run_time(bindings: Bindings, tmp_path) -> None:
    """All of MPI comes by dlopen and is local, so nothing is found in the link order. The search by
    name must not find Tutti itself.
    """
    library = tmp_path / "mpi" / LIBRARY.name
    library.parent.mkdir()
    library.symlink_to(LIBRARY)
    module = bindings.compile(PROGRAM, "mpi_f08", "-module", "-shared", "-fPIC")
    loader = tmp_path / "loader"
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
