# SPDX-License-Identifier: BSD-3-Clause
"""`tutti explain`: the choice, what the others would cost, forced ones; and bad input."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from tutti import clusters, collectives

USUAL = {"TUTTI_COSTS": "usual"}


def explain(
    tutti: Any, tmp_path: Path, *words: str, env: dict[str, str] | None = None
) -> dict[str, Any]:
    file = tmp_path / "said.json"
    result = tutti("explain", *words, "--json", str(file), **(env or USUAL))
    assert (result.code, result.err) == (0, "")
    return dict(json.loads(file.read_text()))


def test_what_is_printed(tutti):
    result = tutti("explain", "MPI_Iallreduce", "--bytes", "64K", "-n", "128", **USUAL)
    assert (result.code, result.err) == (0, "")
    lines = [line.rstrip() for line in result.out.splitlines()]
    assert lines[0].startswith("MPI_Allreduce of 65536 bytes on 128 ranks of a node runs direct: ")
    assert "of at most 112 bytes" in next(line for line in lines if line.startswith("line "))
    assert next(line for line in lines if line.startswith("direct ")).endswith("chosen")
    assert "by size: line up to 112 bytes, staged up to 8191 bytes, direct above" in lines
    assert lines[-1] == "TUTTI_ALLREDUCE=staged tutti run -n 128 ... runs another one"


@pytest.mark.parametrize("collective", collectives.ALL)
def test_every_collective(tutti, tmp_path, collective):
    said = explain(tutti, tmp_path, collective)
    assert said["collective"].lower() == collective
    rows = {row["name"]: row for row in said["algorithms"]}
    assert rows[said["chosen"]]["fits"] and rows[said["chosen"]]["ns"] > 0
    assert min(row["ns"] for row in rows.values() if row["fits"]) == rows[said["chosen"]]["ns"]
    assert said["sizes"][-1]["most_bytes"] is None


def test_ranks_that_share_cores(tutti, tmp_path):
    words = ("allreduce", "--bytes", "8K", "-n", "4")
    assert explain(tutti, tmp_path, *words)["chosen"] == "direct"
    assert explain(tutti, tmp_path, *words, "--cores", "4")["chosen"] == "direct"
    assert explain(tutti, tmp_path, *words, "--cores", "2")["chosen"] == "staged"
    assert " 4 ranks of a node on 2 cores runs " in tutti("explain", *words, "--cores", "2").out


def test_an_operation_of_the_user(tutti, tmp_path):
    said = explain(tutti, tmp_path, "reduce", "--user-op", "--bytes", "1K")
    assert said["chosen"] == "gathered"


def test_forced(tutti, tmp_path):
    forced = USUAL | {"TUTTI_ALLREDUCE": "staged"}
    said = explain(tutti, tmp_path, "allreduce", "--bytes", "1M", env=forced)
    assert (said["forced"], said["chosen"]) == ("staged", "staged")
    forced = USUAL | {"TUTTI_ALLREDUCE": "line"}
    result = tutti("explain", "allreduce", "--bytes", "1M", **forced)
    assert "line is forced, but cannot run this call" in result.out


@pytest.mark.parametrize(
    ("words", "else_"), [((), "line"), (("--nodes", "2"), "doubling")], ids=["a node", "nodes"]
)
def test_what_is_left_to_the_mpi(tutti, words, else_):
    said = tutti("explain", "allreduce", *words, **USUAL, TUTTI_ALLREDUCE="mpi").out
    assert f"is left to the MPI by TUTTI_ALLREDUCE; else it would run {else_}: " in said
    assert "is forced" not in said


@pytest.mark.parametrize("name", ["fast", "[/]"])
def test_an_algorithm_that_there_is_not(tutti, name):
    result = tutti("explain", "allreduce", **USUAL, TUTTI_ALLREDUCE=name)
    assert f"{name} is forced, but no algorithm of a node has that name" in result.out


def leaders(tutti: Any, tmp_path: Path, *words: str, **env: str) -> dict[str, Any]:
    return explain(tutti, tmp_path, *words, "--nodes", "4", env=env or None)


def taken(said: dict[str, Any]) -> str:
    return str(next(row["name"] for row in said["algorithms"] if row["chosen"]))


def test_leaders(tutti):
    words = ("alltoall", "-n", "4", "--nodes", "4")
    result = tutti("explain", *words)
    assert (result.code, result.err) == (0, "")
    lines = [line.rstrip() for line in result.out.splitlines()]
    assert lines[0] == (
        "MPI_Alltoall of 8 bytes on 4 nodes of 4 ranks runs packed: leaders pack blocks"
    )
    rows = {line.split("  ")[0]: line.split() for line in lines}
    assert rows["packed"][2:] == ["12", "1536", "chosen"]  # messages, bytes
    assert rows["direct"][2] == "192"
    assert rows["(no leaders)"][3] == "44" and lines[-4].endswith("each rank by itself, forwarded")
    assert lines[-1] == "TUTTI_ALLTOALL=forwarded runs another one"


@pytest.mark.parametrize("collective", clusters.COLLECTIVES)
def test_every_collective_of_leaders(tutti, tmp_path, collective):
    said = leaders(tutti, tmp_path, collective, "-n", "2")
    rows = said["algorithms"]
    assert [row["chosen"] for row in rows].count(True) == 1
    led = [case["algorithm"] for case in said["cases"] if case["scheme"] == "leaders"]
    assert led == [row["name"] for row in rows if row["fits"]] == [row["name"] for row in rows]
    assert all(case["compared"] and case["ns"] > 0 for case in said["cases"])
    assert [case["scheme"] for case in said["cases"]].count("flat") == 1


def test_options_of_leaders(tutti, tmp_path):
    words = ("alltoall", "--bytes", "8K", "-n", "2")
    assert taken(leaders(tutti, tmp_path, *words)) == "direct"
    assert taken(leaders(tutti, tmp_path, *words, TUTTI_PACKED="16K")) == "packed"


def test_many_leaders(tutti, tmp_path):
    """What would take long is not simulated."""
    words = ("alltoall", "--bytes", "4K", "-n", "64", "--nodes", "1024")
    said = explain(tutti, tmp_path, *words)
    assert (said["cases"], taken(said)) == ([], "direct")
    assert [row["name"] for row in said["algorithms"] if row["fits"]] == ["direct"]
    assert "not simulated, as that would take long" in tutti("explain", *words).out
    assert explain(tutti, tmp_path, "allreduce", "-n", "32", "--nodes", "8")["cases"]
    assert not explain(tutti, tmp_path, "allreduce", "-n", "33", "--nodes", "8")["cases"]
    words = ("bcast", "-n", "1", "--nodes", "4", "--bytes")
    assert explain(tutti, tmp_path, *words, "256M")["cases"]
    assert not explain(tutti, tmp_path, *words, "257M")["cases"]


def test_forced_leaders(tutti, tmp_path):
    said = leaders(tutti, tmp_path, "allreduce", "--bytes", "1M", TUTTI_ALLREDUCE="shares")
    assert (said["forced"], taken(said)) == ("shares", "shares")
    words = ("explain", "allreduce", "--nodes", "4", "--bytes", "16M")
    assert "shares is forced, but cannot run" in tutti(*words, TUTTI_ALLREDUCE="shares").out
    said_of_node = tutti("explain", "allreduce", **USUAL, TUTTI_ALLREDUCE="shares").out
    assert "shares is forced, but no algorithm of a node has that name" in said_of_node


def test_costs(tutti, tmp_path):
    """What is kept is read; else two threads measure, and keep nothing."""
    env = {"XDG_CACHE_HOME": str(tmp_path), "TUTTI_COSTS": "auto"}
    first = explain(tutti, tmp_path, "allreduce", env=env)["costs"]
    cores = len(os.sched_getaffinity(0))
    assert first["source"] == ("measured" if cores > 1 else "usual")
    assert not (tmp_path / "tutti").exists()
    assert explain(tutti, tmp_path, "allreduce")["costs"]["source"] == "usual"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["allreduse"], "did you mean 'allreduce'?"),
        (["allreduce", "-n", "1"], "-n must be from 2 to 4096, not 1"),
        (["allreduce", "-n", "5000"], "-n must be from 2 to 4096, not 5000"),
        (["allreduce", "--cores", "0"], "--cores must be from 1 to 4096, not 0"),
        (["allreduce", "--bytes", "many"], "--bytes many: 'many' is no size"),
        (["allreduce", "--bytes", "9" * 5000], "9' is no size"),
        (["allreduce", "--bytes", "8:64"], "must be one size"),
        (["barrier", "--bytes", "8"], "it moves nothing"),
        (["gatherv", "--bytes", "8"], "no rank knows the others' sizes"),
        (["bcast", "--user-op"], "bcast computes nothing"),
        (["bcast", "--nodes", "2,4"], "--nodes 2,4: must be one number"),
        (["bcast", "--nodes", "4", "--cores", "2"], "leave out --user-op and --cores"),
        (["reduce", "--nodes", "4", "--user-op"], "leave out --user-op and --cores"),
        (["bcast", "--nodes", "4", "--bytes", "8,64K"], "must be one size"),
        (["bcast", "--nodes", "4", "-n", "0"], "-n 0: must be from 1"),
        (["bcast", "--nodes", "4096", "-n", "33"], "-n 33: must be from 1 to 32"),
        (["bcast", "--network", "ethernet"], "--network is between nodes"),
        (["barrier", "--nodes", "4", "--bytes", "8"], "a barrier moves none"),
        (["gatherv", "--nodes", "4"], "the collective must be one of barrier, bcast,"),
        (["bcast", "--json", "/no/such/x.json"], "there is no directory /no/such"),
    ],
)
def test_bad_input(tutti, words, said):
    result = tutti("explain", *words)
    assert result.code == 2 and said in result.err and result.err.count("\n") == 1
