# SPDX-License-Identifier: BSD-3-Clause
"""A signal reaches the launcher once, whether the terminal or another process sends it."""

from __future__ import annotations

import os
import pty
import select
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Optional

import pytest
from conftest import COMMAND
from rig import mpis, wheels

# Exits with the number of signals it got; the second one, if any, follows the first at once.
COUNTS = """#!{python}
import signal, sys
if sys.argv[1:] == ["--version"]:
    print("HYDRA build details:\\n    Version:    5.0.2")
    sys.exit()
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT, signal.SIGTERM, signal.SIGUSR1])
print("ready", flush=True)
waited = [signal.SIGINT, signal.SIGTERM, signal.SIGUSR1]
count = 1 if signal.sigwait(waited) else 0
while signal.sigtimedwait(waited, 1):
    count += 1
sys.exit(10 + count)
"""
DIES = """#!/bin/sh
if [ "$1" = --version ]; then echo "HYDRA build details:  Version:    5.0.2"; exit; fi
kill -{number} $$
"""


@pytest.fixture
def words(tmp_path):
    launcher = tmp_path / "mpirun"
    launcher.write_text(COUNTS.format(python=sys.executable))
    launcher.chmod(0o755)
    return [str(COMMAND), "run", "--mpi", str(launcher), "true"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGUSR1])
def test_from_another_process(environment, words, number):
    started = subprocess.Popen(words, env=environment, stdout=subprocess.PIPE, text=True)
    assert started.stdout is not None
    assert started.stdout.readline() == "ready\n"
    started.send_signal(number)
    assert started.wait(timeout=60) == 11


def test_from_the_terminal(environment, words):
    child, terminal = pty.fork()
    if child == 0:
        os.execve(words[0], words, environment)
    said = b""
    while b"ready" not in said:
        said += os.read(terminal, 100)
    os.write(terminal, b"\x03")
    _, status = os.waitpid(child, 0)
    os.close(terminal)
    assert os.waitstatus_to_exitcode(status) == 11


@pytest.mark.parametrize("number", [9, 15])
def test_a_launcher_that_dies_by_a_signal(tutti, tmp_path, number):
    launcher = tmp_path / "mpirun"
    launcher.write_text(DIES.format(number=number))
    launcher.chmod(0o755)
    result = tutti("run", "--mpi", str(launcher), "true")
    assert (result.code, result.err) == (128 + number, "")


# Says that it was started, and how it was ended.
STAYS = """#!{python}
import signal, sys
from pathlib import Path
if sys.argv[1:] == ["--version"]:
    print("HYDRA build details:\\n    Version:    5.0.2")
    sys.exit()
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
Path("started").touch()
signal.sigwait([signal.SIGTERM])
Path("ended").touch()
"""


@pytest.mark.parametrize(
    "words", [("run", "true"), ("bench", "barrier"), ("doctor", "--hosts", "a")], ids=" ".join
)
def test_a_command_that_is_killed(environment, tmp_path, words):
    launcher = tmp_path / "bin" / "mpirun"
    for file in (launcher, tmp_path / "lib" / "libmpi.so.12"):
        file.parent.mkdir()
        file.write_bytes(b"\x7fELF")
    launcher.write_text(STAYS.format(python=sys.executable))
    launcher.chmod(0o755)
    words = [str(COMMAND), words[0], "--mpi", str(launcher), *words[1:]]
    started = subprocess.Popen(words, env=environment, cwd=tmp_path)
    wait_for(tmp_path / "started", started)
    started.kill()
    assert started.wait(timeout=60) == -signal.SIGKILL
    wait_for(tmp_path / "ended", None)


def wait_for(file: Path, started: Optional[subprocess.Popen[bytes]]) -> None:
    """Until it is there; what is to make it must not end meanwhile."""
    deadline = time.monotonic() + 30
    while not file.exists():
        assert started is None or started.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.01)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_launchers_that_a_command_has_started(environment, tmp_path, number):
    launcher = tmp_path / "mpirun"
    launcher.write_text(STAYS.format(python=sys.executable))
    launcher.chmod(0o755)
    heeded = ["env", "--default-signal=TERM,HUP"]  # nohup may have the tests ignore one
    words = [*heeded, str(COMMAND), "doctor", "--mpi", str(launcher), "--hosts", "a"]
    started = subprocess.Popen(words, env=environment, cwd=tmp_path, stdout=subprocess.DEVNULL)
    while not (tmp_path / "started").exists():
        assert started.poll() is None
        time.sleep(0.01)
    started.send_signal(number)
    if number == signal.SIGTERM:  # as from `timeout`
        started.send_signal(number)
    assert started.wait(timeout=60) == 128 + number
    assert (tmp_path / "ended").exists()
    assert not list(tmp_path.glob("tutti-*"))  # its temporary files


def test_a_launcher_that_does_not_say_its_version(environment, tmp_path):
    launcher = tmp_path / "mpirun"
    launcher.write_text(f"#!/bin/sh\ntouch {tmp_path}/asked\nexec sleep 1000\n")
    launcher.chmod(0o755)
    words = [str(COMMAND), "doctor", "--mpi", str(launcher)]
    started = subprocess.Popen(words, env=environment, stdout=subprocess.DEVNULL)
    while not (tmp_path / "asked").exists():
        assert started.poll() is None
        time.sleep(0.01)
    started.send_signal(signal.SIGTERM)
    assert started.wait(timeout=20) == 128 + signal.SIGTERM


def interrupted_job(pipe: Path) -> None:
    job = ["sh", "-c", 'exec 3>"$0"; echo started >&3; sleep 60; exit', str(pipe)]
    mpis.run_job(job, dict(os.environ), 60)


def interrupted_run(pipe: Path) -> None:
    mpi = SimpleNamespace(words=lambda ranks, program, _: program, environment={})
    job = ["sh", "-c", 'exec 3>"$0"; echo started >&3; echo started; sleep 60; exit', str(pipe)]
    lines = wheels.run(mpi, 1, job, with_tutti=False)
    assert next(lines) == "started"
    lines.throw(KeyboardInterrupt)


@pytest.mark.parametrize("interrupted", [interrupted_job, interrupted_run])
def test_jobs_of_a_script_that_is_interrupted(tmp_path, monkeypatch, interrupted):
    """All that the job starts has the pipe open, which ends with the last of them."""
    os.mkfifo(tmp_path / "pipe")
    pipe = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)

    def communicate(*_: object, **__: object) -> None:
        select.select([pipe], [], [], 60)
        raise KeyboardInterrupt

    monkeypatch.setattr(subprocess.Popen, "communicate", communicate)
    with pytest.raises(KeyboardInterrupt):
        interrupted(tmp_path / "pipe")
    assert select.select([pipe], [], [], 60)[0] and os.read(pipe, 100) == b"started\n"
    assert select.select([pipe], [], [], 10)[0] and os.read(pipe, 100) == b"", "a job is left"
    os.close(pipe)
