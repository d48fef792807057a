# SPDX-License-Identifier: BSD-3-Clause
"""Programs whose communicators Tutti serves though they have ranks on several hosts."""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from rig.cluster import Cluster
from rig.jobs import Run
from rig.launchers import Layout
from rig.mpis import LIBRARY, Mpi
from rig.peak import Peak

SHORT = Layout((2, 2))
UNEQUAL = Layout((3, 2, 1))
CYCLIC = Layout((2, 2), cyclic=True)
ALONE = Layout((1, 1))
LAYOUTS = [SHORT, UNEQUAL, CYCLIC, ALONE]

# Each MPI is told to give cores away, as it takes each host for a machine of its own: what takes
# minutes without it takes a second. HAN, a component of Open MPI, hangs and has wrong results where
# ranks describe the same bytes by different datatypes.
QUIRKS = {
    "openmpi": {
        "OMPI_MCA_mpi_yield_when_idle": "1",
        "OMPI_MCA_coll": "^han",
        "OMPI_MCA_osc": "^ucx",  # says that it cannot be used
    },
    "impi": {"I_MPI_THREAD_YIELD": "2"},
    "debian-openmpi": {"OMPI_MCA_mpi_yield_when_idle": "1"},
}
# Each host's rank has a core that no other one has, and its progress thread another one. The hosts
# share two.
BOUND = ["sh", "-c", 'exec taskset -c "${OMPI_COMM_WORLD_RANK:-$PMI_RANK}" "$@"', "sh"]
SERVED = {"LD_PRELOAD": str(LIBRARY), "TUTTI_NODES": "1"}


def lines_of(output: str) -> list[str]:
    """The lines of a run, but one: Open MPI's launcher may come too late to make its child a group
    of its own, and says so."""
    return [line for line in output.splitlines() if "Warning: setpgid(" not in line]


def variables(mpi: Mpi, **options: str) -> dict[str, str]:
    """Those of the ranks."""
    return {**QUIRKS.get(mpi.name, {}), **SERVED, **options}


def changed_on(ranks: str, change: str) -> Sequence[str]:
    """What starts a program so that `change`, of the shell, is made on these ranks: "0|3"."""
    script = f'case "${{OMPI_COMM_WORLD_RANK:-$PMI_RANK}}" in {ranks}) {change};; esac; exec "$@"'
    return ["sh", "-c", script, "sh"]


def start(
    cluster: Cluster,
    layout: Layout,
    mpi: Mpi,
    ranks: int,
    command: list[str],
    *,
    tutti: bool,
    limit_s: float,
    cwd: Path,
    peak: Peak | None = None,
    variables: dict[str, str] | None = None,
) -> Run:
    """Like rig.jobs.start, on the hosts of `layout`. Nobody looks at the memory."""
    assert ranks == sum(layout.counts)
    settings = dict(QUIRKS.get(mpi.name, {}))
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        if tutti:
            settings |= SERVED | {"TUTTI_REPORT": str(report)}
        settings |= variables or {}
        begin = time.monotonic()
        result = cluster.run(mpi, layout, command, settings, limit_s, directory=cwd)
        seconds = time.monotonic() - begin
        rows = json.loads(report.read_text())["calls"] if report.exists() else []
    code = -1 if result.code is None else result.code
    return Run(code, result.output, seconds, {row["collective"]: row for row in rows})
