# SPDX-License-Identifier: BSD-3-Clause
"""`tutti simulate --nodes`: what Mamidala et al. 2007 measured, on simulated clusters; bad input.

Each run compares all results with what they have to be, and fails if one is wrong.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
from tutti import clusters

PAPER = ("--network", "infiniband-2007", "--ranks", "8", "--nodes", "4")


def cases(tutti: Any, tmp_path: Path, *words: str) -> list[dict[str, Any]]:
    file = tmp_path / "cases.json"
    result = tutti("simulate", *words, "--json", str(file))
    assert (result.code, result.err) == (0, "")
    return list(json.loads(file.read_text())["cases"])


def times(rows: list[dict[str, Any]]) -> dict[tuple[str, int], int]:
    return {(row["scheme"], row["bytes"]): row["ns"] for row in rows}


@pytest.mark.parametrize("layout", clusters.LAYOUTS)
@pytest.mark.parametrize("collective", clusters.COLLECTIVES)
def test_results_are_right(tutti, tmp_path, collective, layout):
    if (collective, layout) == ("scan", "cyclic"):
        pytest.skip("left to the MPI")
    words = [collective, "--nodes", "5", "--ranks", "3", "--layout", layout]
    words += [] if collective == "barrier" else ["--bytes", "8,3K,200K"]
    rows = cases(tutti, tmp_path, *words)
    assert len(rows) == (2 if collective == "barrier" else 6)
    assert all(row["compared"] for row in rows)


def test_a_barrier_of_the_paper(tutti, tmp_path):
    """Figure 5: up to 3 times as fast; 2 messages a leader instead of 3 or more a rank."""
    flat, leaders = cases(tutti, tmp_path, "barrier", *PAPER)
    assert flat["ns"] > 3 * leaders["ns"]
    assert leaders["messages"] == 4 * 2


def test_an_allreduce_of_the_paper(tutti, tmp_path):
    """Figures 6 and 7: 3 times as fast for small vectors, less for large ones."""
    found = times(cases(tutti, tmp_path, "allreduce", *PAPER, "--bytes", "8,256K"))
    assert found["flat", 8] > 3 * found["leaders", 8]
    assert 1 < found["flat", 1 << 18] / found["leaders", 1 << 18] < 2


def test_an_alltoall_of_the_paper(tutti, tmp_path):
    """Figure 8: packing pays up to 2 KiB, and changes nothing above."""
    words = ["alltoall", *PAPER, "--bytes", "8:8K", "--packed", "16K", "--forwarded", "0"]
    found = times(cases(tutti, tmp_path, *words))
    ratios = {size: found["flat", size] / found["leaders", size] for _, size in found}
    assert ratios[8] > 20 and ratios[64] > 8 and ratios[1024] > 1.5
    assert all(0.95 < ratios[size] < 1.05 for size in (4096, 8192))


def test_the_four_alltoalls_of_the_paper(tutti, tmp_path):
    """Figure 9: of direct and Bruck's, packed or not, direct and packed is the best."""
    words = ["alltoall", *PAPER, "--bytes", "8:1K", "--packed", "16K", "--forwarded", "0,1M"]
    rows = cases(tutti, tmp_path, *words)
    for size in {row["bytes"] for row in rows}:
        found = {
            (row["scheme"], row["forwarded_bytes"] > 0): row["ns"]
            for row in rows
            if row["bytes"] == size
        }
        assert len(found) == len(set(found.values())) == 4
        assert min(found.values()) == found["leaders", False]


def test_messages_are_passed_on(tutti, tmp_path):
    """Few bytes between many nodes: a message a round."""
    words = ["alltoall", "--ranks", "2", "--scheme", "leaders"]
    (few,) = cases(tutti, tmp_path, *words, "--nodes", "64")
    assert few["messages"] == 64 * 6
    (many,) = cases(tutti, tmp_path, *words, "--nodes", "64", "--bytes", "1K")
    assert many["messages"] == 64 * 63


def test_a_tapered_network_is_slower(tutti, tmp_path):
    words = ["alltoall", "--nodes", "16", "--bytes", "64K", "--scheme", "leaders", "--switch", "4"]
    full, half = (cases(tutti, tmp_path, *words, "--taper", taper)[0]["ns"] for taper in ("1", "2"))
    assert 1.3 < half / full < 2.2


def test_several_leaders(tutti, tmp_path):
    words = ["allreduce", "--nodes", "4", "--scheme", "leaders", "--bytes", "4M"]
    one, two = cases(tutti, tmp_path, *words, "--leaders", "1,2")
    assert two["ns"] < one["ns"] and two["messages"] == 2 * one["messages"]


def test_a_late_node_costs_what_is_left_to_do(tutti, tmp_path):
    words = ["barrier", "--nodes", "16", "--scheme", "leaders"]
    on_time, late = (cases(tutti, tmp_path, *words, "--late", us)[0]["ns"] for us in ("0", "100"))
    assert 0.5 * on_time < late <= on_time


