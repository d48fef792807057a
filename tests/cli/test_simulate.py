# SPDX-License-Identifier: BSD-3-Clause
"""`tutti simulate`: what Denis et al. 2019 measured, on the simulated chips; and bad input."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from paper import best_levels


def cases(tutti: Any, tmp_path: Path, *words: str) -> list[dict[str, Any]]:
    file = tmp_path / "cases.json"
    result = tutti("simulate", *words, "--json", str(file))
    assert (result.code, result.err) == (0, "")
    return list(json.loads(file.read_text())["cases"])


def test_placements_of_a_chain(tutti, tmp_path):
    """Figure 7: odd-even takes about half of numa's time, and bind less than both."""
    words = ["iscan", "--bytes", "1M", "--comm-cores", "2", "--placement", "bind,numa,odd-even"]
    times = {c["placement"]: c["pure_ns"] for c in cases(tutti, tmp_path, *words)}
    assert times["numa"] / times["odd-even"] == pytest.approx(2, rel=0.1)
    assert times["bind"] < times["odd-even"]


def test_a_chain_in_one_piece_knows_no_placement(tutti, tmp_path):
    words = ["iscan", "--placement", "bind,numa,odd-even", "--piece", "1M"]
    assert len({c["pure_ns"] for c in cases(tutti, tmp_path, *words)}) == 1


def test_bind_does_not_overlap_and_odd_even_does(tutti, tmp_path):
    words = ["iscan", "--placement", "bind,odd-even", "--overlap"]
    bind, odd_even = cases(tutti, tmp_path, *words)
    assert bind["overlapped_ns"] >= 0.99 * (bind["computation_ns"] + bind["pure_ns"])
    assert odd_even["overlapped_ns"] == max(odd_even["pure_ns"], odd_even["computation_ns"])


def test_a_progress_thread_may_interrupt_its_rank(tutti, tmp_path):
    words = ["iscan", "--placement", "bind", "--overlap", "--interrupts"]
    (bind,) = cases(tutti, tmp_path, *words)
    assert bind["computation_ns"] < bind["overlapped_ns"]
    assert bind["overlapped_ns"] < 0.8 * (bind["computation_ns"] + bind["pure_ns"])


def by_ranks(rows: list[dict[str, Any]]) -> dict[int, dict[int, int]]:
    found: dict[int, dict[int, int]] = {}
    for row in rows:
        levels = row["levels"] if row["algorithm"] == "paper" else DIRECT
        found.setdefault(row["ranks"], {})[levels] = row["overlapped_ns"]
    return found


DIRECT = -1  # as levels


def test_the_models_levels_are_good_for_reduce(tutti, tmp_path):
    """Figure 18: within 5 % of the best for each number of ranks."""
    words = ["ireduce", "--bytes", "2M", "--ranks", "32:63", "--levels", "0:4", "--overlap"]
    found = by_ranks(cases(tutti, tmp_path, *words))
    assert sorted(found) == list(range(32, 64))
    for ranks, times in found.items():
        assert times[best_levels(ranks)] <= 1.05 * min(times.values()), ranks
    assert min(found, key=lambda ranks: min(found[ranks].values())) == 51


def test_more_levels_help_where_few_cores_communicate(tutti, tmp_path):
    """Figures 17 and 19, and the other trees: the same shape."""
    for name in ("ibcast", "iallreduce", "igather", "iscatter"):
        words = [name, "--ranks", "32,63", "--levels", "0,3", "--overlap"]
        found = by_ranks(cases(tutti, tmp_path, *words))
        assert found[32][0] < found[32][3], name
        assert found[63][3] < found[63][0], name


def test_direct_algorithms_need_no_tree(tutti, tmp_path):
    """What the library takes is as good as the best tree, or all but."""
    for name in ("ireduce", "ibcast", "igather", "iscatter", "iallreduce"):
        words = [name, "--ranks", "40,53,60,63", "--levels", "0:4", "--algorithm", "paper,direct"]
        size = "64K" if name in ("igather", "iscatter") else "2M"
        found = by_ranks(cases(tutti, tmp_path, *words, "--bytes", size, "--overlap"))
        assert sorted(found) == [40, 53, 60, 63]
        for ranks, times in found.items():
            direct = times.pop(DIRECT)
            most = 1.06 if name == "iallreduce" else 1
            assert direct <= most * min(times.values()), (name, ranks)


def test_levels_are_for_trees(tutti):
    result = tutti("simulate", "ibcast", "--algorithm", "direct", "--levels", "0:2")
    assert result.code == 2 and "--levels is for trees" in result.err


