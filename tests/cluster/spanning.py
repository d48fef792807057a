# SPDX-License-Identifier: BSD-3-Clause
"""Programs whose communicators Tutti serves though they have ranks on several hosts."""

from __future__ import annotations

from collections.abc import Sequence

from launchers import Layout
from rig.mpis import LIBRARY, Mpi

SHORT = Layout((2, 2))
UNEQUAL = Layout((3, 2, 1))
CYCLIC = Layout((2, 2), cyclic=True)
ALONE = Layout((1, 1))
LAYOUTS = [SHORT, UNEQUAL, CYCLIC, ALONE]

# Each MPI is told to give cores away, as it takes each host for a machine of its own: what takes
# minutes without it takes a second. HAN, a component of Open MPI, hangs and has wrong results where
# ranks describe the same bytes by different datatypes.
QUIRKS = {
    "openmpi": {"OMPI_MCA_mpi_yield_when_idle": "1", "OMPI_MCA_coll": "^han"},
    "impi": {"I_MPI_THREAD_YIELD": "2"},
}


def variables(mpi: Mpi, **options: str) -> dict[str, str]:
    """Those of the ranks."""
    served = {"LD_PRELOAD": str(LIBRARY), "TUTTI_NODES": "1"}
    return {**QUIRKS.get(mpi.name, {}), **served, **options}


def changed_on(ranks: str, change: str) -> Sequence[str]:
    """What starts a program so that `change`, of the shell, is made on these ranks: "0|3"."""
    script = f'case "${{OMPI_COMM_WORLD_RANK:-$PMI_RANK}}" in {ranks}) {change};; esac; exec "$@"'
    return ["sh", "-c", script, "sh"]
