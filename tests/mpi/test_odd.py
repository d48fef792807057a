# SPDX-License-Identifier: BSD-3-Clause
"""Programs that do what few do, and are right on the bare MPI."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest
from rig.mpis import DEBIAN_OPENMPI, INTEL, LIBRARY, MAIN, MPICH, OPENMPI, Mpi

every_mpi = pytest.mark.parametrize("mpi", MAIN, ids=lambda mpi: mpi.name)


def odd(mpi: Mpi, what: str, tmp_path, **options: str) -> dict:
    """Run it; the report, with its calls by collective."""
    report = tmp_path / "report.json"
    options["TUTTI_REPORT"] = str(report)
    result = mpi.run(2, [str(mpi.compile("odd.cc")), what], options)
    assert result.returncode == 0 and "odd: 0 wrong" in result.stdout, result.stdout[-2000:]
    assert "tutti: " not in result.stdout
    written = json.loads(report.read_text())
    written["calls"] = {row["collective"]: row for row in written["calls"]}
    assert all(row["taken"] > 0 for row in written["calls"].values())
    return written


@every_mpi
def test_options_outlive_the_environment(mpi: Mpi, tmp_path) -> None:
    odd(mpi, "title", tmp_path)


@every_mpi
def test_memory_as_it_is_asked_for(mpi: Mpi, tmp_path) -> None:
    assert odd(mpi, "memory", tmp_path)["ways"]["commons"] > 1 << 20


def test_ranks_that_are_threads(tmp_path) -> None:
    calls = odd(MPICH, "threadcomm", tmp_path)["calls"]
    assert calls["Allreduce"]["reasons"] == {"its ranks are threads": 44}


# Which of them is tried on which MPI does not matter; more is in tests/commons.
ALLOCATORS = [
    (OPENMPI, "libjemalloc.so.2"),
    (MPICH, "libtcmalloc_minimal.so.4"),
    (INTEL, "libmimalloc.so.2"),
]


def is_there(library: str) -> bool:
    known = subprocess.run(["/sbin/ldconfig", "-p"], capture_output=True, text=True, check=False)
    return library in known.stdout


@pytest.mark.parametrize("behind", [False, True], ids=["before", "behind"])
@pytest.mark.parametrize(("mpi", "other"), ALLOCATORS, ids=["jemalloc", "tcmalloc", "mimalloc"])
def test_another_allocator(mpi: Mpi, other: str, behind: bool, tmp_path) -> None:
    if not is_there(other):
        pytest.skip(f"no {other}")
    preload = [str(LIBRARY), other] if behind else [other, str(LIBRARY)]
    written = odd(mpi, "memory", tmp_path, LD_PRELOAD=":".join(preload))
    assert written["ways"]["commons"] > 1 << 20  # of MPI_Alloc_mem
    notes = [note for note in written["notes"] if "malloc is not served" in note]
    assert len(notes) == behind and all("_Zd" in note for note in notes)


def test_a_stand_in_for_the_mpi(tmp_path) -> None:
    """A program of one rank with a library that has a few of the MPI's functions."""
    source, library = Path(__file__).parent / "stand_in.cc", tmp_path / "libmpiseq.so"
    subprocess.run(["g++", "-shared", "-fPIC", str(source), "-o", str(library)], check=True)
    program = tmp_path / "stand_in"
    words = ["-DPROGRAM", str(source), str(library), "-o", str(program)]
    subprocess.run(["g++", *words], check=True)
    environment = os.environ | {"LD_PRELOAD": str(LIBRARY)}
    done = subprocess.run([program], env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "stand_in: 1 rank\n", "")


@pytest.mark.parametrize("mpi", [*MAIN, DEBIAN_OPENMPI], ids=lambda mpi: mpi.name)
def test_counts_of_a_group(mpi: Mpi) -> None:
    """Of an intercommunicator whose groups have two ranks and one."""
    done = mpi.run(3, [str(mpi.compile("own_counts.cc"))], {})
    assert (done.returncode, done.stdout) == (0, "own_counts: 0 wrong\n")