def test_a_skylake(tutti, tmp_path):
    words = ["ireduce", "--machine", "skylake", "--bytes", "2M", "--comm-cores", "1:16"]
    found = by_ranks(cases(tutti, tmp_path, *words, "--levels", "0:4", "--overlap"))
    assert sorted(found) == list(range(32, 48))
    assert min(found[32], key=found[32].__getitem__) == 0
    assert min(found[47], key=found[47].__getitem__) > 0


def test_the_table_and_the_plots(tutti, tmp_path):
    plot = tmp_path / "a.png"
    result = tutti("simulate", "MPI_Ireduce", "--cores", "8", "--levels", "0:1", "--bytes", "64K",
                   "--overlap", "--plot", str(plot))  # fmt: skip
    assert result.code == 0
    assert result.out.splitlines()[0].startswith("Ireduce of 64 KiB on a simulated chip: 8 cores")
    assert "least: " in result.out
    assert plot.read_bytes().startswith(b"\x89PNG")
    result = tutti("simulate", "iscan", "--ranks", "4:62", "--plot", str(plot))
    assert result.code == 0


def test_the_same_every_time(tutti):
    words = ["simulate", "iallreduce", "--levels", "0:2", "--overlap"]
    assert tutti(*words).out == tutti(*words).out


def test_a_trace(tutti, tmp_path):
    file = tmp_path / "t.json"
    result = tutti("simulate", "iscan", "--cores", "8", "--overlap", "--trace", str(file))
    assert result.code == 0
    trace = json.loads(file.read_text())
    assert [trace[k] for k in ("version", "unit", "dropped")] == [1, "ns", 0]
    assert [c["core"] for c in trace["cores"]] == list(range(8))
    ends = dict.fromkeys(range(8), 0)
    for span in trace["spans"]:
        assert span["begin"] == ends[span["core"]]
        ends[span["core"]] = span["end"]
    assert len(set(ends.values())) == 1
    assert {s["kind"] for s in trace["spans"]} == {"computing", "progress", "waiting", "idle"}
    links = {(m["from"]["rank"], m["to"]["rank"]) for m in trace["messages"]}
    assert links == {(r, r + 1) for r in range(5)}
    assert sum(m["bytes"] for m in trace["messages"]) == 5 << 20


def test_a_program_that_fails(tutti, tmp_path):
    program = tmp_path / "bin" / "tutti-simulate"
    program.parent.mkdir()
    program.write_text('#!/bin/sh\necho "broken$LD_PRELOAD" >&2\nexit 3\n')
    program.chmod(0o755)
    result = tutti("simulate", "iscan", TUTTI_HOME=str(tmp_path), LD_PRELOAD="libm.so.6")
    assert (result.code, result.out) == (5, "")
    assert result.err.startswith(f"tutti: {program} iscan machine=knl cores=64 ")
    assert result.err.endswith(" failed: broken\n")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["ibarrier"], "the collective must be one of"),
        (["iscan", "--machine", "knk"], "did you mean 'knl'"),
        (["iscan", "--placement", "even"], "--placement must be one of bind, numa, odd-even"),
        (["iscan", "--cores", "1"], "--cores must be from 2 to 1024, not 1"),
        (["iscan", "--cores", "2000"], "--cores must be from 2 to 1024"),
        (["iscan", "--domains", "3"], "64 cores cannot be divided evenly"),
        (["iscan", "--domains", "0"], "--domains 0"),
        (["iscan", "--comm-cores", "64"], "--comm-cores 64: must be from 0 to 63"),
        (["iscan", "--comm-cores", "x"], "--comm-cores x: write a number"),
        (["iscan", "--comm-cores", "2", "--ranks", "62"], "give one of them"),
        (["iscan", "--ranks", "9" * 9999], "write a number, a list"),
        (["iscan", "--ranks", "70"], "--ranks 70: must be from 1 to 64"),
        (["ireduce", "--levels", "4:0"], "--levels 4:0: must be from 0 to 20"),
        (["iscan", "--levels", "1"], "iscan is a chain"),
        (["ireduce", "--bytes", "4"], "at least 8 bytes"),
        (["ireduce", "--bytes", "1,2"], "--bytes 1,2: must be one size"),
        (["ireduce", "--bytes", "x"], "--bytes x: 'x' is no size"),
        (["ireduce", "--levels", "0:1", "--trace", "t.json"], "--trace shows one case, not 2"),
        (["iscan", "--trace", "no/t.json"], "there is no directory no"),
        (["iscan", "--json", "."], "it is a directory"),
        (["iscan", "--json", "/dev/full"], "/dev/full cannot be written"),
        (["iscan", "--plot", "a.xyz"], "a.xyz cannot be drawn"),
    ],
)
def test_bad_input(tutti, words, said):
    result = tutti("simulate", *words)
    assert result.code not in (0, 70)
    assert said in result.err
    assert result.err.count("\n") == 1
