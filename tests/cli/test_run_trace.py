# SPDX-License-Identifier: BSD-3-Clause
"""`tutti run --trace`: from a program to what `tutti trace` says of it, and what can go wrong."""

from __future__ import annotations

from pathlib import Path

import pytest
from test_run import REPORT
from tutti import trace

PROGRAM = r"""
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

static double mine[32768];
static volatile double sum[32768];

// Computes for a millisecond, and until the sum has come: that is the progress thread's doing,
// which may have to wait for a core.
static void compute(void) {
  const double begin = MPI_Wtime();
  for (double passed = 0; passed < 1e-3 || (sum[32767] == 0 && passed < 20);)
    passed = MPI_Wtime() - begin;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  mine[32767] = 1;
  for (int i = 0; i < 10; ++i) {
    MPI_Request request;
    sum[32767] = 0;
    MPI_Iallreduce(mine, (void*)sum, 32768, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &request);
    compute();
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Allreduce(mine, (void*)sum, 512, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  }
  if (argc > 1) raise(atoi(argv[1]));
  MPI_Finalize();
  return 0;
}
"""


def launched(mpi) -> list[str]:
    return ["--mpi", mpi.launcher, "-n", "2"]


@pytest.fixture
def program(real_mpi, tmp_path: Path) -> Path:
    source = tmp_path / "program.c"
    source.write_text(PROGRAM)
    return real_mpi.compile(source, tmp_path / "program")


def test_from_the_program_to_the_page(tutti, real_mpi, program, tmp_path):
    ran = tutti("run", "--trace", "ran.json", *launched(real_mpi), str(program))
    assert ran.code == 0, ran.err
    file = tmp_path / "here" / "ran.json"
    assert ran.err.splitlines()[-2:] == [
        f"trace: {file}",
        "next: `tutti trace ran.json --html ran.html`",
    ]
    shown = tutti("trace", "ran.json")
    assert shown.code == 0, shown.err
    words = shown.out.splitlines()
    assert words[0].startswith("ran.json: ") and words[0].endswith(" messages")
    assert any(line.startswith("all cores") for line in words)
    assert tutti("trace", "ran.json", "--html", "ran.html").code == 0
    read = trace.read(file)
    assert read.dropped == 0 and read.end - read.begin >= 10e6
    whats = {span.what for span in read.spans}
    assert {"Allreduce 4 KiB", "Iallreduce 256 KiB", ""} <= whats
    assert whats <= {"Allreduce 4 KiB", "Iallreduce 256 KiB", "", "Wait"}
    assert {span.kind for span in read.spans} >= {"computing", "progress", "waiting"}
    assert len([m for m in read.messages if m.what == "Iallreduce 256 KiB"]) == 20


def test_a_killed_job_has_no_trace(tutti, real_mpi, program, tmp_path):
    ran = tutti("run", "--trace", "ran.json", *launched(real_mpi), str(program), "9")
    assert ran.code != 0
    assert "no trace: the job writes it at MPI_Finalize" in ran.err.splitlines()
    assert list((tmp_path / "here").iterdir()) == []


def test_the_ranks_get_the_whole_path(tutti, stand_in, tmp_path):
    mpi = stand_in("openmpi5")
    mpi.plays(report=REPORT)
    file = tmp_path / "here" / "a b.json"
    file.parent.mkdir(exist_ok=True)
    file.write_text("of an earlier run")
    result = tutti("run", "--trace", "a b.json", *launched(mpi), "true")
    assert f"TUTTI_TRACE={file}" in mpi.started()["words"]
    assert "trace:" not in result.err, "this run has written none"


@pytest.mark.parametrize(
    ("name", "command"),
    [
        ("a b.json", "tutti trace 'a b.json' --html 'a b.html'"),
        ("run.html", "tutti trace run.html --html run.html.html"),
    ],
)
def test_what_to_do_next(tutti, stand_in, tmp_path, name, command):
    mpi = stand_in("openmpi5")
    mpi.plays(report=REPORT, trace="{}")
    result = tutti("run", "--trace", name, *launched(mpi), "true")
    assert result.err.splitlines()[-2:] == [
        f"trace: {tmp_path / 'here' / name}",
        f"next: `{command}`",
    ]


@pytest.mark.parametrize("quiet", [True, False])
def test_quiet(tutti, stand_in, quiet):
    mpi = stand_in("openmpi5")
    mpi.plays(code=9)
    result = tutti("run", *["-q"] * quiet, "--trace", "ran.json", *launched(mpi), "true")
    assert (result.code, "no trace" in result.err) == (9, not quiet)


@pytest.mark.parametrize("by_option", [True, False])
@pytest.mark.parametrize(
    ("file", "sentence"),
    [
        ("nope/ran.json", "nope/ran.json cannot be written: there is no directory nope"),
        ("/tmp", "/tmp cannot be written: it is a directory"),
        ("/dev/null", "/dev/null cannot be written: it is no ordinary file"),
    ],
)
def test_a_bad_path(tutti, stand_in, file, sentence, by_option):
    mpi = stand_in("openmpi5")
    words = ["--trace", file] if by_option else []
    variables = {} if by_option else {"TUTTI_TRACE": file}
    result = tutti("run", *words, *launched(mpi), "true", **variables)
    assert (result.code, result.out, result.err) == (2, "", f"tutti: {sentence}\n")
    assert not (mpi.prefix / "started.json").exists()


def test_not_without_tutti(tutti, stand_in):
    mpi = stand_in("openmpi5")
    result = tutti("run", "--trace", "ran.json", *launched(mpi), "true", TUTTI_OFF="1")
    assert result.code == 2
    assert result.err == (
        "tutti: there is nothing to trace with TUTTI_OFF=1: unset it, or drop --trace\n"
    )
