# SPDX-License-Identifier: BSD-3-Clause
"""Datatypes as layouts, beside the packing of each MPI. No library is preloaded or needed."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from mpis import MAIN, OTHERS, PROGRAMS, ROOT, Mpi, up_to_date

SRC = ROOT / "src"
PARTS = ROOT / "build/release/tests/libtutti_layouts.a"


def build(mpi: Mpi) -> Path:
    """Compile layouts.cc and link what it uses of Tutti, unless that was done already."""
    path = Path(__file__).with_name("layouts.cc")
    program = PROGRAMS / mpi.name / "layouts"
    if not up_to_date(program, [path, PARTS, *path.parent.glob("*.h"), *SRC.rglob("*.h")]):
        program.parent.mkdir(parents=True, exist_ok=True)
        command = [mpi.cxx, "-O1", "-g1", "-std=c++20", "-D_GNU_SOURCE", "-pthread", f"-I{SRC}"]
        command += [str(path), "-o", str(program), str(PARTS), "-ldl"]
        subprocess.run(command, check=True, env=os.environ | mpi.environment)
    return program


@pytest.fixture(scope="module", params=MAIN + OTHERS, ids=lambda mpi: mpi.name)
def built(request) -> tuple[Mpi, Path]:
    return request.param, build(request.param)


@pytest.mark.parametrize("what", ["random", "predefined", "bottom", "life", "threads"])
def test_layouts(built: tuple[Mpi, Path], what: str) -> None:
    mpi, program = built
    result = mpi.run(1, [str(program), what])
    assert result.returncode == 0 and "layouts: 0 wrong" in result.stdout, result.stdout[-2000:]
