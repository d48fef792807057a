# SPDX-License-Identifier: BSD-3-Clause
"""Runs `tutti doctor` on hosts, by the launcher that starts ranks there.

Each host has a launch of its own. So one that cannot be reached keeps nobody from the others, and
what a launcher says is about one host.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Optional

from tutti import launch, launcher_words, paths, process, version
from tutti.arguments import Host
from tutti.mpi import Mpi

LIMIT_S = 30.0
END_S = 5.0  # for launchers to end, before they are killed
AT_ONCE = 16
# What runs on the host. It says that it was reached before it looks for Tutti, and ends with 0, as
# launchers have much to say about other codes.
REACHED = "tutti doctor is here"
SCRIPT = f"""exec 2>&1
echo {REACHED}
if [ -x "$0" ]; then "$0" "$@"; else echo "there is no $0"; fi
exit 0"""
# As `python -m tutti`, which would take modules from the working directory.
TUTTI = "import sys; sys.path = [p for p in sys.path if p]; from tutti.cli import main; main()"
# With them Python finds its libraries and Tutti, if modules of the user's shell have set them.
PYTHON_VARIABLES = ("LD_LIBRARY_PATH", "PYTHONPATH")
# Lines that do not say why a host cannot be reached. Warnings, of ssh or a launcher, are about what
# went on nevertheless.
CHATTER = re.compile(r"\[(mpiexec|proxy)\S*@|.*\bWarning: |\W*$")
LINE_CHARACTERS = 200


class Answer(NamedTuple):
    """What a host says; without a document there is a problem."""

    host: Host
    document: Optional[dict[str, Any]]  # of `tutti doctor --json`
    problem: str = ""
    advice: str = ""


class _Started(NamedTuple):
    host: Host
    launcher: subprocess.Popen[bytes]
    said: Path  # by the host
    complaints: Path  # of the launcher


def look(mpi: Mpi, hosts: Sequence[Host], options: Sequence[str], allow_root: bool) -> list[Answer]:
    """What `tutti doctor` says on each of them; `options` are the launcher's."""
    answers = []
    with paths.temporary_directory() as directory:
        for first in range(0, len(hosts), AT_ONCE):
            started: list[_Started] = []
            try:
                for at, host in enumerate(hosts[first : first + AT_ONCE]):
                    words = _launch(mpi, host, options, allow_root)
                    started.append(_start(host, words, directory / str(first + at)))
                end = time.monotonic() + LIMIT_S
                answers += [_answer(mpi, each, options, end) for each in started]
            finally:
                _end([each.launcher for each in started])
    return answers


def _launch(mpi: Mpi, host: Host, options: Sequence[str], allow_root: bool) -> launch.Launch:
    asked = ["doctor", "--json", "-", "--mpi", str(mpi.launcher.absolute())]
    app = ["sh", "-c", SCRIPT, sys.executable, "-c", TUTTI, *asked]
    variables = {
        name: value
        for name, value in os.environ.items()
        if name.startswith("TUTTI_") or name in PYTHON_VARIABLES
    }
    # The cores of the host count, and not those that the launcher would give to one rank.
    if mpi.family == "openmpi" and not any(
        name.endswith("-bind-to") for name in launcher_words.names(options)
    ):
        options = ["--bind-to", "none", *options]
    if mpi.family == "intel":
        variables["I_MPI_PIN"] = "off"
    job = launch.Job(app, 1, options, allow_root, [Host(host.name, 1)])
    return launch.build(mpi, job, variables, os.environ)


def _start(host: Host, started: launch.Launch, stem: Path) -> _Started:
    said, complaints = stem.with_suffix(".out"), stem.with_suffix(".err")
    with said.open("wb") as out, complaints.open("wb") as err:
        launcher = subprocess.Popen(
            started.words,
            env=started.environment,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=err,
            start_new_session=True,  # without a terminal nobody asks for a password there
            preexec_fn=process.end_with_this(),  # noqa: PLW1509
        )
    return _Started(host, launcher, said, complaints)


def _end(launchers: Iterable[subprocess.Popen[bytes]]) -> None:
    running = [launcher for launcher in launchers if launcher.poll() is None]
    for launcher in running:
        launcher.terminate()  # a launcher that is asked ends what it has started
    end = time.monotonic() + END_S
    for launcher in running:
        with contextlib.suppress(subprocess.TimeoutExpired):
            launcher.wait(max(0.0, end - time.monotonic()))
        with contextlib.suppress(ProcessLookupError):
            os.killpg(launcher.pid, signal.SIGKILL)
        launcher.wait()


def _answer(mpi: Mpi, started: _Started, options: Sequence[str], end: float) -> Answer:
    """Waits for the launcher until `end`."""
    host = started.host
    late = False
    try:
        started.launcher.wait(max(0.0, end - time.monotonic()))
    except subprocess.TimeoutExpired:
        late = True
    before, reached, said = started.said.read_text(errors="replace").partition(REACHED)
    if not reached:
        # MPICH 4.0 waits for ever for a host to which ssh finds no way.
        why = _first_line(started.complaints.read_text(errors="replace") + before)
        why = f"no answer within {LIMIT_S:g} s: {why}" if late else why
        trial = ["tutti", "run", "--mpi", str(mpi.launcher), "--hosts", f"{host.name}:1"]
        advice = f"mend what `{shlex.join([*trial, *options, '--', 'hostname'])}` says"
        return Answer(host, None, f"cannot be reached: {why}", advice)
    document = _document(said)
    install = f"install Tutti {version()} there, under the same path as here"
    if document is None:
        why = f"not within {LIMIT_S:g} s" if late else _last_line(said)
        return Answer(host, None, f"its Tutti does not answer: {why}", install)
    if document["tutti"] != version():
        other = f"it has Tutti {document['tutti']}, and this host has {version()}"
        return Answer(host, None, other, install)
    return Answer(host, document)


def _document(said: str) -> Optional[dict[str, Any]]:
    """The doctor's, wherever it begins: others may print there, too."""
    begin = re.search(r'\{\s*"tutti":', said)
    if begin is None:
        return None
    try:
        return dict(json.JSONDecoder().raw_decode(said, begin.start())[0])
    except ValueError:
        return None


def _first_line(text: str) -> str:
    """The first that tells something."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    telling = [line for line in lines if not CHATTER.match(line)]
    return (telling or lines or ["the launcher does not say why"])[0][:LINE_CHARACTERS]


def _last_line(text: str) -> str:
    return (text.strip().splitlines() or ["it says nothing"])[-1][:LINE_CHARACTERS]
