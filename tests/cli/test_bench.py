# SPDX-License-Identifier: BSD-3-Clause
"""`tutti bench` with a launcher that replays events, and for real."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from tutti.reporters import bench_plot

ROWS = [
    {
        "event": "row",
        "collective": "allreduce",
        "ranks": 2,
        "bytes": size,
        "cache": "cold",
        "base_us": base,
        "tutti_us": 10.0,
        "ratio": base / 10,
        "limit_us": 8.25,
        "way": way,
        "base_best_us": 1.0,
        "tutti_best_us": 1.0,
    }
    for size, base, way in ((8, 5.0, "line"), (1 << 20, 123.4, "commons"))
]
EVENTS = [
    {"event": "plan", "points": 2},
    ROWS[0],
    {"event": "progress", "done": 1},
    ROWS[1],
    {"event": "progress", "done": 2},
    {"event": "done"},
]
TABLE = """\
Open MPI 5.0.11, 2 ranks, cold caches; times in us
collective  way       size   MPI  Tutti  ratio  limit
allreduce   line       8 B  5.00   10.0   0.50   8.25
allreduce   commons  1 MiB   123   10.0  12.34   8.25
geometric mean of the ratios: allreduce 2.48
"""
NAMES = (
    "barrier, bcast, reduce, allreduce, gather, gatherv, scatter, scatterv, allgather, allgatherv, "
    "alltoall, alltoallv, alltoallw, alltoallv_transpose, alltoallw_transpose, reduce_scatter, "
    "reduce_scatter_block, scan, exscan, all"
)
KEYS = ["collective", "ranks", "bytes", "cache", "base_us", "tutti_us", "ratio", "limit_us", "way"]
OVERLAP = {
    "event": "row",
    "collective": "ireduce",
    "ranks": 4,
    "bytes": 2 << 20,
    "cache": "hot",
    "work": 123456.0,
    "compute_us": 200.0,
    "base_blocking_us": 410.0,
    "base_pure_us": 400.0,
    "base_overlapped_us": 600.0,
    "base_overlap_percent": 0.0,
    "base_post_us": 1.5,
    "tutti_blocking_us": 190.0,
    "tutti_pure_us": 100.0,
    "tutti_overlapped_us": 210.0,
    "tutti_overlap_percent": 90.0,
    "tutti_post_us": 0.25,
    "pure_ratio": 4.0,
    "overlapped_ratio": 600 / 210,
    "samples": 11,
}
OVERLAP_TABLE = """\
Intel MPI 2021.18.1, hot caches, 1 core for communication; times in us, overlap in percent
                                    MPI                            Tutti                            ratio
