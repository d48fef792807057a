# SPDX-License-Identifier: BSD-3-Clause
"""TUTTI_TRACE: what is recorded agrees with what the program did, on every MPI."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
from rig.mpis import MAIN, OPENMPI, OTHERS, Mpi

KINDS = {"rank": {"computing", "waiting"}, "progress": {"progress", "idle"}}
STEPS = 12
COMPUTE_US = 2000


def traced(mpi: Mpi, ranks: int, file: Path, words: list[str], **options: str) -> dict[str, Any]:
    command = [str(mpi.compile("trace.cc")), *words]
    result = mpi.run(ranks, command, {"TUTTI_TRACE": str(file), **options})
    assert result.returncode == 0 and "trace:" in result.stdout, result.stdout[-3000:]
    trace = json.loads(file.read_text())
    check(trace, ranks)
    return trace


def check(trace: dict[str, Any], ranks: int) -> None:
    """What is so in every trace: a thread does one thing at a time, and its times grow."""
    assert (trace["version"], trace["unit"]) == (1, "ns")
    cores = {row["core"] for row in trace["cores"]}
    assert len(cores) == len(trace["cores"])
    threads = defaultdict(list)
    for span in trace["spans"]:
        assert span["core"] in cores and span["kind"] in KINDS[span["executor"]]
        threads[span["rank"], span["executor"]].append(span)
    assert {rank for rank, executor in threads if executor == "rank"} == set(range(ranks))
    for spans in threads.values():
        assert all(span["begin"] <= span["end"] for span in spans)
        assert all(a["end"] <= b["begin"] for a, b in zip(spans, spans[1:]))
    assert min(span["begin"] for span in trace["spans"]) == 0
    for message in trace["messages"]:
        assert message["begin"] <= message["end"]
        assert {message[end]["core"] for end in ("from", "to")} <= cores


def of(rows: list[dict[str, Any]], what: str, rank: int) -> list[dict[str, Any]]:
    return [
        row
        for row in rows
        if row.get("what", "").startswith(what)
        and row.get("rank", row.get("to", {}).get("rank")) == rank
    ]


def calls(rows: list[dict[str, Any]]) -> int:
    found = (re.search(r", (\d+) calls$", row["what"]) for row in rows)
    return sum(int(match[1]) if match else 1 for match in found)


def check_steps(trace: dict[str, Any], ranks: int) -> None:
    assert trace["dropped"] == 0
    waited = []
    for rank in range(ranks):
        blocking = of(trace["spans"], "Allreduce 256 KiB", rank)
        assert calls(blocking) == STEPS and {row["kind"] for row in blocking} == {"waiting"}
        assert len(of(trace["spans"], "Wait", rank)) <= STEPS + 1  # and one in MPI_Finalize
        computed = sum(
            span["end"] - span["begin"]
            for span in trace["spans"]
            if span["rank"] == rank and span["kind"] == "computing"
        )
        assert computed >= 0.9 * STEPS * COMPUTE_US * 1000
        for what, count in (("Allreduce", STEPS), ("Iallreduce", STEPS + 1)):
            messages = of(trace["messages"], what, rank)
            assert sum(message["bytes"] for message in messages) == count << 18, what
        waited.append(of(trace["messages"], "Allreduce", rank))
    # On one clock nobody has left before everybody has come.
    for several in zip(*waited):
        assert max(each["begin"] for each in several) <= min(each["end"] for each in several)


@pytest.mark.alone  # where cores are busy, the ranks do all themselves
@pytest.mark.parametrize("ranks", [2, 3])
@pytest.mark.parametrize("mpi", MAIN, ids=lambda mpi: mpi.name)
def test_trace(mpi: Mpi, ranks: int, tmp_path) -> None:
    words = ["--steps", str(STEPS), "--compute", str(COMPUTE_US)]
    trace = traced(mpi, ranks, tmp_path / "trace.json", words)
    check_steps(trace, ranks)
    progress = [span["what"] for span in trace["spans"] if span["kind"] == "progress"]
    assert progress and set(progress) == {"Iallreduce 256 KiB"}


@pytest.mark.parametrize("mpi", OTHERS, ids=lambda mpi: mpi.name)
def test_other_mpis(mpi: Mpi, tmp_path) -> None:
    words = ["--steps", str(STEPS), "--compute", str(COMPUTE_US)]
    check_steps(traced(mpi, 2, tmp_path / "trace.json", words), 2)


def test_without_a_thread(tmp_path) -> None:
    words = ["--steps", str(STEPS), "--compute", str(COMPUTE_US)]
    trace = traced(OPENMPI, 2, tmp_path / "trace.json", words, TUTTI_PROGRESS="none")
    check_steps(trace, 2)
    assert {span["executor"] for span in trace["spans"]} == {"rank"}


def test_more_than_there_is_room_for(tmp_path) -> None:
    words = ["--steps", "40000", "--compute", "0", "--doubles", "1"]
    trace = traced(OPENMPI, 2, tmp_path / "trace.json", words)
    assert trace["dropped"] > 0
    threads = {(span["rank"], span["executor"]) for span in trace["spans"]}
    assert len(trace["spans"]) <= 65536 * len(threads)


@pytest.mark.alone
def test_the_clocks_of_two_nodes(tmp_path) -> None:
    """Played by two host names; the MPI does not notice."""
    program = OPENMPI.compile("trace.cc")
    words = f"--steps {STEPS} --compute {COMPUTE_US}"
    other = f'hostname other; exec "{program}" {words}'
    script = (
        f"if [ \"$OMPI_COMM_WORLD_RANK\" = 1 ]; then exec unshare -ru sh -c '{other}'; fi;"
        f' exec "{program}" {words}'
    )
    file = tmp_path / "trace.json"
    result = OPENMPI.run(2, ["sh", "-c", script], {"TUTTI_TRACE": str(file)})
    if "unshare" in result.stdout or "hostname" in result.stdout:
        pytest.skip("no namespaces here")
    assert result.returncode == 0, result.stdout[-3000:]
    trace = json.loads(file.read_text())
    check(trace, 2)
    assert all(re.fullmatch(r"node [01] core \d+", row["name"]) for row in trace["cores"])
    nodes = {span["rank"]: span["core"] >> 16 for span in trace["spans"]}
    assert nodes == {0: 0, 1: 1}
    ends = [max(s["end"] for s in trace["spans"] if s["rank"] == rank) for rank in range(2)]
    assert abs(ends[0] - ends[1]) < 50e6, "both end in MPI_Finalize"


def test_nothing_of_a_killed_job(tmp_path) -> None:
    file = tmp_path / "trace.json"
    command = [str(OPENMPI.compile("trace.cc")), "--kill", "1"]
    result = OPENMPI.run(2, command, {"TUTTI_TRACE": str(file)})
    assert result.returncode != 0
    assert list(tmp_path.iterdir()) == []


def test_nowhere_to_write(tmp_path) -> None:
    command = [str(OPENMPI.compile("trace.cc")), "--steps", "1"]
    result = OPENMPI.run(2, command, {"TUTTI_TRACE": str(tmp_path / "nope" / "trace.json")})
    assert result.returncode == 0
    said = [line for line in result.stdout.splitlines() if "could not be written" in line]
    assert len(said) == 1 and said[0].startswith("tutti: the trace could not be written to ")


def test_a_link_stays_one(tmp_path) -> None:
    link, target = tmp_path / "link.json", tmp_path / "target.json"
    link.symlink_to(target)
    traced(OPENMPI, 2, link, [])
    assert link.is_symlink() and target.exists()
