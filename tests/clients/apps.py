# SPDX-License-Identifier: BSD-3-Clause
"""Scientific applications as Debian builds them, with small inputs, and what their results are; and
programs of our own in Python whose collectives take a tenth of the time or more."""

from __future__ import annotations

import gzip
import re
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
INPUTS = Path(__file__).with_name("inputs")


def numbers(pattern: str) -> Callable[[str], list[float]]:
    """What the group of a regular expression finds."""
    return lambda text: [float(found) for found in re.findall(pattern, text, re.MULTILINE)]


def _permutation(text: str) -> list[float]:
    """Of an ordering in Scotch's format: how many vertices, and how many different places."""
    words = text.split()
    return [float(words[0]), float(len(set(words[2::2])))]


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
    inputs: tuple[str, ...] = ()  # in the folder beside this file
    prepare: Callable[[Path], None] = field(default=lambda folder: None)
    communicates: bool = False  # collectives take a tenth of its time or more

    @property
    def installed(self) -> bool:
        return shutil.which(self.command[0]) is not None

    def furnish(self, folder: Path) -> None:
        """Puts into the empty `folder` what the program reads."""
        for name in self.inputs:
            shutil.copy(INPUTS / name, folder)
        self.prepare(folder)

    def results(self, output: str, folder: Path) -> list[float]:
        text = (folder / self.file).read_text() if self.file else output
        return self.result(text)

    def same(self, ours: list[float], theirs: list[float]) -> bool:
        return (
            bool(theirs)
            and len(ours) == len(theirs)
            and all(abs(a - b) <= self.tolerance * abs(b) for a, b in zip(ours, theirs))
        )


def _silicon(folder: Path) -> None:
    packed = "/usr/share/doc/quantum-espresso/examples/EPW/sic/pp/Si.pz-vbc.UPF.gz"
    (folder / "Si.pz-vbc.UPF").write_bytes(gzip.decompress(Path(packed).read_bytes()))


def _grid(side: int) -> Callable[[Path], None]:
    """A cube of side**3 vertices in Scotch's format, each with its neighbours."""

    def prepare(folder: Path) -> None:
        def neighbours(vertex: int) -> list[int]:
            x, y, z = vertex % side, vertex // side % side, vertex // side**2
            steps = ((x, 1), (y, side), (z, side**2))
            return [vertex - s for at, s in steps if at > 0] + [
                vertex + s for at, s in steps if at < side - 1
            ]

        lines = [neighbours(vertex) for vertex in range(side**3)]
        arcs = sum(map(len, lines))
        text = "\n".join(" ".join(map(str, [len(line), *line])) for line in lines)
        (folder / "grid.grf").write_text(f"0\n{side**3} {arcs}\n0 000\n{text}\n")

    return prepare


def _ours(name: str, pattern: str, tolerance: float = 0.0) -> App:
    """A program among the inputs that communicates."""
    command = (sys.executable, name)
    result = numbers(pattern)
    return App(name, "", command, result, tolerance, inputs=(name,), communicates=True)


APPS = (
    App(
        "Quantum ESPRESSO",
        "quantum-espresso quantum-espresso-data",
        ("pw.x", "-i", "si8.in"),
        numbers(r"^!\s+total energy\s+=\s+(\S+) Ry"),
        tolerance=1e-9,
        inputs=("si8.in",),
        prepare=_silicon,
    ),
    App(
        "LAMMPS",
        "lammps",
        ("lmp", "-in", "in.melt", "-log", "none"),
        # Step Temp E_pair E_mol TotEng Press; later on every sum's last bit shows.
        numbers(r"^ +(?:0|50|100) +\S+ +\S+ +\S+ +(\S+)"),
        tolerance=1e-6,
        inputs=("in.melt",),
    ),
    App(
        "ABINIT",
        "abinit abinit-data",
        ("abinit", "si.abi"),
        numbers(r"^total_energy\s+: +(\S+)"),
        tolerance=1e-9,
        file="si.abo",
        inputs=("si.abi",),
    ),
    App(
        "NWChem",
        "nwchem",
        ("nwchem", "water.nw"),
        numbers(r"Total DFT energy =\s+(\S+)"),
        tolerance=1e-8,
        inputs=("water.nw",),
    ),
    App(
        "CP2K",
        "cp2k",
        ("cp2k.psmp", "-i", "water.inp"),
        numbers(r"ENERGY\| Total FORCE_EVAL.*:\s+(\S+)"),
        tolerance=1e-8,
        inputs=("water.inp",),
    ),
    App(
        "PT-Scotch",
        "ptscotch",
        ("dgord", "grid.grf", "grid.ord"),
        _permutation,
        file="grid.ord",
        prepare=_grid(40),
    ),
    App(
        "HPCC",
        "hpcc",
        ("hpcc",),
        # Its PTRANS_residual is 0 or 1 bare, too, from run to run.
        numbers(r"^(?:Success|HPL_RnormI|MPIFFT_maxErr|MPIRandomAccess_Errors)=(\S+)"),
        tolerance=1e-3,
        file="hpccoutf.txt",
        inputs=("hpccinf.txt",),
    ),
    _ours("pagerank.py", r"(?:steps|largest) (\S+)", tolerance=1e-8),
    _ours("logistic.py", r"loss (\S+)", tolerance=1e-9),
    _ours("tally.py", r"(?:middle|\+-|all) ([0-9.]+)"),
    App(
        "digits.py",
        "",
        (sys.executable, str(ROOT / "examples" / "digits" / "digits.py"), "--epochs", "160"),
        numbers(r"accuracy (\S+)"),
        tolerance=0.003,
        communicates=True,
    ),
)


if __name__ == "__main__":  # for scripts/install_apps.sh
    print(" ".join(app.package for app in APPS if app.package))
