# SPDX-License-Identifier: BSD-3-Clause
"""A made-up machine, and a TUTTI_HOME whose probe tells of it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

MACHINE = {
    "cpu": "Example CPU",
    "kernel": "6.1",
    "packages": 1,
    "cores": 8,
    "pus": 8,
    "memory_bytes": 16 << 30,
    "numa_nodes": [{"index": i, "memory_bytes": 8 << 30, "pus": 4} for i in (0, 1)],
    "caches": [{"level": 3, "kind": "unified", "bytes": 32 << 20, "count": 1, "pus": 8}],
    "usable_pus": [0, 1],
    "usable_cores": 2,
    "cgroup": {"version": 2, "cpus": 1.5, "memory_bytes": 4 << 30},
}
WAYS = [
    {"name": "cma", "title": "CMA", "available": False, "reason": "denied", "advice": "allow it"},
    {"name": "commons", "title": "commons", "available": True, "reason": "works", "advice": "no"},
]
# What `tutti doctor` says of it, but for the ways to a peer's memory.
EXAMPLE = "Example CPU, 8 cores, 2 NUMA nodes, 16 GiB of memory, L3 32 MiB"
CHECKS = """\
yes  Tutti                    {library} can be preloaded
yes  MPI                      MPICH 5.0.2 at {launcher}, libmpi.so.12
no   all cores                2 of 8 cores usable by this process -> widen the affinity mask \
(taskset, cpuset, the batch system's request)
no   cgroup: no CPU limit     the time of 1.5 CPUs is granted -> start at most 1 ranks, or raise \
the container's CPU limit
no   cgroup: no memory limit  4 GiB may be used -> the commons counts as shared memory of the \
container: raise the limit if ranks are killed for memory
"""


def make_home(directory: Path, library: str) -> None:
    """The real library beside a probe that reports the made-up machine."""
    (directory / "lib").mkdir()
    shutil.copy(library, directory / "lib")
    (directory / "bin").mkdir()
    tell(directory, MACHINE, WAYS)
    probe = directory / "bin" / "tutti-probe"
    probe.write_text('#!/bin/sh\nexec /bin/cat "${0%/*/*}/$HOST$1"\n')
    probe.chmod(0o755)


def tell(home: Path, machine: dict[str, Any], ways: list[dict[str, Any]], host: str = "") -> None:
    """What the probe reports where HOST is `host`."""
    (home / f"{host}machine").write_text(json.dumps(machine))
    (home / f"{host}memory").write_text(json.dumps(ways))
