# SPDX-License-Identifier: BSD-3-Clause
"""Programs with OpenMP: the progress thread of a rank keeps off the cores of its other threads."""

from __future__ import annotations

import os

import pytest
from rig.mpis import MAIN, Mpi, run_job

RANKS = 2

pytestmark = pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="needs two cores")


def play(mpi: Mpi, first: str, *options: str) -> list[str]:
    """What the ranks print, with launchers that bind nothing: behind `options`, of env's kind."""
    program = mpi.compile("hybrid.cc", "-fopenmp")
    unbound = ["--bind-to", "none"] if mpi.name == "openmpi" else []
    launcher, *words = mpi.launch(RANKS, [*options, str(program)], {})
    environment = os.environ | mpi.environment | {"I_MPI_PIN": "off"}
    done = run_job([launcher, *unbound, *words], environment, 60)
    assert done.returncode == 0, done.stdout
    lines = [line for line in done.stdout.splitlines() if "calls on" in line]
    assert len(lines) == RANKS, done.stdout
    assert all(line.startswith(f"right: calls on {first}") for line in lines), lines
    return lines


@pytest.mark.parametrize("mpi", MAIN, ids=lambda mpi: mpi.name)
def test_openmp_has_all_cores_of_its_rank(mpi: Mpi) -> None:
    """OpenMP binds the thread that calls MPI_Init, to the first of the cores that it uses."""
    first = min(os.sched_getaffinity(0))
    openmp = ["OMP_NUM_THREADS=2", "OMP_PROC_BIND=close", "OMP_PLACES=cores"]
    for line in play(mpi, str(first), *openmp):
        assert line.endswith(f"progress {first}"), line


@pytest.mark.parametrize("mpi", MAIN, ids=lambda mpi: mpi.name)
def test_a_core_that_no_rank_was_given_is_the_threads(mpi: Mpi) -> None:
    first, second = sorted(os.sched_getaffinity(0))[:2]
    for line in play(mpi, str(first), "taskset", "-c", str(first)):
        assert "progress" in line and not line.endswith(f"progress {first}"), (line, second)
