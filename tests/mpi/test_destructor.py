# SPDX-License-Identifier: BSD-3-Clause
"""Collectives after main."""

from __future__ import annotations

import pytest
from rig.mpis import MAIN, Mpi


@pytest.mark.parametrize("mpi", MAIN, ids=lambda mpi: mpi.name)
def test_collectives_of_a_destructor(mpi: Mpi) -> None:
    result = mpi.run(2, [str(mpi.compile("destructor.cc"))], {})
    assert result.returncode == 0, result.stdout[-3000:]
    assert result.stdout.count("destructor: 0 wrong") == 2, result.stdout
