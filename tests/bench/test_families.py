# SPDX-License-Identifier: BSD-3-Clause
"""The handles that the library and tutti-bench know (src/mpi/handles.cc) against the headers of
the MPIs themselves."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from conftest import MPIS, ROOT

WORLD = "MPI_COMM_WORLD"  # tutti-bench's own row
NO_TYPE = "0x0c000000"  # MPI_DATATYPE_NULL, what Intel's header has for types it lacks


def rows() -> dict[str, tuple[str, int, int]]:
    """name -> (Open MPI's symbol, MPICH's value, the standard ABI's)."""
    triple = r'"(ompi_\w+)", (0x[0-9a-f]+), (0x[0-9a-f]+)'
    table = (ROOT / "src/mpi/handles.cc").read_text()
    found = re.findall(r'\{"(MPI_\w+)", ' + triple, table)
    bench = (ROOT / "bench/tutti_bench/mpi.cc").read_text()
    found += [(WORLD, *row) for row in re.findall(r"comm_world = \{" + triple, bench)]
    return {name: (symbol, int(mpich, 16), int(abi, 16)) for name, symbol, mpich, abi in found}


def bench_names() -> list[str]:
    return re.findall(r'"(MPI_\w+)"', (ROOT / "bench/tutti_bench/names.h").read_text())


def values(include: Path, tmp_path: Path, *options: str) -> dict[str, str]:
    """What the preprocessor makes of each name that the MPI has; the bench's are in all."""
    source = tmp_path / "names.c"
    lines = [f"row_{name} : {name}" for name in rows()]
    source.write_text("#include <mpi.h>\n" + "\n".join(lines) + "\n")
    words = ["gcc", "-E", "-P", f"-I{include}", *options, str(source)]
    text = subprocess.run(words, check=True, capture_output=True, text=True).stdout
    found = dict(re.findall(r"^row_(\w+) : (.*)$", text, re.MULTILINE))
    has = {name: text for name, text in found.items() if text != name and NO_TYPE not in text}
    assert has.keys() >= {*bench_names(), WORLD}
    return has


def known(real: dict[str, str]) -> list[tuple[str, tuple[str, int, int]]]:
    return [(name, row) for name, row in rows().items() if name in real]


def number(expansion: str) -> int:
    return int(re.findall(r"0x[0-9a-f]+|\d+", expansion)[-1], 0)


def test_no_row_is_overlooked() -> None:
    names = re.findall(r'"(MPI_\w+)"', (ROOT / "src/mpi/handles.cc").read_text())
    assert len(names) > 70
    assert rows().keys() == {*names, *bench_names(), WORLD}


def test_open_mpi(tmp_path) -> None:
    real = values(MPIS["openmpi"].folder / "include", tmp_path)
    for name, (symbol, _, _) in known(real):
        assert f"({symbol})" in real[name], name


@pytest.mark.parametrize("mpi", ["mpich", "impi"])
def test_mpich_family(mpi, tmp_path) -> None:
    real = values(MPIS[mpi].folder / "include", tmp_path)
    for name, (_, value, _) in known(real):
        assert number(real[name]) == value, name


def test_standard_abi(tmp_path) -> None:
    real = values(MPIS["mpich"].folder / "include", tmp_path, "-DMPI_ABI")
    for name, (_, _, value) in known(real):
        assert number(real[name]) == value, name
