# SPDX-License-Identifier: BSD-3-Clause
"""`tutti run` on every MPI: the summary, exit codes, standard input and signals."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from conftest import COMMAND, ROOT

PROGRAM = r"""
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char** argv) {
  int rank, sum = 0, one = 1;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int i = 0; i < 10; ++i)
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0 && argc > 1 && strcmp(argv[1], "cat") == 0) {
    char line[100];
    if (fgets(line, sizeof line, stdin)) printf("read %s", line);
  }
  if (rank == 0) printf("sum %d\n", sum);
  fflush(stdout);
  if (argc > 1 && strcmp(argv[1], "wait") == 0) pause();
  MPI_Finalize();
  return argc > 1 ? atoi(argv[1]) : 0;
}
"""

MPI4PY = """
import numpy
from mpi4py import MPI

mine, total = numpy.full(1024, 1.5), numpy.empty(1024)
MPI.COMM_WORLD.Allreduce(mine, total)
if MPI.COMM_WORLD.rank == 0:
    print(total.mean())
"""


@pytest.fixture
def program(real_mpi, tmp_path: Path) -> Path:
    source = tmp_path / "program.c"
    source.write_text(PROGRAM)
    return real_mpi.compile(source, tmp_path / "program")


def test_summary(tutti, real_mpi, program):
    result = tutti("run", "--mpi", real_mpi.launcher, "-n", "2", str(program))
    assert (result.code, result.out) == (0, "sum 2\n"), result.err
    lines = [line.split() for line in result.err.splitlines()]
    heading = result.err.splitlines()[1]
    assert heading.startswith(f"tutti: {real_mpi.family}")
    assert heading.endswith("2 ranks on 1 node")
    assert ["Allreduce", "10", "10", "0", "80", "B"] in lines


def test_several_programs(tutti, real_mpi, program):
    other = program.with_name("other")
    shutil.copy(program, other)
    words = ["-n", "1", str(program), ":", "-n", "1", str(other)]
    result = tutti("run", "--mpi", real_mpi.launcher, *words)
    assert (result.code, result.out) == (0, "sum 2\n"), result.err
    lines = [line.split() for line in result.err.splitlines()]
    assert ["Allreduce", "10", "10", "0", "80", "B"] in lines


@pytest.mark.parametrize("joined", [False, True])
def test_a_library_that_the_launcher_is_told_to_preload(
    tutti, real_mpi, program, library, tmp_path, joined
):
    other = tmp_path / "libother.so"
    subprocess.run(["cc", "-shared", "-o", str(other), "-xc", "/dev/null"], check=True)
    given = ["-x", f"LD_PRELOAD={other}"]
    if "Open" not in real_mpi.family:
        given = ["-genv", *([f"LD_PRELOAD={other}"] if joined else ["LD_PRELOAD", str(other)])]
    words = ["-n", "2", *given, "--", "sh", "-c", f'echo "$LD_PRELOAD"; exec {program}']
    result = tutti("run", "--mpi", real_mpi.launcher, *words)
    assert result.code == 0, result.err
    assert sorted(result.out.splitlines()) == [*2 * [f"{library}:{other}"], "sum 2"]
    lines = [line.split() for line in result.err.splitlines()]
    assert ["Allreduce", "10", "10", "0", "80", "B"] in lines


def test_more_ranks_than_cores(tutti, real_mpi, program):
    ranks = len(os.sched_getaffinity(0)) + 1
    words = ["-q", "--mpi", real_mpi.launcher, "-n", str(ranks), str(program)]
    result = tutti("run", *words)
    assert (result.code, result.out, result.err) == (0, f"sum {ranks}\n", "")


def test_exit_code(tutti, real_mpi, program):
    result = tutti("run", "-q", "--mpi", real_mpi.launcher, "-n", "2", str(program), "7")
    assert (result.code, result.out) == (7, "sum 2\n")


def test_standard_input(tutti, real_mpi, program):
    words = ["-q", "--mpi", real_mpi.launcher, "-n", "2", str(program), "cat"]
    result = tutti("run", *words, stdin="a line\n")
    assert (result.code, result.out) == (0, "read a line\nsum 2\n")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_signals_end_the_job(environment, real_mpi, program, number, tmp_path):
    started = subprocess.Popen(
        [str(COMMAND), "run", "--mpi", real_mpi.launcher, "-n", "2", str(program), "wait"],
        env=environment,
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert started.stdout is not None
    assert started.stdout.readline() == "sum 2\n"  # by now every rank has a communicator
    started.send_signal(number)
    _, said = started.communicate(timeout=60)
    assert started.returncode != 0
    assert "Traceback" not in said
    deadline = time.monotonic() + 30
    while running(program):
        assert time.monotonic() < deadline, f"left behind: {running(program)}"
        time.sleep(0.05)


def running(program: Path) -> list[str]:
    """Processes of this program."""
    found = []
    for link in Path("/proc").glob("[0-9]*/exe"):
        try:
            if os.readlink(link) == str(program):  # noqa: PTH115 - may vanish at any time
                found.append(link.parent.name)
        except OSError:
            continue
    return found


def test_not_an_mpi_program(tutti, real_mpi):
    result = tutti("run", "--mpi", real_mpi.launcher, "-n", "2", "true")
    assert result.code == 3
    assert result.err.splitlines()[-1].startswith("tutti: true ended without calling MPI_Init ")


@pytest.mark.parametrize("mpi", ["openmpi", "mpich", "impi"])
def test_mpi4py(tutti, mpi, tmp_path):
    script = tmp_path / "sum.py"
    script.write_text(MPI4PY)
    prefix = str(ROOT / ".mpi" / mpi)
    words = ["--mpi", prefix, "-n", "2", "--", sys.executable, str(script)]
    result = tutti("run", *words)
    assert (result.code, result.out) == (0, "3.0\n"), result.err
    lines = [line.split() for line in result.err.splitlines()]
    assert ["Allreduce", "1", "1", "0", "16", "KiB"] in lines
