# SPDX-License-Identifier: BSD-3-Clause
"""Jobs of which some ranks have no Tutti, or another: who they are is said, and all goes on."""

from __future__ import annotations

import json
import os
import re
import subprocess
import threading
from pathlib import Path

import pytest
from rig.mpis import INTEL, LIBRARY, MAIN, MPICH, OPENMPI, OTHERS, Mpi, end, run_job

every_mpi = pytest.mark.parametrize("mpi", MAIN + OTHERS, ids=lambda mpi: mpi.name)
main_mpis = pytest.mark.parametrize("mpi", MAIN, ids=lambda mpi: mpi.name)

WITH = [f"LD_PRELOAD={LIBRARY}"]
WITHOUT: list[str] = []
OFF = [*WITH, "TUTTI_OFF=1"]


def command(mpi: Mpi, ranks: list[list[str]], *arguments: str) -> list[str]:
    """One rank for each list of what `env` gets."""
    program = str(mpi.compile("absent.cc"))
    words = [mpi.mpirun, *(mpi.crowded if len(ranks) > (os.cpu_count() or 1) else ())]
    for number, variables in enumerate(ranks):
        words += [":"] if number else []
        words += ["-n", "1", "env", *variables, program, *arguments]
    return words


def run(mpi: Mpi, ranks: list[list[str]], *arguments: str) -> str:
    """What a job says that must be right."""
    result = run_job(command(mpi, ranks, *arguments), os.environ | mpi.environment, 60)
    assert result.returncode == 0 and "absent: 0 wrong" in result.stdout, result.stdout[-2000:]
    return result.stdout


@every_mpi
def test_a_rank_that_is_switched_off_is_named(mpi: Mpi) -> None:
    said = run(mpi, [WITH, OFF])
    assert re.search(r"rank 1 of 2 runs without Tutti \(pid \d+ on \S+: TUTTI_OFF=1\)", said), said
    assert said.count("tutti: ") == 1


@main_mpis
def test_the_report_comes_from_a_rank_that_has_tutti(mpi: Mpi, tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    reporting = [*WITH, f"TUTTI_REPORT={report}"]
    said = run(mpi, [WITHOUT, reporting, reporting], "3")
    sentence = "rank 0 of 3 runs without Tutti"
    assert sentence in said and "libtutti.so is not loaded" in said and said.count("tutti: ") == 1
    written = json.loads(report.read_text())
    assert written["ranks"] == 3 and sentence in written["notes"][0]
    for row in written["calls"]:
        # But for a communicator of one rank, of which there is one.
        assert row["taken"] <= 1 and "some ranks run without Tutti" in row["reasons"]
    assert {"Allreduce", "Iallgather"} < {row["collective"] for row in written["calls"]}


@main_mpis
def test_sessions_without_mpi_init(mpi: Mpi) -> None:
    said = run(mpi, [WITH, WITHOUT], "session")
    assert "rank 1 of 2 runs without Tutti" in said and said.count("tutti: ") == 1
    assert "tutti: " not in run(mpi, [WITH, WITH], "session")


@pytest.mark.parametrize("mpi", [MPICH, INTEL], ids=lambda mpi: mpi.name)
def test_another_version_is_as_good_as_none(mpi: Mpi, tmp_path: Path) -> None:
    version = re.compile(rb"(\d+\.\d+\.\d+-)\d\0")
    ours = LIBRARY.read_bytes()
    assert len(version.findall(ours)) == 1
    other = tmp_path / "libtutti-other.so"
    other.write_bytes(version.sub(rb"\1X\0", ours))
    said = run(mpi, [WITH, [f"LD_PRELOAD={other}"]])
    # Each is the first of its own kind.
    assert re.search(r"rank 1 of 2 runs without Tutti \(pid \d+ on \S+: another version, .*X", said)
    assert re.search(r"rank 0 of 2 runs without Tutti \(pid \d+ on \S+: another version", said)


# Open MPI 5: it asks through functions that a library behind Tutti may have in PMIx's place.
def test_a_launcher_that_answers_late() -> None:
    slow = OPENMPI.compile("late_answers.cc", "-shared", "-fPIC", "-pthread")
    late = [f"LD_PRELOAD={LIBRARY}:{slow}"]
    for ranks in ([late, WITH], [WITH, late], [WITH, WITH, late, WITH]):
        assert "tutti" not in run(OPENMPI, ranks)
    assert "ranks 0 and 1" not in run(OPENMPI, [late, late])  # a rank knows of itself
    # Ranks of a session look for no greeting.
    assert "tutti" not in run(OPENMPI, [late, WITH], "session")


@pytest.mark.parametrize("without", [False, True])
def test_a_launcher_that_cannot_be_asked(without: bool) -> None:
    unknown = ["-u", "MPI_LOCALNRANKS", *WITH]  # what Hydra is known by
    if not without:
        assert "tutti" not in run(MPICH, [unknown, unknown, unknown])
        return
    job = subprocess.Popen(
        command(MPICH, [unknown, WITHOUT, unknown]),
        env=os.environ | MPICH.environment,
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
    )
    # Rank 2 was greeted by rank 0, so that has Tutti, and nobody else has to be named.
    timer = threading.Timer(7, end, [job])
    timer.start()
    said = job.communicate()[1]
    timer.join()
    assert said.count("waits in MPI_Init for") == 1, said
    assert "rank 0 waits in MPI_Init for rank 1 and" in said and "TUTTI_OFF=1 for all" in said
