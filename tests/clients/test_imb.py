# SPDX-License-Identifier: BSD-3-Clause
"""Intel's MPI benchmarks, as they come ready-built, on Intel MPI and on MPICH (the same ABI).

These builds offer no check of results; tests/mpi does that. What is seen here is that a program
nobody here compiled ends well, and that its calls are taken over.
"""

from __future__ import annotations

import pytest
from imb import COLLECTIVES, NONBLOCKING, run, run_nbc
from rig.mpis import INTEL, MPICH, Mpi
from rig.peak import Peak

SIZES = [4, 1024, 65536, 1048576]


def cases() -> list:
    found = []
    for mpi in (INTEL, MPICH):
        for ranks in (2, 3, 4):
            quick = mpi is INTEL and ranks == 2
            marks = [] if quick else [pytest.mark.whole]
            found.append(pytest.param(mpi, ranks, marks=marks, id=f"{mpi.name}-{ranks}"))
    return found


@pytest.mark.parametrize(("mpi", "ranks"), cases())
def test_imb(mpi: Mpi, ranks: int, whole, say, tmp_path) -> None:
    held = Peak(), Peak()
    found, ours = run(mpi, ranks, True, tmp_path, sizes=SIZES, calls=20, peak=held[True])
    say(f"{ours.seconds:.0f} s; {ours.summary()}")
    assert set(found) == set(COLLECTIVES)
    assert all(count > 0 for count in found.values())
    for name, row in ours.calls.items():
        if name in COLLECTIVES:
            assert row["taken"] >= 20, f"{name}: {row}"
            assert row["taken"] > 0.9 * row["seen"] - 50, f"{name}: {row}"
    assert {"Bcast", "Reduce", "Allreduce", "Barrier"} <= ours.calls.keys()
    if whole and ranks == 2:
        bare, _ = run(mpi, ranks, False, tmp_path, sizes=SIZES, calls=20, peak=held[False])
        assert bare.keys() == found.keys()
        say(held[True].check(held[False], ranks))


@pytest.mark.parametrize("mpi", [INTEL, MPICH], ids=lambda mpi: mpi.name)
def test_imb_nbc(mpi: Mpi, say, tmp_path) -> None:
    found, ours = run_nbc(mpi, 2, tmp_path, sizes=SIZES[:3], calls=20)
    say(f"{ours.seconds:.0f} s; {ours.summary()}")
    assert set(found) == set(NONBLOCKING) and all(found.values()), found
    for name in NONBLOCKING:
        row = ours.calls[name]
        # Each length is done pure and overlapped; what moves no byte is not counted.
        assert row["taken"] >= 2 * 20, f"{name}: {row}"
        assert row["taken"] == row["seen"], f"{name}: {row}"
