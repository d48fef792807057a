# SPDX-License-Identifier: BSD-3-Clause
"""Which algorithm a call takes: forced ones on all MPIs, what one rank says, and kept costs."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from rig.mpis import MAIN, OPENMPI, Mpi
from tutti import collectives

pytestmark = pytest.mark.alone

COMPUTE = [name.upper() for name in collectives.COMPUTE]
MOVE = [n.upper() for n in collectives.ALL if n not in ("barrier", "bcast", *collectives.COMPUTE)]
FORCED = {
    "staged": {"TUTTI_CHECK": "strict", "TUTTI_BARRIER": "dissemination", "TUTTI_BCAST": "staged"}
    | {f"TUTTI_{name}": "staged" for name in COMPUTE}
    | {f"TUTTI_{name}": "exchange" for name in MOVE},
    "direct": {"TUTTI_BARRIER": "flat", "TUTTI_BCAST": "direct"}
    | {f"TUTTI_{name}": "direct" for name in COMPUTE}
    | {f"TUTTI_{name}": "line" for name in MOVE},
}
# A machine on which payloads of two cache lines ride in a flag, and one on which none does.
QUICK, SLOW = (
    f"costs 4\nflag_ps 80000\nline_ps {line_ps}\nleft_ps 60000\nhanded_back_ps 60000\n"
    "short_ps 150000\nreserved_ps 135000\ncopy_ps 40000\nswitch_ps 1100000\n"
    for line_ps in (5000, 9_000_000)
)


def run(mpi: Mpi, ranks: int, tutti: dict[str, str], *words: str) -> None:
    """Every result against the MPI's own; see test_conformance.py."""
    program = str(mpi.compile("conformance.cc"))
    command = [*words, program, "--stride", "3"]
    result = mpi.run(ranks, command, tutti)
    assert result.returncode == 0, result.stdout[-3000:]
    assert ", 0 wrong" in result.stdout and "tutti: " not in result.stdout, result.stdout[-3000:]


# With 3 ranks and more, Intel MPI's own Reduce of 1000 MPI_LONG_DOUBLE_INT is wrong (2021.18).
@pytest.mark.parametrize("forced", FORCED)
@pytest.mark.parametrize(
    ("mpi", "ranks"),
    [*((mpi, 2) for mpi in MAIN), (OPENMPI, 3), (OPENMPI, 4)],
    ids=lambda each: getattr(each, "name", str(each)),
)
def test_forced(mpi: Mpi, forced: str, ranks: int, tmp_path: Path) -> None:
    through_slots = staged(mpi, tmp_path, FORCED[forced], ranks)
    usual = staged(mpi, tmp_path, {}, ranks)
    assert through_slots > 2 * usual if forced == "staged" else through_slots < 0.9 * usual


@pytest.mark.parametrize("mpi", MAIN, ids=lambda mpi: mpi.name)
def test_what_one_rank_says_holds_for_all(mpi: Mpi, tmp_path: Path) -> None:
    """Else ranks would take different algorithms, and wait for each other for ever."""
    words = on_last_of_two(tmp_path, FORCED["staged"])
    assert staged(mpi, tmp_path, {}, words=words) > 2 * staged(mpi, tmp_path, {})


def on_last_of_two(folder: Path, variables: dict[str, str]) -> tuple[str, ...]:
    """What runs a program whose last rank has these."""
    script = folder / "last.sh"
    lines = [f"  export {name}={value}" for name, value in variables.items()]
    rank = "${OMPI_COMM_WORLD_RANK:-$PMI_RANK}"
    script.write_text("\n".join([f'if [ "{rank}" = 1 ]; then', *lines, "fi", 'exec "$@"', ""]))
    return ("sh", str(script))


def staged(
    mpi: Mpi, folder: Path, tutti: dict[str, str], ranks: int = 2, words: tuple[str, ...] = ()
) -> int:
    """How many bytes went through the segment."""
    report = folder / "report.json"
    run(mpi, ranks, tutti | {"TUTTI_REPORT": str(report)}, *words)
    return int(json.loads(report.read_text())["ways"]["bounce"])


LEFT = ("Allreduce", "Barrier", "Alltoall")


@pytest.mark.parametrize("program", ["conformance", "moves", "nonblocking"])
@pytest.mark.parametrize("mpi", MAIN, ids=lambda mpi: mpi.name)
def test_collectives_left_to_the_mpi(mpi: Mpi, program: str, tmp_path: Path) -> None:
    """As one rank says; the others, and what Tutti needs them for itself, are still its own."""
    report = tmp_path / "report.json"
    said = {f"TUTTI_{name.upper()}": "mpi" for name in LEFT}
    words = on_last_of_two(tmp_path, said | {"TUTTI_CHECK": "strict"})
    limit = ["--stride", "5"] if program == "conformance" else ["--cases", "60"]
    if program == "nonblocking":
        limit += ["--forget", "0"]  # Open MPI frees no requests of its own collectives
    words += (str(mpi.compile(f"{program}.cc")), *limit)
    result = mpi.run(2, list(words), {"TUTTI_REPORT": str(report)})
    assert result.returncode == 0 and ", 0 wrong" in result.stdout, result.stdout[-3000:]
    rows = {row["collective"]: row for row in json.loads(report.read_text())["calls"]}
    names = {name for each in LEFT for name in (each, "I" + each.lower())}
    assert names & set(rows)
    for name, row in rows.items():
        why = "its option says mpi"
        if name in names:
            # On a communicator of one rank nothing is to be left.
            assert 0 < row["reasons"].get(why, 0) >= row["taken"], (name, row)
        else:
            assert row["taken"] > 0 and why not in row["reasons"], (name, row)


def test_an_algorithm_that_there_is_not(tmp_path: Path) -> None:
    program = str(OPENMPI.compile("conformance.cc"))
    result = OPENMPI.run(2, [program, "--stride", "50"], {"TUTTI_ALLREDUCE": "fast"})
    assert result.returncode == 0 and ", 0 wrong" in result.stdout, result.stdout[-3000:]
    said = [line for line in result.stdout.splitlines() if "TUTTI_ALLREDUCE" in line]
    assert len(said) == 1
    names = "mpi, line, staged, direct, doubling, halving, shares, ring"
    assert f"TUTTI_ALLREDUCE is none of auto, {names}; auto is used" in said[0]


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="two ranks share one core")
def test_costs_are_measured_once_and_kept(tmp_path: Path) -> None:
    cache = {"XDG_CACHE_HOME": str(tmp_path), "TUTTI_COSTS": "auto"}
    run(OPENMPI, 2, cache)
    (file,) = (tmp_path / "tutti").iterdir()
    measured = file.read_text()
    assert measured.startswith("costs 4\nflag_ps ")
    before = file.stat().st_mtime_ns
    run(OPENMPI, 2, cache)
    assert file.stat().st_mtime_ns == before and file.read_text() == measured

    file.write_text(QUICK)
    through_slots = staged(OPENMPI, tmp_path, cache)
    file.write_text(SLOW)
    assert staged(OPENMPI, tmp_path, cache) > through_slots  # what is kept decides
    assert file.read_text() == SLOW
    run(OPENMPI, 2, cache | {"TUTTI_COSTS": "measure"})
    assert file.read_text() == SLOW  # a measurement that was asked for is this program's alone
