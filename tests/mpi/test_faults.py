# SPDX-License-Identifier: BSD-3-Clause
"""Failure is a feature: a right answer or one clear sentence, and nothing left behind."""

from __future__ import annotations

import re
import subprocess
import time
from pathlib import Path

import pytest
from rig.mpis import MAIN, OPENMPI, Mpi

RUNGS = ["commons,cma,bounce", "cma,bounce", "bounce"]
every_mpi = pytest.mark.parametrize("mpi", MAIN, ids=lambda mpi: mpi.name)


def faults(mpi: Mpi, ranks: int, what: str, tutti: dict[str, str] | None = None, **more):
    program = mpi.compile("faults.cc")
    result = mpi.run(ranks, [str(program), what], tutti or {}, **more)
    nothing_is_left(program)
    return result


def nothing_is_left(program: Path) -> None:
    # Launchers return when the ranks have been told to end; within seconds they have.
    patience = time.monotonic() + 10
    while running(program) and time.monotonic() < patience:
        time.sleep(0.1)
    assert not running(program), "processes left behind"
    assert [path for path in Path("/dev/shm").iterdir() if "tutti" in path.name] == []


def running(program: Path) -> str:
    return subprocess.run(["pgrep", "-f", str(program)], capture_output=True, text=True).stdout


# Whoever is first to say so: a rank that waited, or a launcher that ended it before it could.
LAUNCHERS = r"rank 1 with PID \d+|process rank 1|Killed \(signal 9\)|9 \(Killed\)|EXIT CODE"


@every_mpi
@pytest.mark.parametrize("rung", RUNGS)
def test_a_killed_rank_ends_the_job_with_its_name(mpi: Mpi, rung: str, tmp_path) -> None:
    began = time.monotonic()
    report = tmp_path / "report.json"
    result = faults(mpi, 3, "killed", {"TUTTI_MEMORY": rung, "TUTTI_REPORT": str(report)})
    assert time.monotonic() - began < 20
    assert result.returncode != 0
    assert re.search(
        r"tutti: rank 1 \(process \d+\) ended while rank [02] was waiting for it in MPI_Allreduce "
        rf"\(MPI_SUM\) of 1048576 bytes|{LAUNCHERS}",
        result.stdout + last_words(report),
    ), result.stdout


# The other launchers end the job silently, and at times before anybody could notice. Two ranks have
# a core each, and may spin for hours.
@pytest.mark.parametrize("what", ["left", "started_left"])
@pytest.mark.parametrize("ranks, spin", [(3, 2000), (2, 10**15)])
def test_a_rank_that_leaves_is_named(what: str, ranks: int, spin: int, tmp_path) -> None:
    report = tmp_path / "report.json"
    options = {"TUTTI_REPORT": str(report), "TUTTI_SPIN": str(spin)}
    result = faults(OPENMPI, ranks, what, options, timeout_s=60)
    assert result.returncode != 0
    assert re.search(
        r"tutti: rank 1 \(process \d+\) ended while rank [02] was waiting for it in "
        "MPI_(B|Ib)arrier",
        result.stdout + last_words(report),
    ), result.stdout


def last_words(report: Path) -> str:
    path = report.with_name(report.name + ".fatal")
    return path.read_text() if path.exists() else ""


@every_mpi
def test_different_collectives_are_named(mpi: Mpi, tmp_path) -> None:
    report = tmp_path / "report.json"
    result = faults(mpi, 2, "mismatched", {"TUTTI_REPORT": str(report)})
    assert result.returncode != 0
    said = last_words(report)
    assert "called different things: rank" in said
    assert "MPI_Bcast, root 0 of 4 bytes" in said
    assert "MPI_Allreduce (MPI_SUM) of 4 bytes" in said


@every_mpi
def test_errors_return_where_the_program_wants_it(mpi: Mpi) -> None:
    result = faults(mpi, 2, "returned")
    assert result.returncode == 0, result.stdout
    assert "called different things" in result.stdout
    assert "MPI_Allreduce (MPI_MAX) of 4 bytes" in result.stdout


@every_mpi
@pytest.mark.parametrize("rung", RUNGS)
def test_what_is_too_long_is_an_error_of_the_receiver(mpi: Mpi, rung: str) -> None:
    result = faults(mpi, 2, "truncated", {"TUTTI_MEMORY": rung})
    assert result.returncode == 0, result.stdout
    assert re.search(r"rank 1 sends \d+ bytes to rank 0 in MPI_Gatherv", result.stdout)


