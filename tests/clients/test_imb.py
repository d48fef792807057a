# SPDX-License-Identifier: BSD-3-Clause
"""Intel's MPI benchmarks, as they come ready-built, on Intel MPI and on MPICH (the same ABI).

These builds offer no check of results; tests/mpi does that. What is seen here is that a program
nobody here compiled ends well, and that its calls are taken over.
"""

from __future__ import annotations

import re

import pytest
from rig import ROOT
from rig.jobs import start
from rig.mpis import INTEL, MPICH, Mpi
from rig.peak import Peak

IMB = ROOT / ".mpi" / "impi" / "bin" / "IMB-MPI1"
ROOTED = ["Bcast", "Reduce", "Gather", "Gatherv", "Scatter", "Scatterv"]
ALL = ["Allreduce", "Allgather", "Allgatherv", "Alltoall", "Alltoallv", "Barrier"]
COLLECTIVES = [*ROOTED, *ALL, "Reduce_scatter", "Reduce_scatter_block"]
IMB_NBC = IMB.with_name("IMB-NBC")
NONBLOCKING = ["Ibcast", "Ireduce", "Iallreduce", "Igather", "Igatherv", "Iscatter", "Iscatterv",
               "Iallgather", "Iallgatherv", "Ialltoall", "Ialltoallv", "Ireduce_scatter",
               "Ibarrier"]  # fmt: skip
SIZES = [4, 1024, 65536, 1048576]


def run(mpi: Mpi, ranks: int, tutti: bool, tmp_path, peak: Peak | None = None):
    sizes = ",".join(map(str, SIZES))
    options = ["-npmin", str(ranks), "-msgsize", sizes, "-iter", "20", "-time", "1", "-imb_barrier"]
    # A barrier of IMB's own between the samples, so that the counts are of what is measured.
    command = [str(IMB), *options, "on", *COLLECTIVES]
    result = start(mpi, ranks, command, tutti=tutti, limit_s=300, cwd=tmp_path, peak=peak)
    assert result.code == 0, result.output[-3000:]
    return rows(result.output), result


def rows(output: str) -> dict[str, int]:
    """How many each benchmark printed."""
    assert "All processes entering MPI_Finalize" in output
    tables = re.split(r"# Benchmarking (\w+)", output)[1:]
    found = {}
    for name, table in zip(tables[::2], tables[1::2]):
        found[name] = len(re.findall(r"^ +\d+ .*\d$", table, re.MULTILINE))
    return found


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
    found, ours = run(mpi, ranks, True, tmp_path, held[True])
    say(f"{ours.seconds:.0f} s; {ours.summary()}")
    assert set(found) == set(COLLECTIVES)
    assert all(count > 0 for count in found.values())
    for name, row in ours.calls.items():
        if name in COLLECTIVES:
            assert row["taken"] >= 20, f"{name}: {row}"
            assert row["taken"] > 0.9 * row["seen"] - 50, f"{name}: {row}"
    assert {"Bcast", "Reduce", "Allreduce", "Barrier"} <= ours.calls.keys()
    if whole and ranks == 2:
        assert run(mpi, ranks, False, tmp_path, held[False])[0].keys() == found.keys()
        say(held[True].check(held[False], ranks))


@pytest.mark.parametrize("mpi", [INTEL, MPICH], ids=lambda mpi: mpi.name)
def test_imb_nbc(mpi: Mpi, say, tmp_path) -> None:
    lengths = tmp_path / "lengths"
    lengths.write_text("4\n1024\n65536\n")
    options = ["-npmin", "2", "-msglen", str(lengths), "-iter", "20", "-time", "2"]
    command = [str(IMB_NBC), *options, *NONBLOCKING]
    ours = start(mpi, 2, command, tutti=True, limit_s=200, cwd=tmp_path)
    assert ours.code == 0, ours.output[-3000:]
    say(f"{ours.seconds:.0f} s; {ours.summary()}")
    found = rows(ours.output)
    assert set(found) == set(NONBLOCKING) and all(found.values()), found
    for name in NONBLOCKING:
        row = ours.calls[name]
        # Each length is done pure and overlapped; what moves no byte is not counted.
        assert row["taken"] >= 2 * 20, f"{name}: {row}"
        assert row["taken"] == row["seen"], f"{name}: {row}"
