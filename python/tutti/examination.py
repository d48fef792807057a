# SPDX-License-Identifier: BSD-3-Clause
"""What `tutti doctor` looks at on the machine that it runs on."""

from __future__ import annotations

import os
import subprocess
from dataclasses import asdict, replace
from typing import Any, Optional

from tutti import mpi, paths, probe, version
from tutti.arguments import Host
from tutti.errors import InstallationError, NoMpiError
from tutti.reporters.checks import Check, checks_of
from tutti.reporters.quantities import plural, show_bytes


def examine(mpi_path: Optional[str]) -> dict[str, Any]:
    """What `tutti doctor --json` writes; of the MPIs that of `mpi_path` alone, if it is given."""
    machine = probe.machine()
    ways = [Check(r["title"], r["available"], r["reason"], r["advice"]) for r in probe.memory()]
    checks = [library(), *mpis(mpi_path), *limits(machine), *ways]
    return {
        "tutti": version(),
        "machine": machine,
        "checks": [asdict(check) for check in checks],
    }


def checks_on(host: Host, document: dict[str, Any], found: mpi.Mpi) -> list[Check]:
    """What a host said, and what only its job and the MPI of this host can tell."""
    expected = mpi_check(found)
    checks = []
    for check in checks_of(document):
        if check.title == expected.title and check.good and check.reason != expected.reason:
            advice = f"install {found} there under the same path, as on this host"
            checks.append(replace(check, good=False, advice=advice))
        else:
            checks.append(check)
    cores = usable_cores(document)
    if host.ranks:
        reason = f"{plural(host.ranks, 'rank')} on {plural(cores, 'usable core')}"
        advice = f"start at most {cores} there, unless ranks may share cores"
        checks.append(Check("a core for each rank", host.ranks <= cores, reason, advice))
    return checks


def usable_cores(document: dict[str, Any]) -> int:
    return int(document["machine"]["usable_cores"])


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
            errors="replace",
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


def mpis(mpi_path: Optional[str]) -> list[Check]:
    """The MPI of `mpi_path`, or all in PATH."""
    if mpi_path is not None:
        try:
            return [mpi_check(mpi.find(mpi_path))]
        except NoMpiError as error:
            return [Check("MPI", False, str(error), mpi.INSTALL_HINT)]
    no_mpi = "no mpirun or mpiexec of Open MPI, MPICH or Intel MPI is in PATH"
    return [mpi_check(found) for found in mpi.find_all()] or [
        Check("MPI", False, no_mpi, mpi.INSTALL_HINT)
    ]


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
