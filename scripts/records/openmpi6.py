# SPDX-License-Identifier: BSD-3-Clause
"""Measures blocking collectives against Open MPI 6.0, which Debian's next release has.

As root: Debian sid is installed into a folder (debootstrap), and tutti-bench runs there in a mount
namespace of its own, under each component of Open MPI that has collectives for one node. A run that
crashes costs the points that it has not measured; another component may have them.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

from rig import ROOT
from rig.steps import Steps, progress_bar
from rig.wheels import RigError
from tutti import paths

from records.bars import openmpi6 as bars
from records.recording import Recording, add_results_option

PACKAGES = "openmpi-bin,libopenmpi40"
RUN_LIMIT_S = 120
# In the folder: what it mounts goes with its namespace.
ENTER = " && ".join(
    (
        'mount -t proc proc "$0/proc"',
        'mount -t sysfs sys "$0/sys"',
        'mount --rbind /dev "$0/dev"',
        'exec chroot "$0" "$@"',
    )
)


def install(root: Path) -> None:
    if (root / "usr/bin/mpirun").exists():
        return
    if os.geteuid() != 0 or shutil.which("debootstrap") is None:
        raise RigError("it takes root and debootstrap (`apt install debootstrap`)")
    root.parent.mkdir(parents=True, exist_ok=True)
    words = ["debootstrap", "--variant=minbase", f"--include={PACKAGES}", "sid", str(root)]
    if subprocess.run(words, stdout=subprocess.DEVNULL).returncode != 0:
        raise RigError(f"debootstrap failed; see {root}/debootstrap/debootstrap.log")


def words_in(root: Path, *words: str) -> list[str]:
    # The rest of a job that is given up goes with the namespace of its processes.
    own = ["unshare", "--mount", "--pid", "--fork", "--kill-child"]
    return [*own, "sh", "-c", ENTER, str(root), *words]


def version(root: Path) -> str:
    done = subprocess.run(words_in(root, "mpirun", "--version"), capture_output=True, text=True)
    first = done.stdout.splitlines()[:1]
    if done.returncode != 0 or not first:
        raise RigError(f"mpirun does not run in {root}: {done.stderr.strip()}")
    return first[0].replace("mpirun (Open MPI)", "Open MPI")


def rows(root: Path, component: str, collective: str, min_time_ms: int) -> Iterator[dict]:
    """As far as the run gets."""
    [library, *_] = sorted((root / "usr/lib").glob("*/libmpi.so.*"))
    given = {
        "OMPI_ALLOW_RUN_AS_ROOT": "1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
        "TUTTI_BENCH_LIBMPI": f"/{library.relative_to(root)}",
    }
    words = words_in(
        root,
        *("env", *(f"{name}={value}" for name, value in given.items())),
        *("mpirun", "-n", "2", *bars.COMPONENTS[component], "-x", "TUTTI_BENCH_LIBMPI"),
        *("-x", "LD_PRELOAD=/opt/tutti/libtutti.so", "/opt/tutti/tutti-bench", "--cache", "hot"),
        *("--collective", collective, "--sizes", ",".join(map(str, bars.SIZES))),
        *("--min-time-ms", str(min_time_ms)),
    )
    try:
        done = subprocess.run(words, capture_output=True, text=True, timeout=RUN_LIMIT_S)
        said = done.stdout
    except subprocess.TimeoutExpired as late:
        said = (late.stdout or b"").decode()
    for line in said[: said.rfind("\n") + 1].splitlines():  # a run that was ended may cut its last
        event = json.loads(line) if line.startswith("{") else {}
        if event.pop("event", None) == "row":
            yield {"component": component, **event}


def furnish(root: Path) -> None:
    own = root / "opt/tutti"
    own.mkdir(parents=True, exist_ok=True)
    shutil.copy(ROOT / "build/release/src/libtutti.so", own)
    shutil.copy(paths.bench_program(), own / "tutti-bench")


class InChroot(Recording):
    """Of that folder's MPI instead of those that `make setup` installs."""

    def __init__(self, given: argparse.Namespace):
        super().__init__(given, "-openmpi6")
        self.root: Path = given.root.absolute()

    def names(self) -> dict[str, str]:
        install(self.root)
        return {"openmpi6": version(self.root)}


def measure_all(recording: InChroot) -> dict:
    furnish(recording.root)
    measured: list[dict] = []
    failures: list[str] = []
    with progress_bar(recording.console, 60, count=True) as progress:
        steps = Steps(progress, len(bars.COMPONENTS) * len(bars.COLLECTIVES))
        for component in bars.COMPONENTS:
            for collective in bars.COLLECTIVES:
                steps.say(f"{component}, {collective}")
                found = list(
                    rows(recording.root, component, collective, 5 if recording.quick else 40)
                )
                if len(found) < len(bars.SIZES):
                    failures.append(f"{component}, {collective}: {len(found)} points")
                measured += found
                steps.done()
    return {
        "failures": failures,
        "verdicts": [vars(verdict) for verdict in bars.judge(measured)],
        "rows": measured,
    }


def add_options(parser: argparse.ArgumentParser) -> None:
    add_results_option(parser)
    parser.add_argument(
        "--root", type=Path, default=ROOT / "build/sid", help="folder of Debian sid"
    )
    parser.add_argument("--quick", action="store_true", help="few samples, to try the script")
    parser.set_defaults(mpis=ROOT / ".mpi", only=None)


def record(given: argparse.Namespace) -> int:
    return InChroot(given).run(measure_all)
