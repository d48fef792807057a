# SPDX-License-Identifier: BSD-3-Clause
"""What programs seldom do, and MPI allows."""

from __future__ import annotations

import pytest
from rig.mpis import MAIN, OPENMPI, Mpi


@pytest.mark.parametrize("mpi", MAIN, ids=lambda mpi: mpi.name)
def test_small_print(mpi: Mpi) -> None:
    ranks = 2
    wrong = "in place" if mpi is OPENMPI else "null"  # the other would crash in the MPI
    result = mpi.run(ranks, [str(mpi.compile("small_print.cc")), wrong], {})
    assert result.returncode == 0, result.stdout[-3000:]
    assert result.stdout.count("small_print: 0 wrong") == ranks, result.stdout
