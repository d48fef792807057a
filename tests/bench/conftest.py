# SPDX-License-Identifier: BSD-3-Clause
"""The three MPIs of `make setup`, and tutti-bench as built in build/release (or in TUTTI_HOME)."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest
from rig import ROOT
from rig.wheels import Mpi, mpis

MPIS = mpis(ROOT / ".mpi")


@pytest.fixture(scope="session")
def tutti_bench() -> Path:
    home = os.environ.get("TUTTI_HOME")
    program = Path(home, "bin") if home else ROOT / "build" / "release" / "bench"
    assert (program / "tutti-bench").exists(), f"build {program / 'tutti-bench'} first"
    return program / "tutti-bench"


@pytest.fixture(params=MPIS)
def mpi(request) -> Mpi:
    return MPIS[request.param]


@pytest.fixture
def run_bench(tutti_bench, mpi):
    """Runs it on 2 ranks without Tutti; returns (exit code, its JSON objects)."""

    def run(*options: str, ranks: int = 2, **extra: str) -> tuple[int, list[dict]]:
        words = mpi.words(ranks, [str(tutti_bench), *options], with_tutti=False)
        if preload := extra.pop("preload", None):  # into the ranks alone
            at = words.index(str(tutti_bench))
            words[at:at] = ["env", f"LD_PRELOAD={preload}"]
        done = subprocess.run(
            words,
            env=mpi.environment | extra,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            timeout=100,
        )
        lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
        return done.returncode, [json.loads(line) for line in lines]

    return run
