# SPDX-License-Identifier: BSD-3-Clause
"""ScaLAPACK's test programs find the same under Tutti as bare."""

from __future__ import annotations

import pytest
from rig.mpis import DEBIAN_MPICH, DEBIAN_OPENMPI, Mpi
from rig.peak import Peak
from scalapack import PROGRAMS, run


def cases() -> list:
    found = []
    for mpi in (DEBIAN_OPENMPI, DEBIAN_MPICH):
        for ranks in (2, 4):
            for program in PROGRAMS:
                quick = ranks == 2 and program in PROGRAMS[:2]
                if mpi is DEBIAN_MPICH and ranks == 4 and program not in PROGRAMS[:2]:
                    continue  # each takes many minutes, bare
                marks = [] if quick else [pytest.mark.whole]
                name = f"{mpi.name}-{ranks}-{program}"
                found.append(pytest.param(mpi, ranks, program, marks=marks, id=name))
    return found


@pytest.mark.parametrize(("mpi", "ranks", "program"), cases())
def test_scalapack(mpi: Mpi, ranks: int, program: str, say, tmp_path) -> None:
    held = Peak(), Peak()
    theirs, bare = run(mpi, ranks, program, False, tmp_path, held[False])
    mine, ours = run(mpi, ranks, program, True, tmp_path, held[True])
    say(f"{ours.seconds:.1f} s, bare {bare.seconds:.1f} s; {ours.summary()}")
    say("; ".join(" ".join(line.split()) for line in mine))
    assert mine == theirs
    assert ours.taken() > 10
    say(held[True].check(held[False], ranks))
