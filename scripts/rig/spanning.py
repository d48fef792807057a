# SPDX-License-Identifier: BSD-3-Clause
"""Programs whose communicators Tutti serves though they have ranks on several hosts."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

from rig.cluster import Cluster
from rig.jobs import Run, rows_of
from rig.launchers import Layout
from rig.mpis import LIBRARY, Mpi
from rig.peak import Peak

ALONE = Layout((1, 1))

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


def variables(mpi: Mpi, **options: str) -> dict[str, str]:
    """Those of the ranks."""
    return {**QUIRKS.get(mpi.name, {}), **SERVED, **options}


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
        calls = rows_of(report)
    code = -1 if result.code is None else result.code
    return Run(code, result.output, seconds, calls)
