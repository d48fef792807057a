# SPDX-License-Identifier: BSD-3-Clause
"""What is not Tutti's goes on unharmed between collectives that are."""

from __future__ import annotations

import json

import pytest
from mpis import MAIN, OTHERS, Mpi


# Open MPI's own partitioned operations may hang where ranks share cores: open-mpi/ompi#12969.
@pytest.mark.alone
@pytest.mark.parametrize("mpi", MAIN + OTHERS, ids=lambda mpi: mpi.name)
def test_everything_else_is_unharmed(mpi: Mpi, tmp_path) -> None:
    report = tmp_path / "report.json"
    result = mpi.run(2, [str(mpi.compile("beside.cc"))], {"TUTTI_REPORT": str(report)})
    assert result.returncode == 0 and "beside: 0 wrong" in result.stdout, result.stdout[-3000:]
    calls = json.loads(report.read_text())["calls"]
    assert len(calls) == 21 and all(row["taken"] > 0 and row["left"] == 0 for row in calls)