collective  ranks   size  compute  pure  overlapped  overlap  post  pure  overlapped  overlap  post   pure  overlapped
ireduce         4  2 MiB      200   400         600        0  1.50   100         210       90  0.25   4.00        2.86
geometric mean of the ratios: pure 4.00, overlapped 2.86
"""  # noqa: E501


def replay(mpi, events, **more):
    mpi.plays(stdout="".join(json.dumps(event) + "\n" for event in events), **more)


def test_what_was_measured_before_an_error(tutti, stand_in, tmp_path):
    mpi = stand_in("openmpi5")
    replay(mpi, [*EVENTS[:2], {"event": "error", "message": "no memory is left"}])
    figures = tmp_path / "a.json"
    words = ["-n", "1", "--mpi", mpi.launcher, "--json", str(figures)]
    result = tutti("bench", "allreduce", *words)
    assert result.code != 0 and result.err == "tutti: no memory is left\n"
    assert result.out.splitlines()[3].split() == TABLE.splitlines()[2].split()
    assert [row["bytes"] for row in json.loads(figures.read_text())["rows"]] == [8]


def test_table_json_and_plot(tutti, stand_in, library, tmp_path):
    mpi = stand_in("openmpi5")
    replay(mpi, EVENTS)
    figures, plot = tmp_path / "a.json", tmp_path / "a.png"
    words = ["--sizes", "8,1M", "--json", str(figures), "--plot", str(plot)]
    result = tutti("bench", "MPI_Allreduce", "-n", "1", "--mpi", mpi.launcher, *words)
    assert (result.code, result.err) == (0, "")
    lines = [line.rstrip() for line in result.out.splitlines()]
    assert lines[1:] == TABLE.splitlines()

    document = json.loads(figures.read_text())
    assert list(document) == ["machine", "mpi", "rows"]
    assert document["mpi"] == "Open MPI 5.0.11"
    assert document["machine"]["cores"] > 0
    assert document["rows"] == [{key: row[key] for key in KEYS} for row in ROWS]
    assert plot.read_bytes().startswith(b"\x89PNG\r\n")

    words = mpi.started()["words"]
    assert f"LD_PRELOAD={library}" in words
    assert f"TUTTI_BENCH_LIBMPI={mpi.prefix}/lib/libmpi.so.40" in words
    program = words.index(str(Path(library).parent.parent / "bin" / "tutti-bench"))
    assert words[program - 2 : program] == ["-n", "1"]
    assert words[program + 1 :] == [
        "--collective", "allreduce", "--sizes", "8,1048576", "--dtype", "float", "--op", "sum",
        "--memory", "heap", "--cache", "cold", "--root", "0",
    ]  # fmt: skip


def test_what_an_mpi_says_in_another_encoding(tutti, stand_in, library):
    mpi = stand_in("openmpi5")
    replay(mpi, EVENTS)
    played = (mpi.prefix / "stdout").read_bytes()
    (mpi.prefix / "stdout").write_bytes(b"h\xf4te inconnu\n" + played)
    (mpi.prefix / "stderr").write_bytes(b"h\xf4te inconnu\n")
    result = tutti("bench", "MPI_Allreduce", "-n", "1", "--mpi", mpi.launcher, "--sizes", "8,1M")
    assert result.code == 0, result.err
    lines = [line.rstrip() for line in result.out.splitlines()]
    assert lines[1:] == TABLE.splitlines()
    mpi.plays(code=1)
    result = tutti("bench", "MPI_Allreduce", "-n", "1", "--mpi", mpi.launcher, "--sizes", "8,1M")
    assert result.code == 6 and "te inconnu" in result.err


def test_the_key_of_a_plot_is_that_of_the_lines(tmp_path, monkeypatch):
    drawn = []
    monkeypatch.setattr(bench_plot, "save_figure", lambda figure, path: drawn.append(figure))
    monkeypatch.setattr(bench_plot, "machine_line", lambda machine: "a machine")
    for names in (["barrier", "bcast"], ["barrier", "bcast", "reduce", "scan", "exscan", "gather"]):
        rows = [dict(row, collective=name) for name in names for row in ROWS]
        for row in rows:
            row["bytes"] = row["bytes"] if row["collective"] != "barrier" else 0
        bench_plot.draw(tmp_path / "a.png", {}, "Open MPI", rows)
        figure = drawn.pop()
        keys = [panel.get_legend() for panel in figure.axes if panel.get_legend()] + figure.legends
        assert [type(handle).__name__ for handle in keys[0].legend_handles] == ["Line2D"] * 3


def test_all_of_them_each_once(tutti, stand_in, tmp_path):
    mpi = stand_in("openmpi5")
    rows = [dict(row, collective=name) for name in NAMES.split(", ")[:-1] for row in ROWS]
    replay(mpi, [*rows, {"event": "done"}])  # for each of the 19 runs
    figures, plot = tmp_path / "a.json", tmp_path / "a.png"
    words = ["MPI_Scan", "ALL", "--json", str(figures), "--plot", str(plot)]
    result = tutti("bench", *words, "--mpi", mpi.launcher)
    assert (result.code, result.err) == (0, "")
    last = result.out.splitlines()[-1]
    assert last.startswith("geometric mean of the ratios: barrier 2.48, bcast 2.48, ")
    assert last.endswith(", exscan 2.48, all 2.48")
    assert len(json.loads(figures.read_text())["rows"]) == 19 * len(rows)
    assert plot.read_bytes().startswith(b"\x89PNG\r\n")
    assert mpi.started()["words"][-13] == "exscan"


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="no core can be kept free")
def test_overlap(tutti, stand_in, tmp_path):
    mpi = stand_in("intel")
    replay(mpi, [{"event": "plan", "points": 1}, OVERLAP, {"event": "done"}])
    figures, plot = tmp_path / "a.json", tmp_path / "a.png"
    words = ["--overlap", "MPI_Ireduce", "reduce", "-n", "4", "--comm-cores", "1", "--sizes", "2M"]
    files = ["--json", str(figures), "--plot", str(plot)]
    result = tutti("bench", *words, *files, "--mpi", mpi.launcher)
    assert (result.code, result.err) == (0, "")
    lines = [line.rstrip() for line in result.out.splitlines()]
    assert [line.split() for line in lines[1:]] == [
        line.split() for line in OVERLAP_TABLE.splitlines()
    ]
    (row,) = json.loads(figures.read_text())["rows"]
    left = OVERLAP.keys() - {"event", "samples"}
    assert row == {key: OVERLAP[key] for key in left} | {"comm_cores": 1}
    assert plot.read_bytes().startswith(b"\x89PNG\r\n")
    words = mpi.started()["words"]
    assert words[words.index("TUTTI_COMM_CORES") + 1] == "1"
    assert words[words.index("--measure") + 1] == "overlap"
    assert words[words.index("--collective") + 1] == "reduce" and "--work" not in words


def test_fewer_ranks_share_the_work_of_the_most(tutti, stand_in, tmp_path):
    mpi = stand_in("mpich")
    replay(mpi, [dict(OVERLAP, bytes=size, work=size * 1.5e12) for size in (8, 16)])
    figures = tmp_path / "a.json"
    words = ["--overlap", "iREDUCE", "-n", "3,1,2,3", "--sizes", "8:16", "--json", str(figures)]
    result = tutti("bench", *words, "--mpi", mpi.launcher)
    assert (result.code, result.err) == (0, "")
    assert len(json.loads(figures.read_text())["rows"]) == 3 * 2
    words = mpi.started()["words"]  # of the last
    assert words[words.index("-n") + 1] == "1"
    assert words[words.index("--work") + 1] == "12000000000000,24000000000000"


@pytest.mark.parametrize("ranks", [[2], [3, 4]])
def test_overlap_plots(stand_in, tmp_path, ranks):
    from tutti.reporters import overlap_plot

    cores = {"cpu": "A", "cores": 2, "numa_nodes": [0], "memory_bytes": 1 << 30, "caches": []}
    rows = [
        dict(OVERLAP, collective=name, ranks=count, bytes=size, comm_cores=0)
        for name in ("ireduce", "ibcast", "ialltoallv_transpose", "iscan", "ibarrier")
        for count in ranks
        for size in ((8, 4096) if name != "ibarrier" else (0,))
    ]
    path = tmp_path / "a.svg"
    overlap_plot.draw(path, cores, "An MPI", rows)
    assert "</svg>" in path.read_text()


@pytest.mark.parametrize(
    ("text", "sizes"),
    [
        ("8:64", "8,16,32,64"),
        ("5:17", "8,16"),
        ("4m", "4194304"),
        ("1K,8:16,1024", "8,16,1024"),
    ],
)
def test_sizes(tutti, stand_in, text, sizes):
    mpi = stand_in("mpich")
    replay(mpi, EVENTS)
    assert tutti("bench", "bcast", "--mpi", mpi.launcher, "--sizes", text).code == 0
    words = mpi.started()["words"]
    assert words[words.index("--sizes") + 1] == sizes


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ([], "missing argument 'COLLECTIVE...' (`tutti bench --help` shows what it takes)"),
        (
            ["allredcue"],
            f"the collective must be one of {NAMES}, not 'allredcue' (did you mean 'allreduce'?)",
        ),
        (
            ["bcast", "Altoallw"],
            f"the collective must be one of {NAMES}, not 'altoallw' (did you mean 'alltoallw'?)",
        ),
        (["Ibcast"], "Ibcast is nonblocking: give --overlap, or name bcast"),
        (
            ["--overlap", "ialreduce"],
            f"the collective must be one of {NAMES}, not 'ialreduce' (did you mean 'allreduce'?)",
        ),
        (["bcast", "-n", "2,3"], "-n 2,3: a list of numbers of ranks needs --overlap"),
        (
            ["--overlap", "bcast", "-n", "2,x"],
            "-n must be numbers of ranks, at least 1, such as 2,4, not '2,x'",
        ),
        (
            ["--overlap", "bcast", "--comm-cores", "0"],
            "--comm-cores must be a number of cores, at least 1, not '0'",
        ),
        (["bcast", "-n", "0"], "-n must be a number of ranks, at least 1, not '0'"),
        (
            ["bcast", "--sizes", "8:x"],
            "--sizes 8:x: 'x' is no size; write 8, 64K, 4M, a list 8,1K or a range 8:4M",
        ),
        (["bcast", "--sizes", "9:15"], "--sizes 9:15: there is no power of two from 9 to 15"),
        (["bcast", "--sizes", "1:2:3"], "--sizes 1:2:3: a range is written A:B"),
        (["bcast", "--sizes", "0"], "--sizes 0: a size is from 1 byte to 16G"),
        (["bcast", "--memory", "foo"], "--memory must be one of heap, static, mmap, not 'foo'"),
        (["bcast", "--cache", "foo"], "--cache must be one of cold, hot, not 'foo'"),
        (
            ["bcast", "--json", "/no/where"],
            "/no/where cannot be written: there is no directory /no",
        ),
        (["bcast", "--plot", "/tmp"], "/tmp cannot be written: it is a directory"),
    ],
)
def test_bad_input(tutti, words, sentence):
    result = tutti("bench", *words)
    assert (result.code, result.out, result.err) == (2, "", f"tutti: {sentence}\n")


def test_what_the_program_refuses_is_handed_on(tutti, stand_in):
    mpi = stand_in("mpich")
    replay(mpi, [{"event": "error", "message": "--op must be one of sum"}], code=2)
    result = tutti("bench", "bcast", "--op", "summ", "--mpi", mpi.launcher)
    assert (result.code, result.err) == (6, "tutti: --op must be one of sum\n")


def test_a_benchmark_that_dies(tutti, stand_in):
    mpi = stand_in("mpich")
    replay(mpi, EVENTS[:2], code=139, stderr="-----\nsegmentation fault\n")
    result = tutti("bench", "bcast", "--mpi", mpi.launcher)
    assert result.code == 6
    assert result.err == ("tutti: the benchmark ended with exit code 139: segmentation fault\n")


def test_a_plot_of_an_unknown_kind(tutti, stand_in, tmp_path):
    mpi = stand_in("mpich")
    replay(mpi, EVENTS)
    file = tmp_path / "a.foo"
    result = tutti("bench", "bcast", "--mpi", mpi.launcher, "--plot", str(file))
    assert result.code == 2
    assert result.err.startswith(f"tutti: {file} cannot be drawn: ")
    assert result.err.count("\n") == 1
    assert not (mpi.prefix / "started.json").exists(), "it was measured before that"


def test_the_table_when_a_file_fails(tutti, stand_in, tmp_path):
    """What was measured is not to be had again."""
    mpi = stand_in("openmpi5")
    replay(mpi, EVENTS)
    plot, full = tmp_path / "a.png", tmp_path / "full.svg"
    full.symlink_to("/dev/full")
    words = ["bench", "allreduce", "-n", "1", "--mpi", mpi.launcher]
    for files, failed in (
        (["--json", "/dev/full", "--plot", str(plot)], "/dev/full"),
        (["--plot", str(full)], full),
        (["--json", "/dev/full", "--plot", str(full)], "/dev/full"),
    ):
        result = tutti(*words, *files)
        sentence = f"tutti: {failed} cannot be written: No space left on device\n"
        assert (result.code, result.err) == (2, sentence)
        assert [line.rstrip() for line in result.out.splitlines()][1:] == TABLE.splitlines()
    assert plot.read_bytes().startswith(b"\x89PNG\r\n")
    replay(mpi, [*EVENTS[:2], {"event": "error", "message": "no memory is left"}])
    result = tutti(*words, "--json", "/dev/full")
    assert result.err == "tutti: no memory is left\n"  # the first of both
    assert result.out.splitlines()[3].split() == TABLE.splitlines()[2].split()


def test_a_backend_that_matplotlib_does_not_have(tutti, stand_in, tmp_path):
    mpi = stand_in("openmpi5")
    replay(mpi, EVENTS)
    plot = tmp_path / "a.png"
    words = ["-n", "1", "--mpi", mpi.launcher, "--plot", str(plot)]
    result = tutti("bench", "allreduce", *words, MPLBACKEND="foo")
    assert (result.code, result.err) == (0, "")
    assert plot.read_bytes().startswith(b"\x89PNG\r\n")


def test_for_real(tutti, real_mpi, tmp_path):
    figures = tmp_path / "figures.json"
    words = ["-n", "2", "--sizes", "8,64K", "--json", str(figures), "--mpi", real_mpi.launcher]
    result = tutti("bench", "allreduce", "MPI_Barrier", *words)
    assert (result.code, result.err) == (0, "")
    document = json.loads(figures.read_text())
    assert document["mpi"].startswith(real_mpi.family)
    points = [(row["collective"], row["bytes"]) for row in document["rows"]]
    assert points == [("allreduce", 8), ("allreduce", 65536), ("barrier", 0)]
    for row in document["rows"]:
        assert row["ratio"] == pytest.approx(row["base_us"] / row["tutti_us"], rel=1e-3)
        assert row["way"] != "mpi", "the library was not in the ranks"


def test_overlap_for_real(tutti, real_mpi, tmp_path):
    figures, report = tmp_path / "figures.json", tmp_path / "report.json"
    words = ["-n", "2,1", "--sizes", "8,64K", "--json", str(figures), "--mpi", real_mpi.launcher]
    result = tutti("bench", "--overlap", "Iallreduce", *words, TUTTI_REPORT=str(report))
    assert (result.code, result.err) == (0, "")
    rows = json.loads(figures.read_text())["rows"]
    assert [(row["ranks"], row["bytes"]) for row in rows] == [
        (1, 8),
        (1, 65536),
        (2, 8),
        (2, 65536),
    ]
    works = {row["bytes"]: set() for row in rows}
    for row in rows:
        works[row["bytes"]].add(row["work"])
        assert row["compute_us"] > 0
        for library in ("base", "tutti"):
            times = [row[f"{library}_{name}_us"] for name in ("blocking", "pure", "overlapped")]
            assert min(times) > 0 and 0 <= row[f"{library}_overlap_percent"] <= 100
    assert [len(work) for work in works.values()] == [1, 1], "the total work is not fixed"
    calls = {row["collective"]: row for row in json.loads(report.read_text())["calls"]}
    assert calls["Iallreduce"]["seen"] > 100
