# SPDX-License-Identifier: BSD-3-Clause
"""Datatypes as layouts, beside the packing of each MPI. No library is preloaded or needed."""

from __future__ import annotations

from pathlib import Path

import pytest
from rig.mpis import MAIN, OTHERS, PROGRAMS, ROOT, Mpi, built

SRC = ROOT / "src"
PARTS = ROOT / "build/release/tests/libtutti_layouts.a"


def build(mpi: Mpi) -> Path:
    """Compile layouts.cc and link what it uses of Tutti, unless that was done already."""
    path = Path(__file__).with_name("layouts.cc")

    def compile_and_link(program: Path) -> None:
        words = ["-O1", "-g1", "-std=c++20", "-D_GNU_SOURCE", "-pthread", f"-I{SRC}"]
        mpi.run_compiler(*words, str(path), "-o", str(program), str(PARTS), "-ldl")

    sources = [path, PARTS, *path.parent.glob("*.h"), *SRC.rglob("*.h")]
    return built(PROGRAMS / mpi.name / "layouts", sources, compile_and_link)


@pytest.fixture(scope="module", params=MAIN + OTHERS, ids=lambda mpi: mpi.name)
def program(request) -> tuple[Mpi, Path]:
    return request.param, build(request.param)


@pytest.mark.parametrize("what", ["random", "predefined", "bottom", "life", "threads"])
def test_layouts(program: tuple[Mpi, Path], what: str) -> None:
    mpi, path = program
    result = mpi.run(1, [str(path), what])
    assert result.returncode == 0 and "layouts: 0 wrong" in result.stdout, result.stdout[-2000:]
