# SPDX-License-Identifier: BSD-3-Clause
"""Tools that wrap Fortran names, C names or both, with Fortran programs."""

from __future__ import annotations

import pytest
from bindings import ALL, Bindings
from rig.mpis import LIBRARY, MAIN
from test_fortran import PROGRAM
from tools import Compared, make

# The program calls these until all is done.
POLLED = "test|get_status|waitsome"
BINDINGS = [each for each in ALL if each.mpi in MAIN]


@pytest.mark.parametrize("style", ["mpif.h", "mpi_f08"])
@pytest.mark.parametrize("bindings", BINDINGS, ids=lambda bindings: bindings.mpi.name)
def test_fortran(bindings: Bindings, style: str, tmp_path) -> None:
    if style in bindings.absent:
        pytest.skip(bindings.absent[style])
    mpi, program = bindings.ready, bindings.compile(PROGRAM, style)
    calling = make(mpi, program, "both", "pmpi", "calls")
    compared = Compared(mpi, [str(program)], calling, tmp_path, POLLED)
    assert any(name.startswith("mpi_") for name in compared.bare["counts.0"])
    compared.same([LIBRARY, calling])
    if style == "mpif.h":
        compared.same([make(mpi, program, "both", "next", "jumps"), LIBRARY])
        only = make(mpi, program, "fortran", "pmpi", "jumps")
        compared.compare_with(only)
        compared.same([LIBRARY, only])
