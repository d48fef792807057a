# SPDX-License-Identifier: BSD-3-Clause
"""Ranks that mix up blocking and nonblocking collectives are told; ranks that do not are not."""

from __future__ import annotations

import re
import time

import pytest
from rig.mpis import MAIN, Mpi
from test_faults import last_words, nothing_is_left

every_mpi = pytest.mark.parametrize("mpi", MAIN, ids=lambda mpi: mpi.name)

# What is said of each mix-up of mixups.cc.
SAID = [
    r"rank [12] MPI_Ibcast, root 1 of 40 bytes, rank 0 MPI_Bcast, root 1 of 40 bytes",
    r"rank [12] MPI_Ibcast, root 0 of 80 bytes, rank 0 MPI_Bcast, root 0 of 80 bytes",
    r"rank [12] MPI_Ibcast, root 0 of 120 bytes, rank 0 MPI_Bcast, root 0 of 120 bytes",
    r"rank 0 MPI_Ibcast, root 1 of 160 bytes, rank [12] MPI_Bcast, root 1 of 160 bytes",
    r"rank [12] MPI_Iallreduce \(MPI_SUM\) of 200 bytes, rank 0 MPI_Allreduce \(MPI_SUM\) of 200",
    r"rank [12] MPI_Iallreduce \(MPI_SUM\) of 240000 bytes, rank 0 MPI_Allreduce \(MPI_SUM\) of 24",
    r"rank [12] MPI_Ibarrier, rank 0 MPI_Allreduce \(MPI_SUM\) of 280 bytes",
    r"rank \d MPI_(Bcast, root 0 of 320 bytes|Barrier), rank \d MPI_(Bcast|Barrier)",
    r"rank [12] MPI_Ibcast, root 0 of 360 bytes, rank 0 MPI_Barrier",
]


@every_mpi
@pytest.mark.parametrize(("ranks", "mixup"), [(2, 1), (3, 4)])
def test_a_mixup_ends_the_job(mpi: Mpi, ranks: int, mixup: int, tmp_path) -> None:
    report = tmp_path / "report.json"
    program = mpi.compile("mixups.cc")
    began = time.monotonic()
    result = mpi.run(
        ranks, [str(program), "fatal", str(mixup)], {"TUTTI_REPORT": str(report)}, timeout_s=60
    )
    assert time.monotonic() - began < 20
    nothing_is_left(program)
    assert result.returncode != 0
    said = last_words(report)
    assert re.search(f"of {ranks} ranks called different things: {SAID[mixup]}", said), said
    assert "blocking and nonblocking collectives do not match" in said


@every_mpi
@pytest.mark.parametrize(("ranks", "thread"), [(2, "none"), (3, "auto")])
def test_a_mixup_is_an_error_that_returns(mpi: Mpi, ranks: int, thread: str) -> None:
    command = [str(mpi.compile("mixups.cc")), "returned"]
    result = mpi.run(ranks, command, {"TUTTI_PROGRESS": thread}, timeout_s=60)
    assert result.returncode == 0 and "mixups: 0 wrong" in result.stdout, result.stdout
    for said in SAID:
        assert re.search(said, result.stdout), f"{said} in {result.stdout}"


@every_mpi
@pytest.mark.parametrize("ranks", [2, 3])
def test_what_is_legal_is_no_mixup(mpi: Mpi, ranks: int) -> None:
    rounds = 400 if ranks == 2 else 400 // mpi.sharing_slowness
    command = [str(mpi.compile("mixups.cc")), "legal", str(rounds)]
    result = mpi.run(ranks, command, {})
    assert result.returncode == 0 and "mixups: 0 wrong" in result.stdout, result.stdout[-3000:]
    assert "tutti:" not in result.stdout


@every_mpi
@pytest.mark.parametrize("ranks", [2, 3])
def test_what_goes_well_is_no_mixup(mpi: Mpi, ranks: int) -> None:
    result = mpi.run(ranks, [str(mpi.compile("mixups.cc")), "swapped", "40"], {})
    assert result.returncode == 0 and "mixups: 0 wrong" in result.stdout, result.stdout[-3000:]
    assert "tutti:" not in result.stdout
