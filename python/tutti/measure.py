# SPDX-License-Identifier: BSD-3-Clause
"""Runs tutti-bench under a launcher and reads the events it prints, one JSON object a line."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from tutti import launch, paths, process
from tutti.errors import BenchError, InstallationError
from tutti.mpi import Mpi


@dataclass(frozen=True)
class Plan:
    """One run of tutti-bench: one collective at several sizes."""

    collective: str
    ranks: int
    sizes: Sequence[int]  # bytes
    dtype: str
    op: str
    memory: str  # "heap", "static" or "mmap"
    cache: str  # "cold" or "hot"
    allow_root: bool = False
    overlap: bool = False  # of the nonblocking collective, instead of the blocking one's time
    work: Sequence[int] = ()  # for each size, what the ranks compute in all; empty: as it fits
    comm_cores: int = 0

    def words(self) -> list[str]:
        return [
            str(paths.bench_program()),
            *("--collective", self.collective, "--sizes", ",".join(map(str, self.sizes))),
            *("--dtype", self.dtype, "--op", self.op),
            *("--memory", self.memory, "--cache", self.cache, "--root", "0"),
            *(("--measure", "overlap") if self.overlap else ()),
            *(("--work", ",".join(map(str, self.work))) if self.work else ()),
        ]


def events(mpi: Mpi, plan: Plan) -> Iterator[dict[str, Any]]:
    """The events of a run as they come; ends after "done", or raises what went wrong."""
    if mpi.library is None:
        raise InstallationError(f"there is no libmpi beside {mpi.launcher}, which the bench loads")
    with paths.preloadable_library() as library:
        variables = launch.rank_variables(mpi, library, os.environ)
        variables |= launch.core_variables(plan.comm_cores)
        variables["TUTTI_BENCH_LIBMPI"] = str(mpi.library)
        job = launch.Job(plan.words(), plan.ranks, allow_root=plan.allow_root)
        yield from _run(launch.build(mpi, job, variables, os.environ))


def _run(started: launch.Launch) -> Iterator[dict[str, Any]]:
    with tempfile.TemporaryFile("w+", errors="replace") as said:
        child = subprocess.Popen(
            started.words,
            env=started.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=said,
            text=True,
            errors="replace",
            preexec_fn=process.end_with_this(),  # noqa: PLW1509
        )
        try:
            yield from _read(child)
            code = child.wait()
        finally:
            if child.poll() is None:
                child.send_signal(signal.SIGTERM)  # the reader gave up: end the ranks as well
                child.wait()
        if code != 0:
            raise BenchError(_failure(code, said))


def _read(child: subprocess.Popen[str]) -> Iterator[dict[str, Any]]:
    assert child.stdout is not None
    for line in child.stdout:
        try:
            event = json.loads(line)
        except ValueError:
            continue  # the MPI's own words
        if not isinstance(event, dict) or "event" not in event:
            continue
        if event["event"] == "error":
            raise BenchError(event["message"])
        yield event


def _failure(code: int, said: Any) -> str:
    said.seek(0)
    lines = [line.strip() for line in said if line.strip(" \n-=")]
    why = f": {lines[0]}" if lines else ""
    return f"the benchmark ended with exit code {code}{why}"
