# SPDX-License-Identifier: BSD-3-Clause
"""How pytest-xdist runs these tests beside each other: those of one MPI on one worker, in turn."""

from __future__ import annotations

from rig.mpis import MAIN, OPENMPI, OTHERS
from xdist.scheduler import LoadScopeScheduling

# "openmpi" is a part of "debian-openmpi".
NAMES = sorted((mpi.name for mpi in MAIN + OTHERS), key=len, reverse=True)


class ByMpi(LoadScopeScheduling):
    def _split_scope(self, nodeid: str) -> str:
        parameters = nodeid.partition("[")[2]
        return next((name for name in NAMES if name in parameters), OPENMPI.name)
