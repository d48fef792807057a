# SPDX-License-Identifier: BSD-3-Clause
"""The command as a whole: version, help, and what a mistyped word gets."""

from __future__ import annotations

import os
import re
import shutil
import subprocess

import pytest
from conftest import COMMAND, ROOT
from tutti.application import COMMANDS

VERSION = "0.1.0"


def test_version(tutti):
    result = tutti("--version")
    assert (result.code, result.out) == (0, f"tutti {VERSION}\n")


@pytest.mark.parametrize(
    ("file", "pattern"),
    [
        ("pyproject.toml", r'^version = "(.+)"$'),
        ("CMakeLists.txt", r"^project\(tutti VERSION (\S+) "),
        ("README.md", r"This is version (\d[\d.]*\d)"),
        ("CHANGES.md", r"^## \[(\d\S*)\] - \d{4}-\d{2}-\d{2}$"),  # the newest comes first
    ],
)
def test_every_file_has_that_version(file, pattern):
    found = re.search(pattern, (ROOT / file).read_text(), re.MULTILINE)
    assert found is not None and found[1] == VERSION


@pytest.mark.parametrize("words", [[], ["--help"]])
def test_help_lists_the_commands(tutti, words):
    result = tutti(*words)
    assert result.code == 0
    for command in COMMANDS:
        assert f" {command} " in result.out


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help(tutti, command):
    result = tutti(command, "--help")
    assert result.code == 0
    assert f"Usage: tutti {command}" in result.out


@pytest.mark.parametrize(
    ("command", "says"),
    [
        ("bench", "Of barrier, bcast, reduce"),
        ("explain", "As allreduce, MPI_Allreduce or iallreduce."),
        ("simulate", "Of iscan, ibcast, ireduce"),
        ("trace", "The trace."),
        ("doctor", "With hosts: what the launcher needs to"),
    ],
)
def test_help_says_what_arguments_are(tutti, command, says):
    assert says in tutti(command, "--help").out


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (
            ["benhc"],
            "there is no command 'benhc' (did you mean 'bench'?) (`tutti --help` lists them)",
        ),
        (["--verison"], "`tutti` has no option --verison (did you mean '--version'?)"),
        (["doctor", "--xyz"], "`tutti doctor` has no option --xyz"),
        (["env", "--shel", "sh"], "`tutti env` has no option --shel (did you mean '--shell'?)"),
    ],
)
def test_a_mistyped_word(tutti, words, sentence):
    result = tutti(*words)
    assert (result.code, result.out, result.err) == (2, "", f"tutti: {sentence}\n")


def test_a_missing_library(tutti, tmp_path, stand_in):
    mpi = stand_in("mpich")
    result = tutti("run", "--mpi", mpi.launcher, "true", TUTTI_HOME=str(tmp_path))
    assert result.code == 5
    assert result.err == f"tutti: {tmp_path}/lib/libtutti.so is missing: check TUTTI_HOME\n"


def test_a_library_whose_path_has_a_space(tutti, tmp_path, stand_in, library):
    mpi = stand_in("mpich")
    home = tmp_path / "a space"
    (home / "lib").mkdir(parents=True)
    shutil.copy(library, home / "lib")
    tutti("run", "--mpi", mpi.launcher, "true", TUTTI_HOME=str(home))
    named = mpi.started()["words"][2]
    assert named.startswith(f"{tmp_path}/tutti-") and named.endswith("/libtutti.so")
    result = tutti("env", "--mpi", mpi.launcher, TUTTI_HOME=str(home))
    assert result.code == 5
    assert result.err.startswith(
        f"tutti: LD_PRELOAD cannot hold {home}/lib/libtutti.so, which has "
    )


def test_a_bug_of_ours_is_one_sentence(tutti, tmp_path):
    (tmp_path / "bin").mkdir()
    probe = tmp_path / "bin" / "tutti-probe"
    probe.write_text("#!/bin/sh\necho '[1]'\n")  # not what the command may expect
    probe.chmod(0o755)
    result = tutti("config", TUTTI_HOME=str(tmp_path))
    assert result.code == 70
    assert result.err.startswith("tutti: this is a bug of Tutti, please report it: TypeError: ")
    assert result.err.count("\n") == 1


def test_debug_keeps_the_traceback(environment, tmp_path):
    (tmp_path / "bin").mkdir()
    probe = tmp_path / "bin" / "tutti-probe"
    probe.write_text("#!/bin/sh\necho '[1]'\n")
    probe.chmod(0o755)
    done = subprocess.run(
        [str(COMMAND), "--debug", "config"],
        env={**environment, "TUTTI_HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 70
    assert done.stderr.startswith("Traceback (most recent call last):")


@pytest.mark.parametrize("words", [["config"], ["model", "--cores", "64"], ["bench", "--help"]])
def test_nobody_reads(environment, words):
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [str(COMMAND), *words],
        env=environment,
        stdout=writer,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    os.close(writer)
    assert (done.returncode, done.stderr) == (141, "")
