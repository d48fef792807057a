# SPDX-License-Identifier: BSD-3-Clause
"""The programs in examples/: how they are started, and what they say of themselves."""

from __future__ import annotations

import re
from collections.abc import Iterator

from rig import ROOT
from rig.wheels import Mpi

# What an example reports of itself: {'in Bcast': '0.050 s to 0.625 s', ...}.
Values = dict[str, str]

# Lines of the examples, such as `in Bcast 0.050 s to 0.625 s`.
VALUE = r"(in \w+|time|weights|accuracy|longest shortest path|check):? (.*)"


def compile_asp(mpi: Mpi) -> str:
    source, program = ROOT / "examples/asp/asp.c", ROOT / "build/demo/asp"
    return mpi.compile(["mpicc", "-std=c99", "-O3", "-march=native"], source, program)


def asp_words(program: str, check: bool) -> list[str]:
    return [program, "examples/asp/minnesota.txt", *(["--check"] if check else [])]


def digits_words(python: str) -> list[str]:
    return [python, "examples/digits/digits.py"]


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
