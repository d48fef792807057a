# SPDX-License-Identifier: BSD-3-Clause
"""What `tutti run` says, in one sentence, when it cannot start or nothing came of it."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from conftest import COMMAND

CORES = len(os.sched_getaffinity(0))


@pytest.mark.parametrize(
    ("words", "code", "sentence"),
    [
        ([], 2, "there is no program to run: `tutti run -n 2 ./app`"),
        (["-n", "2"], 2, "there is no program to run: `tutti run -n 2 ./app`"),
        (["-n", "0", "true"], 2, "-n must be a number of ranks, at least 1, not '0'"),
        *(
            (["-n", word, "true"], 2, f"-n must be a number of ranks, at least 1, not '{word}'")
            for word in ("-1", "1.5", "9" * 9999)
        ),
        (["-n", "two", "true"], 2, "-n must be a number of ranks, at least 1, not 'two'"),
        (
            ["--quit", "true"],
            2,
            "`tutti run` has no option --quit (did you mean '--quiet'?); to hand it to the "
            "launcher, put `--` before the program",
        ),
        (
            ["--comm-cores", str(CORES), "true"],
            2,
            f"--comm-cores {CORES} leaves no core for the ranks: this node has {CORES}, "
            f"so it may be at most {CORES - 1}",
        ),
        (
            ["--hosts", "a,b", "true"],
            2,
            "--hosts needs -n, or a number for each host, such as a:2,b:2",
        ),
        (
            ["--hosts", "a,", "-n", "2", "true"],
            2,
            "--hosts must be names of hosts, such as a,b or a:2,b:2, not 'a,'",
        ),
        *(
            (
                ["--hosts", word, "-n", "2", "true"],
                2,
                f"--hosts must have a number of ranks for each host, not '{word}'",
            )
            for word in ("a:1,b", "a:0,b:2", "a:x,b:1")
        ),
        (
            ["--hosts", "a:2,b:2", "-n", "2", "true"],
            2,
            "--hosts has 4 ranks, and -n says 2",
        ),
        *(
            (words, 2, f"{option} asks for 300000000 ranks: at most 16777216 can be placed")
            for words, option in (
                (["--hosts", "a:300000000", "true"], "--hosts"),
                (["--hosts", "a,b", "-n", "300000000", "true"], "-n"),
            )
        ),
        (
            ["--hosts", "a:1", "--hostfile", "/dev/null", "true"],
            2,
            "--hosts and --hostfile say the same: give one of them",
        ),
        (["--hostfile", "/dev/null", "true"], 2, "/dev/null names no hosts: write one a line"),
        (
            ["--hostfile", "nope", "true"],
            2,
            "nope cannot be read as a file of hosts: No such file or directory",
        ),
        (["./nope"], 127, "there is no program ./nope"),
        (["no-such-program"], 127, "there is no program 'no-such-program' in PATH"),
        (["/tmp"], 126, "/tmp is a directory, not a program"),
        (
            ["/etc/passwd"],
            126,
            "/etc/passwd is not executable (chmod +x, or name its interpreter)",
        ),
    ],
)
def test_before_the_start(tutti, stand_in, words, code, sentence):
    mpi = stand_in("mpich")
    result = tutti("run", *words, PATH=f"{mpi.prefix}/bin:{os.environ['PATH']}")
    assert (result.code, result.out, result.err) == (code, "", f"tutti: {sentence}\n")


NO_HOST = (
    "is no host, such as a, a:2 or a slots=2; files with more in them are for the launcher, behind "
    "its own option"
)


@pytest.mark.parametrize(
    ("content", "words", "sentence"),
    [
        ("a\nb\n", [], "--hostfile needs -n, or a number for each host in {}, as a:2"),
        ("a\nb:2\n", ["-n", "2"], "{} must have a number of ranks for each host, or for none"),
        ("a:2\nb:2\n", ["-n", "5"], "{} has room for 4 ranks, and -n says 5"),
        (
            "a:300000000\n",
            [],
            "--hostfile asks for 300000000 ranks: at most 16777216 can be placed",
        ),
        ("a:many\n", [], f"{{}}: 'a:many' {NO_HOST}"),
        ("a cpus=4\n", [], f"{{}}: 'a cpus=4' {NO_HOST}"),
        ("// all\na:4\n", [], f"{{}}: '// all' {NO_HOST}"),
        ("^a\n", [], f"{{}}: '^a' {NO_HOST}"),
    ],
)
def test_a_bad_file_of_hosts(tutti, stand_in, tmp_path, content, words, sentence):
    mpi = stand_in("mpich")
    file = tmp_path / "hosts"
    file.write_text(content)
    result = tutti("run", "--mpi", mpi.launcher, "--hostfile", str(file), *words, "true")
    assert (result.code, result.err) == (2, f"tutti: {sentence.format(file)}\n")


def test_no_mpi(tutti, tmp_path):
    result = tutti("run", "true", PATH=str(tmp_path))
    assert result.code == 4
    assert result.err.startswith("tutti: there is no mpirun or mpiexec in PATH: install one (")
    assert result.err.count("\n") == 1


@pytest.mark.parametrize(
    ("where", "sentence"),
    [
        ("/nope", "/nope is neither an MPI launcher nor a directory with one"),
        ("~nosuch/mpi", "~nosuch/mpi is neither an MPI launcher nor a directory with one"),
        ("/etc", "there is no mpirun or mpiexec in /etc or /etc/bin"),
        ("/etc/passwd", "/etc/passwd is not executable, so it is no MPI launcher"),
        (
            "/bin/ls",
            "/bin/ls is no launcher of Open MPI, MPICH or Intel MPI "
            "(its --version says 'ls (GNU coreutils) 9.1')",
        ),
    ],
)
def test_not_an_mpi(tutti, where, sentence):
    result = tutti("run", "--mpi", where, "true")
    assert (result.code, result.err) == (4, f"tutti: {sentence}\n")


def test_a_batch_systems_launcher(tutti, stand_in):
    mpi = stand_in("mpich")
    (mpi.prefix / "banner").write_text("slurm 23.11.4")
    result = tutti("run", "--mpi", mpi.launcher, "true")
    assert result.code == 4
    assert 'use `eval "$(tutti env)"` and start the job yourself' in result.err


def test_not_an_mpi_program(tutti, stand_in):
    mpi = stand_in("mpich")
    result = tutti("run", "--mpi", mpi.launcher, "true")
    assert result.code == 3
    assert result.err == (
        "tutti: true ended without calling MPI_Init and MPI_Finalize under Tutti: is it an MPI "
        "program, built for this MPI and not linked statically with it?\n"
    )


@pytest.mark.parametrize("quiet", [True, False])
def test_no_room_for_the_report(tutti, stand_in, tmp_path, quiet):
    mpi = stand_in("mpich")
    mpi.plays(draft="")
    result = tutti("run", *["-q"] * quiet, "--mpi", mpi.launcher, "true")
    said = "the report could not be written: is there room in"
    expected = f"tutti: there is no summary: {said} {tmp_path}?\n"
    assert (result.code, result.err) == (0, "" if quiet else expected)


def test_no_report_where_the_user_wants_it(tutti, stand_in, tmp_path):
    mpi = stand_in("mpich")
    file = tmp_path / "report.json"
    result = tutti("run", "--mpi", mpi.launcher, "true", TUTTI_REPORT=str(file))
    assert result.code == 3
    assert result.err == (
        f"tutti: true left no report: either {file} could not be written, or it did not call "
        "MPI_Init and MPI_Finalize under Tutti\n"
    )


@pytest.mark.parametrize("file", ["/dev/null", "/dev/stdout"])
@pytest.mark.parametrize("output", [subprocess.PIPE, None])
def test_a_report_that_is_no_file(environment, stand_in, tmp_path, file, output):
    mpi = stand_in("mpich")
    mpi.plays(report={})
    with (tmp_path / "output").open("w") as ordinary:
        done = subprocess.run(
            [str(COMMAND), "run", "--mpi", mpi.launcher, "true"],
            env={**environment, "TUTTI_REPORT": file},
            stdout=output or ordinary, stderr=subprocess.PIPE, text=True, check=False,
        )  # fmt: skip
    sentence = f"tutti: {file} cannot be written: it is no ordinary file\n"
    assert (done.returncode, done.stderr) == (2, sentence)
    assert not (mpi.prefix / "started.json").exists()


def test_a_program_in_another_directory_than_temporary_files(tutti, stand_in, tmp_path):
    mpi = stand_in("mpich")
    mpi.plays(report={})
    tutti("run", "-q", "--mpi", mpi.launcher, "true", TMPDIR=".")
    words = mpi.started()["words"]
    assert words[words.index("TUTTI_REPORT") + 1].startswith(f"{tmp_path}/here/tutti-")


def test_a_library_that_is_linked_in_the_working_directory(tutti, stand_in, home, tmp_path):
    mpi = stand_in("mpich")
    mpi.plays(report={})
    spaced = tmp_path / "a b"
    spaced.mkdir()
    (tmp_path / "lib").rename(spaced / "lib")
    tutti("run", "-q", "--mpi", mpi.launcher, "true", TMPDIR=".", TUTTI_HOME=str(spaced))
    words = mpi.started()["words"]
    assert words[words.index("LD_PRELOAD") + 1].startswith(f"{tmp_path}/here/tutti-")


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("openmpi5", ["-x", "TUTTI_OFF=1", "--", "true"]),
        ("mpich", ["-genv", "TUTTI_OFF", "1", "--", "true"]),
        ("intel", ["-env=TUTTI_OFF=1", "--", "true"]),
        ("mpich", ["-env", "TUTTI_OFF", "1", "--", "true", ":", "-env=TUTTI_OFF=1", "true"]),
    ],
)
def test_tutti_is_off_by_the_launcher(tutti, stand_in, kind, words):
    mpi = stand_in(kind)
    result = tutti("run", "--mpi", mpi.launcher, *words)
    assert (result.code, result.err) == (0, "")
    result = tutti("run", "--trace", "ran.json", "--mpi", mpi.launcher, *words)
    assert result.code == 2
    assert result.err.startswith("tutti: there is nothing to trace with TUTTI_OFF=1: ")


def test_tutti_is_off_for_some(tutti, stand_in):
    mpi = stand_in("mpich")
    mpi.plays(report={})
    words = ["-n", "1", "true", ":", "-env", "TUTTI_OFF", "1", "-n", "1", "true"]
    assert tutti("run", "-q", "--trace", "ran.json", "--mpi", mpi.launcher, *words).code == 0
    back = ["-genv", "TUTTI_OFF", "0", "--", "true"]
    result = tutti("run", "-q", "--trace", "t.json", "--mpi", mpi.launcher, *back, TUTTI_OFF="1")
    assert result.code == 0


def test_temporary_files_that_are_removed_meanwhile(tutti, stand_in):
    mpi = stand_in("mpich")
    launcher = Path(mpi.launcher)
    launcher.rename(launcher.with_name("real"))
    launcher.write_text(
        f'#!/bin/sh\n[ "$1" = --version ] && exec {launcher.parent}/real "$@"\n'
        'rm -rf "$(dirname "$(echo "$*" | grep -o "/[^ ]*report.json")")"; exit 9\n'
    )
    launcher.chmod(0o755)
    result = tutti("run", "--mpi", mpi.launcher, "true")
    assert (result.code, result.err) == (9, "")


def test_a_failed_program_keeps_its_code(tutti, stand_in):
    mpi = stand_in("mpich")
    mpi.plays(code=9, stderr="its own words\n")
    result = tutti("run", "--mpi", mpi.launcher, "true")
    assert (result.code, result.err) == (9, "its own words\n")


@pytest.mark.skipif(os.geteuid() != 0, reason="Open MPI's rule is for root only")
def test_root_under_open_mpi(tutti, stand_in):
    mpi = stand_in("openmpi5")
    result = tutti("run", "--mpi", mpi.launcher, "true", OMPI_ALLOW_RUN_AS_ROOT="0")
    assert result.code == 2
    assert result.err.startswith("tutti: Open MPI refuses to run as root unless you say so: ")
    words = ["run", "--allow-run-as-root", "--mpi", mpi.launcher, "true"]
    tutti(*words, OMPI_ALLOW_RUN_AS_ROOT="0")
    assert mpi.started()["words"][0] == "--allow-run-as-root"
