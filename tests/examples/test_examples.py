# SPDX-License-Identifier: BSD-3-Clause
"""The examples give right results on each MPI, without Tutti."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from rig import ROOT
from rig.wheels import Mpi, mpis

MPIS = mpis(ROOT / ".mpi")
GRAPH = ROOT / "examples" / "asp" / "minnesota.txt"


def start(mpi: Mpi, ranks: int, *words: object) -> subprocess.CompletedProcess[str]:
    command = mpi.words(ranks, [str(word) for word in words], with_tutti=False)
    return subprocess.run(command, env=mpi.environment, capture_output=True, text=True, timeout=200)


@pytest.fixture(scope="module")
def asp(request, tmp_path_factory) -> tuple[Mpi, Path]:
    mpi = MPIS[request.param]
    program = tmp_path_factory.mktemp(mpi.name) / "asp"
    warnings = ["-Wall", "-Wextra", "-Wshadow", "-Werror", "-pedantic"]
    source = ROOT / "examples" / "asp" / "asp.c"
    words = [mpi.folder / "bin" / "mpicc", "-std=c99", "-O3", *warnings, "-o", program, source]
    subprocess.run(words, check=True, env=mpi.environment)
    return mpi, program


@pytest.mark.parametrize("asp", ["openmpi"], indirect=True)
@pytest.mark.parametrize("ranks", [1, 2, 3])
def test_asp_equals_the_sequential_result(asp, ranks) -> None:
    mpi, program = asp
    done = start(mpi, ranks, program, GRAPH, "--check")
    assert done.returncode == 0, done.stderr
    assert "vertices 2640  edges 3302" in done.stdout
    assert "longest shortest path 846412" in done.stdout
    assert "check: equal to the sequential result" in done.stdout


@pytest.mark.parametrize("asp", list(MPIS), indirect=True)
@pytest.mark.parametrize("ranks", [1, 2])
def test_asp_by_hand(asp, ranks, tmp_path) -> None:
    # A ring of 4 with one long road, and a vertex that no road leads to... but its own.
    graph = tmp_path / "ring.txt"
    graph.write_text("# ring\n0 1 1\n1 2 2\n2 3 3\n3 0 100\n4 4 0\n")
    mpi, program = asp
    done = start(mpi, ranks, program, graph, "--check")
    assert done.returncode == 0 and "longest shortest path 6\n" in done.stdout


@pytest.mark.parametrize("asp", ["openmpi"], indirect=True)
@pytest.mark.parametrize(
    ("text", "word"), [(None, "cannot read"), ("0 1\n", "not a list"), ("# none\n", "no edges")]
)
def test_asp_bad_graph(asp, text, word, tmp_path) -> None:
    graph = tmp_path / "graph.txt"
    if text is not None:
        graph.write_text(text)
    mpi, program = asp
    done = start(mpi, 2, program, graph)
    assert done.returncode != 0 and word in done.stderr


def digits(mpi: str, ranks: int, *more: str) -> dict[str, str]:
    program = ROOT / "examples" / "digits" / "digits.py"
    done = start(MPIS[mpi], ranks, sys.executable, program, "--epochs", 10, *more)
    assert done.returncode == 0, done.stderr
    return dict(line.split(maxsplit=1) for line in done.stdout.splitlines())


def test_digits_learns_the_same_on_every_mpi() -> None:
    results = [digits(name, 2) for name in MPIS]
    assert len({result["weights"] for result in results}) == 1
    assert float(results[0]["accuracy"]) > 0.95


def test_digits_learns_the_same_in_the_background() -> None:
    results = [digits("mpich", 2, *more) for more in ([], ["--overlap"])]
    assert results[0]["weights"] == results[1]["weights"]


def test_digits_on_more_ranks() -> None:
    alone, three = digits("openmpi", 1), digits("openmpi", 3)
    assert abs(float(alone["accuracy"]) - float(three["accuracy"])) < 0.003
