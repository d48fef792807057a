# SPDX-License-Identifier: BSD-3-Clause
"""`tutti` where what has started it, or what is around it, is odd."""

from __future__ import annotations

import signal
import subprocess

import pytest
from conftest import COMMAND
from test_run import REPORT


@pytest.fixture
def words(stand_in):
    mpi = stand_in("mpich")
    mpi.plays(code=9)
    return mpi, [str(COMMAND), "run", "--mpi", mpi.launcher, "true"]


def test_whoever_started_it_ignores_its_children(environment, words):
    def ignore() -> None:
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)

    done = subprocess.run(
        words[1], env=environment, preexec_fn=ignore, timeout=60, check=False, capture_output=True
    )
    assert done.returncode == 9


LAUNCHER = """#!/bin/sh
if [ "$1" = --version ]; then echo "HYDRA build details:  Version:    5.0.2"; exit; fi
exit 9
"""


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_streams_that_are_closed(environment, tmp_path, closed):
    launcher = tmp_path / "mpiexec"
    launcher.write_text(LAUNCHER)
    launcher.chmod(0o755)
    words = [str(COMMAND), "run", "--mpi", str(launcher), "true"]
    done = subprocess.run(
        ["sh", "-c", f'"$@" {closed}', "sh", *words],
        env=environment, timeout=60, check=False, capture_output=True, text=True,
    )  # fmt: skip
    assert (done.returncode, done.stdout, done.stderr) == (9, "", "")


@pytest.mark.parametrize("unheard", ["2>/dev/full", "2>&1 >/dev/null | true"])
@pytest.mark.parametrize(
    "plays", [{"report": REPORT}, {"report": REPORT, "code": 9}, {"fatal": "lost\n", "code": 9}]
)
def test_standard_error_that_cannot_be_written(environment, stand_in, unheard, plays):
    mpi = stand_in("openmpi5")
    mpi.plays(**plays)
    words = [str(COMMAND), "run", "--mpi", mpi.launcher, "-n", "4000", "true"]  # with a remark
    script = f'{{ "$@"; echo $? >ended; }} {unheard}'
    subprocess.run(
        ["bash", "-c", script, "bash", *words],
        env=environment, cwd=mpi.prefix, timeout=60, check=True,
    )  # fmt: skip
    assert (mpi.prefix / "started.json").exists()
    assert int((mpi.prefix / "ended").read_text()) == plays.get("code", 0)


def test_complaint_that_nobody_hears(environment):
    done = subprocess.run(
        ["sh", "-c", '"$@" 2>/dev/full', "sh", str(COMMAND), "run", "./nope"],
        env=environment, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 127


def test_report_that_is_cut_off(environment, words):
    mpi, command = words
    (mpi.prefix / "report.json").write_text('{"version": 1, "ranks": 2, "calls": [')
    done = subprocess.run(
        command, env=environment, timeout=60, check=False, capture_output=True, text=True
    )
    assert done.returncode == 9
    assert done.stderr.startswith("tutti: there is no summary: ")


def test_report_that_cannot_be_written(tutti, words):
    result = tutti(*words[1][1:], TUTTI_REPORT="/nowhere/report.json")
    assert result.code == 2 and "/nowhere/report.json cannot be written" in result.err


def test_report_on_another_host(tutti, words):
    """Where rank 0 runs elsewhere, that host may have what this one has not."""
    result = tutti(
        *words[1][1:-1], "--hosts", "other:2", "true", TUTTI_REPORT="/nowhere/report.json"
    )
    assert result.code == 9, result.err


def test_launcher_that_is_gone(tutti, tmp_path):
    launcher = tmp_path / "mpiexec"
    launcher.write_text(LAUNCHER.replace("exit;", 'rm "$0"; exit;'))
    launcher.chmod(0o755)
    result = tutti("run", "--mpi", str(launcher), "true")
    assert (result.code, result.err) == (1, f"tutti: {launcher}: No such file or directory\n")


def test_name_that_is_too_long(tutti, words):
    result = tutti(*words[1][1:-1], "./" + 300 * "a")
    assert result.code == 127 and "there is no program ./aaa" in result.err
