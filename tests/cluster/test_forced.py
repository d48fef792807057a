# SPDX-License-Identifier: BSD-3-Clause
"""Algorithms between hosts that an option names: every result against the MPI's own."""

from __future__ import annotations

from pathlib import Path

import pytest
from cluster import Cluster
from launchers import Layout
from rig.mpis import INTEL, MAIN, MPICH, Mpi
from spanning import LAYOUTS, SHORT, changed_on, layout_cases
from test_compared import MOVES, SUMS, compared

# Those for large calls, and those for small ones; the calls are of either kind.
FORCED = {
    "large": {
        **dict.fromkeys(("BCAST", "REDUCE", "SCAN", "EXSCAN"), "chain"),
        **dict.fromkeys(("ALLREDUCE", "ALLGATHER", "ALLGATHERV"), "ring"),
        **dict.fromkeys(("GATHER", "SCATTER", "ALLTOALL", "ALLTOALLV", "ALLTOALLW"), "direct"),
        **dict.fromkeys(("REDUCE_SCATTER", "REDUCE_SCATTER_BLOCK"), "pairwise"),
    },
    "small": {
        **dict.fromkeys(("BCAST", "REDUCE", "GATHER", "SCATTER"), "binomial"),
        **dict.fromkeys(("SCAN", "EXSCAN", "ALLGATHER", "ALLGATHERV"), "doubling"),
        **dict.fromkeys(("REDUCE_SCATTER", "REDUCE_SCATTER_BLOCK"), "halving"),
        "ALLREDUCE": "shares",
        "ALLTOALL": "forwarded",
    },
}
CASES = layout_cases(MAIN, LAYOUTS, lambda mpi, layout: mpi is MPICH and layout is SHORT)


@pytest.mark.parametrize("forced", FORCED)
@pytest.mark.parametrize(("mpi", "layout"), CASES)
def test_results(
    cluster: Cluster,
    mpi: Mpi,
    layout: Layout,
    forced: str,
    tmp_path: Path,
    pytestconfig: pytest.Config,
) -> None:
    """Rank 1 alone says which; else hosts would wait for each other for ever."""
    exports = " ".join(f"TUTTI_{name}={value}" for name, value in FORCED[forced].items())
    words = list(changed_on("1", f"export {exports}"))
    whole = pytestconfig.getoption("--whole")
    report = tmp_path / "report.json"
    # As in test_compared.py.
    sums = [str(mpi.compile("conformance.cc")), "--stride", "100" if whole else "400"]
    sums += ["--reduce-to-null", "0"] if mpi is INTEL else []
    count, _ = compared(cluster, mpi, layout, words + sums, report)
    assert count > 30
    cases = 60 if whole else 30
    moves = [str(mpi.compile("moves.cc")), "--cases", str(cases)]
    count, calls = compared(cluster, mpi, layout, words + moves, report)
    assert count == cases * sum(layout.counts)
    assert all(calls[name]["taken"] > 0 for name in (*MOVES, *SUMS)), calls
