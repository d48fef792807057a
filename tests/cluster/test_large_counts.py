# SPDX-License-Identifier: BSD-3-Clause
"""Counts, displacements, datatypes and messages beyond 2^31, between hosts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from rig.cluster import Cluster
from rig.launchers import Layout
from rig.memory import why_too_little
from rig.mpis import INTEL, MPICH, OPENMPI, Mpi
from rig.spanning import ALONE, variables

UNEVEN = Layout((2, 1))
# Open MPI 5.0 has no forms with large counts.
CASES = [
    (mpi, what)
    for mpi, programs in (
        (MPICH, ["counts", "blocks", "displacements", "datatypes"]),
        (INTEL, ["counts", "blocks", "displacements", "datatypes"]),
        (OPENMPI, ["datatypes"]),
    )
    for what in programs
]


@pytest.mark.whole
@pytest.mark.parametrize("layout", [ALONE, UNEVEN], ids=str)
@pytest.mark.parametrize(("mpi", "what"), CASES, ids=[f"{mpi.name} {what}" for mpi, what in CASES])
def test_large_counts(
    cluster: Cluster, mpi: Mpi, layout: Layout, what: str, tmp_path: Path
) -> None:
    if why := why_too_little(14):
        pytest.skip(why)
    report = tmp_path / "report.json"
    words = [str(mpi.compile("large.cc")), what]
    result = cluster.run(mpi, layout, words, variables(mpi, TUTTI_REPORT=str(report)), limit_s=240)
    assert result.code == 0 and "large: 0 wrong" in result.output, result.output
    calls = json.loads(report.read_text())["calls"]
    assert calls and all(row["messages"] > 0 and row["left"] == 0 for row in calls), calls
