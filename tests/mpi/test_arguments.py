# SPDX-License-Identifier: BSD-3-Clause
"""Wrong arguments: what the MPI checks, the program is told, and nothing else is an error."""

from __future__ import annotations

import pytest
from rig.mpis import INTEL, MAIN, Mpi


def errors(mpi: Mpi, tutti: dict[str, str] | None) -> list[str]:
    # On Intel MPI who has begun what the root refuses may wait for ever.
    arguments = ["no roots"] if mpi is INTEL else []
    result = mpi.run(2, [str(mpi.compile("arguments.cc")), *arguments], tutti)
    assert result.returncode == 0, result.stdout
    return sorted(line for line in result.stdout.split("\n") if line.startswith("rank"))


@pytest.mark.parametrize("mpi", MAIN, ids=lambda mpi: mpi.name)
def test_errors_are_those_of_the_mpi(mpi: Mpi) -> None:
    bare = errors(mpi, None)
    assert len(bare) > 100
    assert any(not line.endswith(": 0") for line in bare)
    assert errors(mpi, {}) == bare
