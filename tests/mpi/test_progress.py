# SPDX-License-Identifier: BSD-3-Clause
"""A rank that waits in one of Tutti's collectives goes on serving the MPI's own communication."""

from __future__ import annotations

import json
import re

import pytest
from rig.mpis import DEBIAN_OPENMPI, INTEL, MAIN, MPICH, OPENMPI, OTHERS, Mpi


def served(mpi: Mpi, arguments: list[str], tmp_path) -> None:
    report = tmp_path / "report.json"
    command = [str(mpi.compile("progress.cc")), *arguments]
    result = mpi.run(2, command, {"TUTTI_REPORT": str(report)}, timeout_s=60)
    assert (result.returncode, result.stdout.split("\n")[-2]) == (0, "progress: served")
    calls = {row["collective"]: row for row in json.loads(report.read_text())["calls"]}
    assert calls["Barrier"]["taken"] == calls["Barrier"]["seen"] > 20


@pytest.mark.parametrize("mpi", MAIN + OTHERS, ids=lambda mpi: mpi.name)
def test_progress(mpi: Mpi, tmp_path) -> None:
    served(mpi, [], tmp_path)


@pytest.mark.parametrize("mpi", MAIN, ids=lambda mpi: mpi.name)
def test_progress_in_a_session(mpi: Mpi, tmp_path) -> None:
    served(mpi, ["session"], tmp_path)


@pytest.mark.parametrize(("ranks", "level"), [(2, 0), (2, 1), (2, 2), (2, 3), (3, 0), (3, 3)])
@pytest.mark.parametrize("mpi", MAIN, ids=lambda mpi: mpi.name)
def test_collectives_alone_bring_all_forward(mpi: Mpi, ranks: int, level: int) -> None:
    # Intel MPI alone takes a minute for 18000.
    messages = 1000 if mpi is INTEL else 20000
    command = [str(mpi.compile("only_collectives.cc")), str(level), str(messages)]
    result = mpi.run(ranks, command, {}, timeout_s=150)
    assert (result.returncode, result.stdout.split("\n")[-2]) == (0, "only_collectives: went on")


# The others' progress never yields.
@pytest.mark.parametrize("mpi", [OPENMPI, DEBIAN_OPENMPI], ids=lambda mpi: mpi.name)
def test_looks_keep_the_core(mpi: Mpi) -> None:
    result = mpi.run(4, [str(mpi.compile("yields.cc", "-rdynamic"))], {}, timeout_s=120)
    found = re.search(r"yields: (\d+) by the MPI in 20000 calls, (\d+) elsewhere", result.stdout)
    assert result.returncode == 0 and found, result.stdout[-3000:]
    assert int(found[1]) == 0 and int(found[2]) > 0


@pytest.mark.parametrize("way", range(6))
@pytest.mark.parametrize("mpi", MAIN, ids=lambda mpi: mpi.name)
def test_without_a_thread(mpi: Mpi, way: int) -> None:
    """What waits for another rank brings collectives forward where no thread does."""
    command = [str(mpi.compile("unserved.cc")), str(way)]
    result = mpi.run(2, command, {"TUTTI_PROGRESS": "none"}, timeout_s=30)
    assert (result.returncode, result.stdout) == (0, "unserved: 0 wrong\n")


# Of those that MPICH alone finds one at a time, several looks find no more.
@pytest.mark.parametrize("ranks", [2, 4])
@pytest.mark.parametrize("mpi", MAIN, ids=lambda mpi: mpi.name)
def test_a_probe_finds_what_came_before(mpi: Mpi, ranks: int) -> None:
    if mpi is MPICH and ranks > 2:
        pytest.skip("MPICH alone misses some, too")
    result = mpi.run(ranks, [str(mpi.compile("probes.cc"))], {}, timeout_s=120)
    assert (result.returncode, result.stdout) == (0, "missed 0 of 400\n")


@pytest.mark.parametrize("mpi", MAIN, ids=lambda mpi: mpi.name)
def test_a_first_type_waits_for_no_other_thread(mpi: Mpi) -> None:
    result = mpi.run(2, [str(mpi.compile("types_while.cc"))], {}, timeout_s=30)
    assert (result.returncode, result.stdout) == (0, "types_while: 4 at level 3\n")
