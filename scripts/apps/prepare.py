# SPDX-License-Identifier: BSD-3-Clause
"""What applications need before they are started: files that their packages bring or that their
tools make, and programs of ours that use a library. Nothing of it is timed."""

from __future__ import annotations

import gzip
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

from rig import ROOT
from rig.mpis import DEBIAN_OPENMPI, built

from apps.app import INPUTS

BUILT = ROOT / "build" / "clients"
PYTHON = "/usr/bin/python3"  # Debian's, which sees Debian's modules
OPENFOAM = "WM_PROJECT_DIR=/usr/share/openfoam"  # where it looks for its settings
FORMS = BUILT / "forms"


def _run(folder: Path, *command: str) -> None:
    environment = os.environ | DEBIAN_OPENMPI.environment
    ran = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    if ran.returncode != 0:
        raise RuntimeError(f"{' '.join(command)}: {(ran.stdout + ran.stderr)[-2000:]}")


def compiled(name: str, compiler: str, *libraries: str) -> Callable[[Path, int], None]:
    """Puts the program with this source into the folder, as `program`. A library is an option of
    the compiler, or a name that pkg-config knows the options of."""

    def build(program: Path) -> None:
        options: list[str] = []
        for each in libraries:
            ask = ["pkg-config", "--cflags", "--libs", each]
            options += [each] if each[0] == "-" else subprocess.check_output(ask, text=True).split()
        _run(BUILT, compiler, "-O2", str(INPUTS / name), "-o", str(program), *options)

    def prepare(folder: Path, ranks: int) -> None:
        shutil.copy(built(BUILT / Path(name).stem, [INPUTS / name], build), folder / "program")

    return prepare


def silicon(folder: Path, ranks: int) -> None:
    packed = "/usr/share/doc/quantum-espresso/examples/EPW/sic/pp/Si.pz-vbc.UPF.gz"
    (folder / "Si.pz-vbc.UPF").write_bytes(gzip.decompress(Path(packed).read_bytes()))


def grid(side: int) -> Callable[[Path, int], None]:
    """A cube of side**3 vertices in Scotch's format, each with its neighbours."""

    def prepare(folder: Path, ranks: int) -> None:
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


def water(folder: Path, ranks: int) -> None:
    """27 of the boxes of water that GROMACS brings, with velocities."""
    box = "/usr/share/gromacs/top/spc216.gro"
    _run(folder, "gmx", "-quiet", "genconf", "-f", box, "-nbox", "3", "3", "3", "-o", "water.gro")
    files = ("-f", "water.mdp", "-p", "water.top", "-c", "water.gro", "-o", "water.tpr")
    _run(folder, "gmx", "-quiet", "grompp", *files)


def slices(folder: Path, ranks: int) -> None:
    """OpenFOAM's grid, one slice of it a rank."""
    with (folder / "system" / "decomposeParDict").open("a") as settings:
        settings.write(f"numberOfSubdomains {ranks};\nsimpleCoeffs {{ n ({ranks} 1 1); }}\n")
    for tool in ("blockMesh", "decomposePar"):
        _run(folder, "env", OPENFOAM, tool)


def forms(folder: Path, ranks: int) -> None:
    """DOLFINx compiles a form where it is used first. It calls a form otherwise when one before it
    had to be compiled, too, so there is more to compile until nothing is."""

    def compile_all(done: Path) -> None:
        found, known = 0, -1
        while found != known:
            _run(folder, *DEBIAN_OPENMPI.launch(1, [PYTHON, "poisson.py", str(FORMS), "2"]))
            found, known = len(list(FORMS.glob("*.so"))), found
        done.touch()

    built(FORMS / "all", [INPUTS / "poisson.py"], compile_all)
