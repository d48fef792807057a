# SPDX-License-Identifier: BSD-3-Clause
"""After an error that a program handles, its communicator lives on: the MPI takes it over."""

from __future__ import annotations

import json

import pytest
from rig.mpis import MAIN, Mpi

every_mpi = pytest.mark.parametrize("mpi", MAIN, ids=lambda mpi: mpi.name)


# With more ranks than cores MPICH takes milliseconds for each message.
@every_mpi
@pytest.mark.parametrize("how", ["called", "started"])
@pytest.mark.parametrize(("ranks", "rung"), [(2, "bounce"), (3, "commons,cma,bounce")])
def test_what_follows_an_error_goes_well(
    mpi: Mpi, ranks: int, rung: str, how: str, tmp_path
) -> None:
    report = tmp_path / "report.json"
    words = ["started"] if how == "started" else []
    environment = {"TUTTI_MEMORY": rung, "TUTTI_REPORT": str(report)}
    result = mpi.run(ranks, [str(mpi.compile("leaving.cc")), "1", *words], environment)
    assert result.returncode == 0 and "leaving: 0 wrong" in result.stdout, result.stdout[-3000:]
    calls = {row["collective"]: row for row in json.loads(report.read_text())["calls"]}
    reason = "an earlier call on the communicator failed"
    allreduce = calls["Iallreduce" if how == "started" else "Allreduce"]
    assert allreduce["reasons"][reason] > 0 and allreduce["taken"] > 0
