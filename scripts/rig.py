# SPDX-License-Identifier: BSD-3-Clause
"""What demo.py and record.py share: the MPIs of `make setup`, and running programs on them."""

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

ROOT = Path(__file__).resolve().parent.parent


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
        if started:
            started(process)
        for line in process.stdout:
            tail = [*tail[-9:], line.rstrip()]
            yield line.rstrip("\n")
    if process.returncode != 0:
        end = "it took too long" if process.returncode == 124 else f"exit {process.returncode}"
        raise RigError(f"{' '.join(command)}: {end}\n" + "\n".join(tail))


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


def size_text(size: int) -> str:
    """4194304 -> '4 MiB'."""
    for unit, name in ((1 << 20, "MiB"), (1 << 10, "KiB")):
        if size >= unit and size % unit == 0:
            return f"{size // unit} {name}"
    return f"{size} B"


def time_text(us: float) -> str:
    """A time in the unit that suits it, with three digits that count."""
    for unit, name in ((1e6, "s"), (1e3, "ms"), (1, "µs")):
        if us >= unit * (0.1 if name == "µs" else 1):
            return f"{us / unit:.3g} {name}" if us / unit < 999.5 else f"{us / unit:.0f} {name}"
    return f"{us * 1000:.2g} ns"
