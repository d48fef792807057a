# SPDX-License-Identifier: BSD-3-Clause
"""`tutti model`: the paper's values for 64 cores, in the table, the JSON and the plot."""

from __future__ import annotations

import json
import os

import pytest
from paper import best_levels


def lines(result) -> list[str]:
    assert (result.code, result.err) == (0, "")
    return [line.rstrip() for line in result.out.splitlines()]


def test_the_table(tutti):
    said = lines(tutti("model", "--cores", "64"))
    assert said[0].startswith("Bcast and Reduce on 64 cores")
    heads = ["ranks", "other", "cores", "best", "S", *(f"S={s}" for s in range(7)), "blocking"]
    assert said[2].split() == heads
    rows = {int(line.split()[0]): line.split() for line in said[3:-1]}
    assert list(rows) == list(range(2, 65))
    for ranks in range(2, 64):
        assert int(rows[ranks][2]) == best_levels(ranks), ranks
    assert rows[62][1:8] == ["2", "3", "32.00", "17.00", "10.00", "9.19", "10.19"]
    assert rows[64][1:] == ["0", "6", "12.00", "12.00"]
    assert said[-1] == "least time: 7.53 with 51 ranks and S = 0"


def test_growing_buffers(tutti):
    said = lines(tutti("model", "--cores", "64", "--growing"))
    assert said[0].startswith("Gather and Scatter on 64 cores")
    assert said[-1] == "least time: 70.20 with 60 ranks and S = 2"


def test_the_json(tutti, tmp_path):
    file = tmp_path / "a.json"
    lines(tutti("model", "--cores", "64", "--json", str(file)))
    document = json.loads(file.read_text())
    assert list(document) == ["cores", "rows", "growing"]
    assert document["cores"] == 64
    for rows in (document["rows"], document["growing"]):
        assert [row["ranks"] for row in rows] == list(range(1, 65))
        for row in rows[:-1]:
            assert list(row["times"]) == [str(s) for s in range(len(row["messages"]) + 1)]
            assert row["times"][str(row["best_levels"])] == min(row["times"].values())
            assert sum(row["messages"]) == row["ranks"] - 1
        # No core is left: only the blocking collective can run.
        assert list(rows[-1]["times"]) == list(rows[-1]["communication_times"]) == ["6"]
    [row] = [row for row in document["rows"] if row["ranks"] == 57]
    assert row["messages"] == [28, 14, 7, 4, 2, 1]
    assert row["communication_times"]["0"] == 4 + 2 + 1 + 1 + 1 + 1
    assert row["times"]["1"] == pytest.approx(1 + 6 * 64 / 57, rel=1e-5)


@pytest.mark.parametrize("cores", ["2", "3", "64"])
def test_the_plot(tutti, tmp_path, cores):
    image, drawing = tmp_path / "a.png", tmp_path / "a.svg"
    lines(tutti("model", "--cores", cores, "--plot", str(image)))
    assert image.read_bytes().startswith(b"\x89PNG\r\n")
    if cores == "64":
        lines(tutti("model", "--cores", cores, "--plot", str(drawing)))
        assert "<svg" in drawing.read_text()


def test_this_machine_is_the_default(tutti):
    cores = len(os.sched_getaffinity(0))
    result = tutti("model")
    if cores == 1:
        assert result.code == 2
    else:
        assert lines(result)[3].split()[0] == "2"


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        *(
            (["--cores", word], f"--cores must be a number from 2 to 1024, not '{word}'")
            for word in ("1", "0", "-3", "1025", "many", "2.5", "", "9" * 9999)
        ),
        (["--core", "64"], "`tutti model` has no option --core (did you mean '--cores'?)"),
        (
            ["--cores", "64", "--json", "/no/a"],
            "/no/a cannot be written: there is no directory /no",
        ),
        (["--cores", "64", "--plot", "/"], "/ cannot be written: it is a directory"),
    ],
)
def test_bad_input(tutti, words, sentence):
    result = tutti("model", *words)
    assert (result.code, result.out, result.err) == (2, "", f"tutti: {sentence}\n")


def test_files_that_cannot_be_written(tutti, tmp_path):
    drawing = tmp_path / "a.foo"
    result = tutti("model", "--cores", "4", "--plot", str(drawing))
    assert result.code == 2
    assert result.err.startswith(f"tutti: {drawing} cannot be drawn: ")
    assert result.out == "", "it was computed before that"
    result = tutti("model", "--cores", "4", "--json", "/dev/full")
    assert (result.code, result.err) == (
        2,
        "tutti: /dev/full cannot be written: No space left on device\n",
    )


def test_one_usable_core(tutti, tmp_path):
    probe = tmp_path / "bin" / "tutti-probe"
    probe.parent.mkdir()
    probe.write_text("#!/bin/sh\necho '{\"usable_cores\": 1}'\n")
    probe.chmod(0o755)
    result = tutti("model", TUTTI_HOME=str(tmp_path))
    sentence = "there is nothing to split on 1 usable core: name --cores"
    assert (result.code, result.err) == (2, f"tutti: {sentence}\n")


def test_the_aggregation_of_the_paper(tutti, tmp_path):
    """Its constants give 2243 bytes by equation 5."""
    startup_us, byte_us, constant_us = 2.098, 0.000935, -10
    picture = tmp_path / "a.png"
    said = lines(tutti("model", "--aggregation", "--plot", str(picture)))
    assert f"blocks up to {int(startup_us / byte_us)} bytes are worth packing" in said[-1]
    assert "2243" in said[-1]
    eight = next(line for line in said if line.split()[:2] == ["8", "B"]).split()[2:]
    scatter = 31 * startup_us + 8 * byte_us + constant_us
    alltoall = 3 * 8 * 8 * startup_us + 8 * byte_us
    packed = 3 * startup_us + 8 * 8 * 8 * byte_us
    expected = [scatter, alltoall, packed, alltoall / packed]
    assert [float(each) for each in eight] == pytest.approx(expected, rel=0.005)
    assert picture.stat().st_size > 10_000


def test_the_aggregation_of_another_network(tutti):
    said = lines(tutti("model", "--aggregation", "--startup", "1", "--byte", "0.5"))
    assert "blocks up to 2000 bytes are worth packing" in said[-1]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--nodes", "16"], "--nodes is of messages between nodes: say --aggregation, too"),
        (
            ["--aggregation", "--cores", "8"],
            "--cores is of the split tree: leave it or --aggregation out",
        ),
        (["--aggregation", "--startup", "nan"], "--startup nan: must be from 1e-06 to 1e+06"),
        (["--aggregation", "--byte", "0"], "--byte 0: must be from 1e-06 to 1e+06"),
        *(
            (["--aggregation", "--nodes", word], f"--nodes {word}: must be from 2 to 4096")
            for word in ("1", "4097", "1" + 320 * "0")
        ),
        *(
            (["--aggregation", "--ranks", word], f"--ranks {word}: must be from 1 to 32768")
            for word in ("0", "32769", "1" + 160 * "0")
        ),
    ],
)
def test_options_that_it_refuses(tutti, words, sentence):
    result = tutti("model", *words)
    assert (result.code, result.out, result.err) == (2, "", f"tutti: {sentence}\n")
