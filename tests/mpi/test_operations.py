# SPDX-License-Identifier: BSD-3-Clause
"""Operations of the user: served, in the order of the ranks, on threads of the program alone."""

from __future__ import annotations

import json
import re

import pytest
from rig.mpis import MAIN, MPICH, OPENMPI, OTHERS, Mpi
from tutti import collectives

MEMORY = {"commons": "commons,cma,bounce", "cma": "cma", "bounce": "bounce"}
REDUCTIONS = [name.capitalize() for name in collectives.COMPUTE]
BOTH = REDUCTIONS + ["I" + name.lower() for name in REDUCTIONS]

every_main = pytest.mark.parametrize("mpi", MAIN, ids=lambda mpi: mpi.name)
every_way = pytest.mark.parametrize("ways", MEMORY)


def results(mpi: Mpi, ranks: int, *arguments: str, **tutti: str) -> list[tuple[int, int]]:
    done = mpi.run(ranks, [str(mpi.compile("operations.cc", "-std=c++20")), *arguments], tutti)
    assert done.returncode == 0, done.stdout[-3000:]
    found = re.findall(r"operations: (\d+) compared, (\d+) wrong", done.stdout)
    assert len(found) == ranks, done.stdout[-3000:]
    assert all(wrong == "0" for _, wrong in found), done.stdout[-3000:]
    return [(int(compared), int(wrong)) for compared, wrong in found]


def served(mpi: Mpi, ranks: int, what: str, names: list[str], tmp_path, **tutti: str) -> int:
    """How much was compared; that all of these were Tutti's."""
    report = tmp_path / "report.json"
    [(compared, _), *_] = results(mpi, ranks, what, TUTTI_REPORT=str(report), **tutti)
    calls = {row["collective"]: row for row in json.loads(report.read_text())["calls"]}
    for name in names:
        assert calls[name]["taken"] == calls[name]["seen"] > 0, calls[name]
    return compared


def skip_if_repeated(mpi: Mpi, ranks: int, ways: str) -> None:
    if ranks > 2 and ways != "commons" and mpi is not MAIN[0]:
        pytest.skip("the same code whichever MPI computes")


@every_way
@pytest.mark.parametrize("ranks", [2, 3, 4])
@every_main
def test_results(mpi: Mpi, ranks: int, ways: str, tmp_path) -> None:
    skip_if_repeated(mpi, ranks, ways)
    order = "rank" if ways == "cma" else "tree"
    options = {"TUTTI_MEMORY": MEMORY[ways], "TUTTI_ORDER": order}
    assert served(mpi, ranks, "all", BOTH, tmp_path, **options) > 500


@every_way
@pytest.mark.parametrize("ranks", [2, 3])
@every_main
def test_elements_with_gaps(mpi: Mpi, ranks: int, ways: str, tmp_path) -> None:
    """Gaps of results stay as they are; and elements larger than any slot's."""
    skip_if_repeated(mpi, ranks, ways)
    options = {"TUTTI_MEMORY": MEMORY[ways]}
    assert served(mpi, ranks, "gaps", BOTH, tmp_path, **options) > 800


@pytest.mark.parametrize("thread", ["auto", "none"])
@every_main
def test_what_is_freed_meanwhile(mpi: Mpi, thread: str, tmp_path) -> None:
    names = ["Iallreduce", "Iscan"]
    assert served(mpi, 2, "freed", names, tmp_path, TUTTI_PROGRESS=thread) == 40


@pytest.mark.parametrize("thread", ["auto", "none"])
@every_main
def test_several_at_once(mpi: Mpi, thread: str, tmp_path) -> None:
    names = ["Iallreduce", "Allreduce"]
    assert served(mpi, 2, "outstanding", names, tmp_path, TUTTI_PROGRESS=thread) == 30


@every_way
@pytest.mark.parametrize("ranks", [2, 3])
@every_main
def test_nobody_waits_for_who_is_in_the_mpi(mpi: Mpi, ranks: int, ways: str, tmp_path) -> None:
    skip_if_repeated(mpi, ranks, ways)
    names = ["Iallreduce", "Iscan", "Ireduce_scatter_block"]
    assert served(mpi, ranks, "received", names, tmp_path, TUTTI_MEMORY=MEMORY[ways]) == 25


@pytest.mark.parametrize("mpi", OTHERS, ids=lambda mpi: mpi.name)
def test_results_on_other_mpis(mpi: Mpi) -> None:
    for what in ("all", "gaps", "freed"):
        results(mpi, 2, what)


def test_results_in_the_place_of_operands(tmp_path) -> None:
    """Without MPI_IN_PLACE, which Open MPI accepts."""
    assert served(OPENMPI, 2, "alias", ["Ireduce_scatter_block"], tmp_path) == 4


@pytest.mark.alone
def test_more_parts_than_a_slot_has_room_for(tmp_path) -> None:
    options = {"TUTTI_MEMORY": "bounce"}
    assert served(MPICH, 130, "parts", ["Reduce_scatter_block"], tmp_path, **options) == 1


@every_main
def test_what_is_no_operation_is_the_mpis_error(mpi: Mpi) -> None:
    results(mpi, 2, "refused")
