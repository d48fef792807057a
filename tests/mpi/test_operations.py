# SPDX-License-Identifier: BSD-3-Clause
"""Operations of the user: served where they block, in the order of the ranks."""

from __future__ import annotations

import json
import re

import pytest
from mpis import MAIN, OTHERS, Mpi

MEMORY = {"commons": "commons,cma,bounce", "cma": "cma", "bounce": "bounce"}


def results(mpi: Mpi, ranks: int, *arguments: str, **tutti: str) -> list[tuple[int, int]]:
    done = mpi.run(ranks, [str(mpi.compile("operations.cc", "-std=c++20")), *arguments], tutti)
    assert done.returncode == 0, done.stdout[-3000:]
    found = re.findall(r"operations: (\d+) compared, (\d+) wrong", done.stdout)
    assert len(found) == ranks, done.stdout[-3000:]
    return [(int(compared), int(wrong)) for compared, wrong in found]


@pytest.mark.parametrize("ways", MEMORY)
@pytest.mark.parametrize("ranks", [2, 3, 4])
@pytest.mark.parametrize("mpi", MAIN, ids=lambda mpi: mpi.name)
def test_results(mpi: Mpi, ranks: int, ways: str, tmp_path) -> None:
    if ranks > 2 and ways != "commons" and mpi is not MAIN[0]:
        pytest.skip("the same code whichever MPI computes")
    report = tmp_path / "report.json"
    order = "rank" if ways == "cma" else "tree"
    environment = {"TUTTI_MEMORY": MEMORY[ways], "TUTTI_REPORT": str(report), "TUTTI_ORDER": order}
    for compared, wrong in results(mpi, ranks, **environment):
        assert compared > 150 and wrong == 0
    calls = {row["collective"]: row for row in json.loads(report.read_text())["calls"]}
    for name in ("Reduce", "Scan", "Exscan", "Reduce_scatter"):
        assert calls[name]["taken"] == calls[name]["seen"], calls[name]
    gaps = calls["Allreduce"]["reasons"]
    assert list(gaps.values()) == [1], "one call with gaps is left"


@pytest.mark.parametrize("mpi", OTHERS, ids=lambda mpi: mpi.name)
def test_results_on_other_mpis(mpi: Mpi) -> None:
    assert all(wrong == 0 for _, wrong in results(mpi, 2))


@pytest.mark.parametrize("mpi", MAIN, ids=lambda mpi: mpi.name)
def test_what_is_no_operation_is_the_mpis_error(mpi: Mpi) -> None:
    assert all(wrong == 0 for _, wrong in results(mpi, 2, "refused"))
