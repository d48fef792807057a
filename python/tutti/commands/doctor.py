# SPDX-License-Identifier: BSD-3-Clause
"""Say what this machine offers to Tutti, and what to do about each no."""

from __future__ import annotations

import os
import subprocess
from typing import Any

import typer

from tutti import mpi, paths, probe
from tutti.errors import InstallationError
from tutti.reporters import checks
from tutti.reporters.checks import Check
from tutti.reporters.quantities import plural, show_bytes


def register(app: typer.Typer) -> None:
    app.command("doctor", help=__doc__)(doctor)


def doctor() -> None:
    machine = probe.machine()
    found = [library(), *map(mpi_check, mpi.find_all())]
    if len(found) == 1:
        no_mpi = "no mpirun or mpiexec of Open MPI, MPICH or Intel MPI is in PATH"
        found.append(Check("MPI", False, no_mpi, mpi.INSTALL_HINT))
    ways = [Check(r["title"], r["available"], r["reason"], r["advice"]) for r in probe.memory()]
    checks.print_checks(checks.machine_line(machine), [*found, *limits(machine), *ways])


def library() -> Check:
    """Whether the library is there and can be preloaded into a program."""
    try:
        path = paths.library()
    except InstallationError as error:
        return Check("Tutti", False, str(error))
    with paths.preloadable_library() as name:
        done = subprocess.run(
            ["true"],
            env={**os.environ, "LD_PRELOAD": str(name)},
            capture_output=True,
            text=True,
            check=False,
        )
    problem = done.stderr.strip().split("\n")[
        0
    ]  # the dynamic linker's; it starts the program anyway
    if done.returncode != 0 or "cannot be preloaded" in problem:
        return Check(
            "Tutti", False, problem or f"{path} breaks `true`", "rebuild it on this machine"
        )
    return Check("Tutti", True, f"{path} can be preloaded")


def mpi_check(found: mpi.Mpi) -> Check:
    if found.library is None:
        return Check(
            "MPI",
            False,
            f"{found} at {found.launcher}, without a libmpi beside it",
            "install the package with its libraries",
        )
    return Check("MPI", True, f"{found} at {found.launcher}, {found.library.name}")


def limits(machine: dict[str, Any]) -> list[Check]:
    """Whether this process may use all that the machine has."""
    usable, all_cores = machine["usable_cores"], machine["cores"]
    result = [
        Check(
            "all cores",
            usable == all_cores,
            f"{usable} of {plural(all_cores, 'core')} usable by this process",
            "widen the affinity mask (taskset, cpuset, the batch system's request)",
        )
    ]
    cgroup = machine["cgroup"]
    quota, limit = cgroup["cpus"], cgroup["memory_bytes"]
    result.append(
        Check(
            "cgroup: no CPU limit",
            quota is None or quota >= usable,
            "no quota" if quota is None else f"the time of {quota:g} CPUs is granted",
            f"start at most {max(1, int(quota or 1))} ranks, or raise the container's CPU limit",
        )
    )
    result.append(
        Check(
            "cgroup: no memory limit",
            limit is None or limit >= machine["memory_bytes"],
            "no limit" if limit is None else f"{show_bytes(limit)} may be used",
            "the commons counts as shared memory of the container: raise the limit if ranks are "
            "killed for memory",
        )
    )
    return result