@every_mpi
@pytest.mark.parametrize("rung", RUNGS)
def test_what_a_rank_sends_itself_must_fit_too(mpi: Mpi, rung: str) -> None:
    result = faults(mpi, 2, "selfish", {"TUTTI_MEMORY": rung})
    assert result.returncode == 0, result.stdout
    assert re.search(r"rank 0 sends \d+ bytes to rank 0 in MPI_Alltoall", result.stdout)


# A single element with gaps has none: the result comes straight to where the operands were packed.
@every_mpi
def test_what_has_been_replaced_is_not_left_to_the_mpi(mpi: Mpi) -> None:
    result = faults(mpi, 2, "replaced", {"TUTTI_MEMORY": "cma,bounce"})
    assert result.returncode == 0, result.stdout
    assert "rank 1 could not reach the buffer of rank 0 in MPI_Reduce_scatter" in result.stdout


@every_mpi
def test_a_killed_rank_is_named_by_who_waits_for_its_operation(mpi: Mpi, tmp_path) -> None:
    report = tmp_path / "report.json"
    result = faults(mpi, 3, "started_killed", {"TUTTI_REPORT": str(report)})
    assert result.returncode != 0
    assert re.search(
        r"tutti: rank 1 \(process \d+\) ended while rank [02] was waiting for it in "
        rf"MPI_Iallreduce \(MPI_SUM\) of 1048576 bytes|{LAUNCHERS}",
        result.stdout + last_words(report),
    ), result.stdout


@every_mpi
def test_different_nonblocking_collectives_are_named(mpi: Mpi, tmp_path) -> None:
    report = tmp_path / "report.json"
    result = faults(mpi, 2, "started_mismatched", {"TUTTI_REPORT": str(report)})
    assert result.returncode != 0
    said = last_words(report)
    assert "MPI_Ibcast, root 0 of 4 bytes" in said
    assert "MPI_Iallreduce (MPI_SUM) of 4 bytes" in said


@every_mpi
@pytest.mark.parametrize("thread", ["auto", "none"])
@pytest.mark.parametrize("what", ["started_returned", "started_truncated", "started_finalized"])
def test_requests_end_as_they_should(mpi: Mpi, what: str, thread: str) -> None:
    result = faults(mpi, 2, what, {"TUTTI_PROGRESS": thread})
    assert result.returncode == 0, result.stdout


@every_mpi
@pytest.mark.parametrize("barrier", ["auto", "flat", "dissemination"])
def test_strict_checks_see_what_nobody_meets(mpi: Mpi, barrier: str, tmp_path) -> None:
    assert faults(mpi, 2, "rooted").returncode == 0
    report = tmp_path / "report.json"
    strict = {"TUTTI_CHECK": "strict", "TUTTI_BARRIER": barrier, "TUTTI_REPORT": str(report)}
    result = faults(mpi, 2, "rooted", strict)
    assert result.returncode != 0
    assert "MPI_Bcast, root 1 of 4 bytes" in result.stdout + last_words(report)


@every_mpi
def test_an_abort_ends_the_job_with_its_code(mpi: Mpi) -> None:
    began = time.monotonic()
    result = faults(mpi, 3, "aborted")
    assert result.returncode == 7, result.stdout
    assert time.monotonic() - began < 15


@every_mpi
def test_the_end_releases_everything(mpi: Mpi) -> None:
    result = faults(mpi, 2, "finalized")
    assert result.returncode == 0, result.stdout


@every_mpi
@pytest.mark.parametrize("rung", RUNGS)
def test_fork_in_the_middle_keeps_memories_apart(mpi: Mpi, rung: str) -> None:
    result = faults(mpi, 2, "forked", {"TUTTI_MEMORY": rung})
    assert result.returncode == 0 and "forked: 0 wrong" in result.stdout, result.stdout


@pytest.mark.alone
@every_mpi
def test_ten_thousand_communicators_leave_nothing(mpi: Mpi) -> None:
    bare = re.search(r"grown by (-?\d+) KiB", faults_bare(mpi))
    result = faults(mpi, 2, "communicators")
    found = re.search(r"communicators: 0 wrong, grown by (-?\d+) KiB", result.stdout)
    assert result.returncode == 0 and found and bare, result.stdout
    assert int(found[1]) < int(bare[1]) + 1024


def faults_bare(mpi: Mpi) -> str:
    return mpi.run(2, [str(mpi.compile("faults.cc")), "communicators"]).stdout


@pytest.mark.alone
@pytest.mark.parametrize("rung", RUNGS)
def test_bytes_beyond_two_to_the_31(rung: str) -> None:
    result = faults(MAIN[0], 2, "large", {"TUTTI_MEMORY": rung}, timeout_s=400)
    assert result.returncode == 0 and "large: 0 wrong" in result.stdout, result.stdout
