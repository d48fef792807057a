# SPDX-License-Identifier: BSD-3-Clause
"""The unmodified programs that the demo runs, and what it reads from their output."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from statistics import median

from rig import ROOT, Mpi, RigError, run

# IMB's results of one run: microseconds a call on the slowest rank, by (collective, bytes).
ImbTimes = dict[tuple[str, int], float]

# What an example reports of itself: {'in Bcast': '0.050 s to 0.625 s', ...}.
Values = dict[str, str]

# Lines of the examples, such as `in Bcast 0.050 s to 0.625 s`.
VALUE = r"(in \w+|time|weights|accuracy|longest shortest path|check):? (.*)"

IMB_COLLECTIVES = ("Bcast", "Reduce", "Allreduce", "Barrier")
IMB_SIZES = [8, 1 << 10, 8 << 10, 64 << 10, 256 << 10, 1 << 20, 4 << 20]


def imb_words(mpi: Mpi, sizes: list[int]) -> list[str]:
    """A thousand calls of each size, or as many as move 400 MB."""
    lengths = ",".join(map(str, sizes))
    return [
        str(mpi.folder / "bin" / "IMB-MPI1"),
        "-npmin",
        "2",
        "-msgsize",
        lengths,
        "-zero_size",
        "off",
        "-iter",
        "1000,400",
        "-time",
        "2",
        *IMB_COLLECTIVES,
    ]


def imb_rows(lines: Iterable[str]) -> Iterator[tuple[str, dict[str, float]]]:
    """The rows of IMB's tables, each with its benchmark; `t_max[usec]` is `t_max` here."""
    collective = ""
    columns: list[str] = []
    for line in lines:
        if match := re.match(r"# Benchmarking (\w+)", line):
            collective, columns = match[1], []
        elif "[usec]" in line:
            columns = re.sub(r"\[[^]]*\]|#", " ", line).split()
        elif columns and (words := line.split()) and len(words) == len(columns):
            yield collective, {name: float(word) for name, word in zip(columns, words)}


def parse_imb(lines: Iterable[str], on_row: Callable[[], None] = lambda: None) -> ImbTimes:
    """Reads t_max of IMB's tables. Barrier's has no column of bytes; its size is 0."""
    times: ImbTimes = {}
    for collective, row in imb_rows(lines):
        times[collective, int(row.get("bytes", 0))] = row["t_max"]
        on_row()
    return times


def nbc_words(mpis: Path, collectives: Iterable[str], sizes: list[int], calls: int) -> list[str]:
    """Intel's ready-built IMB-NBC, which runs on every MPI of MPICH's ABI; powers of two."""
    low, high = (size.bit_length() - 1 for size in (min(sizes), max(sizes)))
    options = ["-npmin", "2", "-msglog", f"{low}:{high}", "-zero_size", "off"]
    limits = ["-iter", str(calls), "-time", "1"]
    return [str(mpis / "impi" / "bin" / "IMB-NBC"), *options, *limits, *collectives]


def parse_nbc(lines: Iterable[str]) -> dict[tuple[str, int], dict[str, float]]:
    """By collective, as tutti-bench names it, and bytes, and in its words."""
    return {
        (collective.lower(), int(row["bytes"])): {
            "pure_us": row["t_pure"],
            "compute_us": row["t_CPU"],
            "overlapped_us": row["t_ovrl"],
            "overlap_percent": row["overlap"],
        }
        for collective, row in imb_rows(lines)
    }


def parse_outstanding(lines: Iterable[str]) -> dict[str, list[float]]:
    """What tests/mpi/outstanding.cc prints."""
    text = "\n".join(lines)
    found = {
        "threads": r"^threads (\d+)",
        "wait_ns": r"^wait (\S+) ns",
        "resident_kib": r": rss (\d+) KiB",
        "round_s": r" KiB, (\S+) s$",
        "wrong": r"rounds, (\d+) wrong",
    }
    return {
        name: [float(value) for value in re.findall(pattern, text, re.MULTILINE)]
        for name, pattern in found.items()
    }


def parse_values(lines: Iterator[str]) -> Values:
    """What the examples print."""
    values = {}
    for line in lines:
        if match := re.match(VALUE, line):
            values[match[1]] = match[2]
    return values


def seconds(text: str) -> float:
    """The first of '0.050 s to 0.625 s': of the rank that waits least for the others."""
    return float(text.split()[0])


def compile_asp(mpi: Mpi) -> str:
    source, program = ROOT / "examples" / "asp" / "asp.c", ROOT / "build" / "demo" / "asp"
    return _compile(mpi, ["mpicc", "-std=c99", "-O3", "-march=native"], source, program)


def compile_outstanding(mpi: Mpi) -> str:
    """A program of the tests, whose figures are of interest, too."""
    source, program = ROOT / "tests" / "mpi" / "outstanding.cc", f"{mpi.name}-outstanding"
    compiler = "mpigxx" if mpi.name == "impi" else "mpicxx"
    return _compile(mpi, [compiler, "-std=c++17", "-O2"], source, ROOT / "build" / "demo" / program)


def _compile(mpi: Mpi, command: list[str], source: Path, program: Path) -> str:
    program.parent.mkdir(parents=True, exist_ok=True)
    compiler = str(mpi.folder / "bin" / command[0])
    words = [compiler, *command[1:], "-o", str(program), str(source)]
    result = subprocess.run(words, env=mpi.environment, capture_output=True, text=True)
    if result.returncode != 0:
        raise RigError(f"{' '.join(words)}\n{result.stderr}")
    return str(program)


def asp_words(program: str, check: bool) -> list[str]:
    return [program, "examples/asp/minnesota.txt", *(["--check"] if check else [])]


def digits_words(python: str) -> list[str]:
    return [python, "examples/digits/digits.py"]


class Comparison:
    """A program that is run plain and with Tutti, and reports about itself."""

    def __init__(self, mpi: Mpi, words: Callable[[int], list[str]], must_agree: str, timed: str):
        self.mpi, self.words, self.must_agree, self.timed = mpi, words, must_agree, timed
        self.results: set[str] = set()

    def take(self, turn: int, tutti: bool) -> Values:
        lines = run(self.mpi, 2, self.words(turn), with_tutti=tutti)
        values = parse_values(lines)
        for name in (self.must_agree, self.timed):
            if name not in values:
                raise RigError(f"{' '.join(self.words(turn))} did not print `{name}`")
        self.results.add(values[self.must_agree])
        return values

    def same_result(self) -> bool:
        return len(self.results) == 1

    def time_us(self, runs: list[Values]) -> float:
        return 1e6 * median(seconds(values[self.timed]) for values in runs)


def median_times(runs: list[ImbTimes]) -> ImbTimes:
    return {key: median(run[key] for run in runs) for key in runs[0]}
