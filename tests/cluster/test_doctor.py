# SPDX-License-Identifier: BSD-3-Clause
"""`tutti doctor --hosts`: the launcher reaches every host, and one that is not there is named."""

from __future__ import annotations

import json
import os

import pytest
from rig.cluster import Cluster
from rig.mpis import MAIN, Mpi
from test_run import COMMAND, rig_options


@pytest.mark.parametrize("mpi", MAIN, ids=lambda mpi: mpi.name)
def test_doctor(cluster: Cluster, mpi: Mpi) -> None:
    command = [str(COMMAND), "doctor", "--mpi", mpi.mpirun]
    environment = {**os.environ, **mpi.environment}
    alone = cluster.run_on(0, [*command, "--json", "-"], environment, limit_s=60)
    # All of them count, though the launcher may bind what it starts.
    cores = 2 * json.loads(alone.output)["machine"]["usable_cores"]

    asked = ["--hosts", "tutti-a:1,tutti-b:999,tutti-x:1", "--", *rig_options(mpi)]
    result = cluster.run_on(0, [*command, *asked], environment, limit_s=60)
    lines = [" ".join(line.split()) for line in result.output.splitlines()]
    assert result.code == 8, result.output
    for beginning in (
        "2 of 3 hosts looked at: Tutti ",
        "each: ",
        "no host tutti-x: cannot be reached: no host tutti-x -> mend what `",
        "yes Tutti /",
        "yes MPI ",
        "yes commons a process maps a peer's memfd",
        "yes a core for each rank tutti-a: 1 rank on ",
        "no a core for each rank tutti-b: 999 ranks on ",
        "tutti: 1 of 3 hosts not looked at: tutti-x",
    ):
        assert sum(line.startswith(beginning) for line in lines) == 1, beginning + result.output
    assert lines[0].endswith(f", {cores} usable cores in all")
