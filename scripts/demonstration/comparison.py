# SPDX-License-Identifier: BSD-3-Clause
"""An example that is run plain and with Tutti, and must give the same result."""

from __future__ import annotations

from collections.abc import Callable
from statistics import median

from rig.examples import Values, parse_values, seconds
from rig.wheels import Mpi, RigError, run


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