def test_the_table_and_the_plots(tutti, tmp_path):
    plot = tmp_path / "a.png"
    words = ["simulate", "MPI_Allreduce", "--nodes", "4", "--bytes", "8,1K", "--plot", str(plot)]
    result = tutti(*words)
    assert result.code == 0
    title = "Allreduce on 4 simulated nodes of 8 ranks: infiniband, 25 GB/s; times in us"
    lines = [line.split() for line in result.out.splitlines()]
    assert result.out.splitlines()[0] == title
    assert lines[1][:5] == ["nodes", "bytes", "flat", "leaders", "ratio"]
    assert plot.read_bytes().startswith(b"\x89PNG")
    assert tutti("simulate", "barrier", "--nodes", "2,4", "--plot", str(plot)).code == 0


def test_many_variants_have_a_row_each(tutti):
    result = tutti("simulate", "allreduce", "--nodes", "4", "--bytes", "1M", "--leaders", "1,2",
                   "--slice", "64K,512K")  # fmt: skip
    assert result.code == 0
    rows = result.out.splitlines()[2:]
    assert [row.split("  ")[0] for row in rows] == [
        "flat",
        *(f"{k} a node, slices of {size}" for k in (1, 2) for size in ("64 KiB", "512 KiB")),
    ]


def test_a_large_cluster(tutti, tmp_path):
    """Leaders need log2(nodes) rounds, whatever the number of ranks."""
    words = ["barrier", "--nodes", "256", "--ranks", "64", "--scheme", "leaders"]
    (case,) = cases(tutti, tmp_path, *words)
    assert case["ranks"] == 256 * 64
    assert case["messages"] == 256 * math.log2(256)


def test_the_same_every_time(tutti):
    words = ["simulate", "alltoall", "--nodes", "8", "--ranks", "4", "--bytes", "8,4K"]
    assert tutti(*words).out == tutti(*words).out


def test_the_networks_are_those_of_the_program():
    assert set(clusters.networks()) == set(clusters.NETWORKS)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["ibcast", "--nodes", "4"], "the collective must be one of barrier"),
        (["barrier", "--nodes", "1"], "--nodes 1: must be from 2 to 4096"),
        (["barrier", "--nodes", "x"], "--nodes x: write a number"),
        (["barrier", "--nodes", "4", "--bytes", "8"], "a barrier moves none"),
        (["barrier", "--nodes", "4", "--ranks", "1,2"], "one number of ranks"),
        (["barrier", "--nodes", "4", "--ranks", "0"], "--ranks 0: must be from 1"),
        (["barrier", "--nodes", "4", "--network", "infinband"], "did you mean 'infiniband'"),
        (["barrier", "--nodes", "4", "--levels", "2"], "--levels is of chips"),
        (["iscan", "--taper", "2"], "--taper is of clusters: say --nodes"),
        (["barrier", "--nodes", "4", "--taper", "2"], "say --switch N, too"),
        (["barrier", "--nodes", "4", "--taper", "0.5"], "--taper 0.5: must be from 1 to 1000"),
        (["barrier", "--nodes", "4", "--taper", "nan"], "--taper nan: must be from 1 to 1000"),
        (["barrier", "--nodes", "4", "--late", "inf"], "--late inf: must be from 0 to 1e+09"),
        (["barrier", "--nodes", "4", "--late", "-1"], "--late -1: must be from 0 to 1e+09"),
        (["bcast", "--nodes", "4", "--bytes", "8,12"], "must be multiples of 8"),
        (["alltoall", "--nodes", "128", "--ranks", "8", "--bytes", "8M"], "too long to simulate"),
        (["allreduce", "--nodes", "4", "--leaders", "9"], "--leaders 9: must be from 1 to 8"),
        (["bcast", "--nodes", "4", "--bytes", "x"], "--bytes x: 'x' is no size"),
        (["bcast", "--nodes", "4", "--scheme", "leader"], "did you mean 'leaders'"),
        (["scan", "--nodes", "4", "--layout", "cyclic"], "ranks that follow each other"),
        (["alltoall", "--nodes", "1024", "--ranks", "64"], "takes too much memory and time"),
        (["allreduce", "--nodes", "4", "--leaders", "0"], "--leaders 0: must be from 1"),
        *(
            (["barrier", "--nodes", "4", "--switch", n], f"--switch {n}: must be from 0 to 4096")
            for n in ("-1", "4097", "9999999999")
        ),
        (["barrier", "--nodes", "4", "--plot", "no/a.png"], "there is no directory no"),
        (["barrier", "--nodes", "4", "--plot", "a.xyz"], "its name must end in .png"),
    ],
)
def test_bad_input(tutti, words, said):
    result = tutti("simulate", *words)
    assert result.code not in (0, 70)
    assert said in result.err
    assert result.err.count("\n") == 1
