# SPDX-License-Identifier: BSD-3-Clause
"""What an application of the table is: how it is started, and which numbers its runs must share."""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from rig.jobs import Run

INPUTS = Path(__file__).with_name("inputs")


def numbers(pattern: str) -> Callable[[str], list[float]]:
    """What the group of a regular expression finds."""
    return lambda text: [float(found) for found in re.findall(pattern, text, re.MULTILINE)]


def nothing(folder: Path, ranks: int) -> None:
    """The inputs are all there is to prepare."""


class Failed(Exception):
    """An application ended otherwise than it should; with what it said."""


@dataclass(frozen=True)
class App:
    """`result` finds numbers in what the program prints, or in `file`; right runs have the same
    ones, but for `tolerance` (relative)."""

    name: str
    package: str  # Debian's; of our own, none
    command: tuple[str, ...]
    result: Callable[[str], list[float]]
    tolerance: float = 0.0
    file: str = ""
    inputs: tuple[str, ...] = ()  # files and folders in inputs/
    prepare: Callable[[Path, int], None] = nothing  # what else a run with so many ranks reads
    needs: str = ""  # a program or file that the package brings; of its own, what is started
    communicates: bool = False  # collectives take a tenth of its time or more
    one_host: bool = False  # on several it fails without Tutti, too

    @property
    def installed(self) -> bool:
        what = self.needs or self.command[0]
        return shutil.which(what) is not None or Path(what).exists()

    def furnish(self, folder: Path, ranks: int) -> None:
        """Puts into the empty `folder` what the program reads."""
        for name in self.inputs:
            if (INPUTS / name).is_dir():
                shutil.copytree(INPUTS / name, folder, dirs_exist_ok=True)
            else:
                shutil.copy(INPUTS / name, folder)
        self.prepare(folder, ranks)

    def run(self, ranks: int, start: Callable[..., Run]) -> tuple[Run, list[float]]:
        """A run in a folder of its own, and its results.

        `start` is rig.jobs.start, or one like it, but for what is known of the MPI.
        """
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            self.furnish(folder, ranks)
            run = start(ranks, list(self.command), limit_s=300, cwd=folder)
            if run.code != 0:
                raise Failed(f"{self.name} with {ranks} ranks: {run.code}\n{run.output[-3000:]}")
            return run, self.results(run.output, folder)

    def results(self, output: str, folder: Path) -> list[float]:
        text = (folder / self.file).read_text() if self.file else output
        return self.result(text)

    def same(self, ours: list[float], theirs: list[float]) -> bool:
        return (
            bool(theirs)
            and len(ours) == len(theirs)
            and all(abs(a - b) <= self.tolerance * abs(b) for a, b in zip(ours, theirs))
        )
