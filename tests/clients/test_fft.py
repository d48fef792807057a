# SPDX-License-Identifier: BSD-3-Clause
"""mpi4py-fft: parallel Fourier transforms, whose data go round by Alltoallw with subarrays."""

from __future__ import annotations

import pytest
from clients import SOURCES, suite
from rig.mpis import MAIN, OPENMPI, Mpi
from rig.peak import Peak

TESTS = SOURCES / "mpi4py-fft" / "tests"
MODULES = ["test_pencil", "test_darray", "test_libfft", "test_mpifft"]


def cases() -> list:
    found = []
    for mpi in MAIN:
        for ranks in (2, 3, 4):
            quick = mpi is OPENMPI and ranks == 2
            marks = [] if quick else [pytest.mark.whole]
            found.append(pytest.param(mpi, ranks, marks=marks, id=f"{mpi.name}-{ranks}"))
    return found


@pytest.mark.parametrize(("mpi", "ranks"), cases())
def test_fft(mpi: Mpi, ranks: int, whole, say) -> None:
    # Transforms of every kind take minutes, and longer where ranks share cores.
    everything = whole and ranks == 2
    chosen = MODULES if everything else MODULES[:3]
    verdicts, held = {}, (Peak(), Peak())
    for tutti in (True, False) if whole else (True,):
        verdicts[tutti] = suite(
            mpi, ranks, TESTS, chosen, tutti=tutti, limits_s=(300, 400), peak=held[tutti]
        )
    ours = verdicts[True]
    say(f"{ours.run.seconds:.0f} s, {len(ours.ended)} tests; {ours.run.summary()}")
    bare = verdicts.get(False)
    assert ours.failed.keys() <= (bare.failed.keys() if bare else set()), ours.failed
    assert not ours.unfinished or (bare and bare.unfinished), ours.unfinished
    assert ours.run.code == 0 or (bare and bare.run.code), ours.run.output[-2000:]
    assert len(ours.ended) >= len(chosen)
    # Of what it calls, the collectives that Tutti knows; the short tests need none but Alltoallw.
    assert all(row["taken"] > 0 for row in ours.run.calls.values())
    assert ours.run.calls or not everything
    if bare:
        say(held[True].check(held[False], ranks))
