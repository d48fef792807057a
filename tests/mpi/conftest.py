# SPDX-License-Identifier: BSD-3-Clause
"""What is marked `alone` has no other test beside it; the others may run two at a time, but those
of one MPI after each other. What the chosen tests run is compiled before the first of them, on all
cores."""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import subprocess
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pytest
from rig.mpis import PROGRAMS, Mpi


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "alone: measures, or needs all cores or much memory")
    os.environ.setdefault("TUTTI_COMMONS_HUGE", "1")  # also where a machine may be better without


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    from two_at_a_time import ByMpi

    return ByMpi(config, log)


def try_to(build: Callable[[], Path]) -> None:
    with contextlib.suppress(subprocess.CalledProcessError):  # the test that needs it will say so
        build()


def pytest_collection_finish(session: pytest.Session) -> None:
    if session.config.option.collectonly:
        return
    builds: dict[tuple[str, str], Callable[[], Path]] = {}
    for item in session.items:
        parameters = getattr(item, "callspec", None)
        module = item.module
        for mpi in parameters.params.values() if parameters else ():
            if not isinstance(mpi, Mpi):
                continue
            if hasattr(module, "build"):
                builds[mpi.name, module.__name__] = partial(module.build, mpi)
            for source in re.findall(r'compile\("(\w+\.cc)"\)', Path(module.__file__).read_text()):
                builds[mpi.name, source] = partial(mpi.compile, source)
    PROGRAMS.mkdir(parents=True, exist_ok=True)
    with (PROGRAMS / "lock").open("w") as lock, ThreadPoolExecutor(os.cpu_count()) as pool:
        fcntl.flock(lock, fcntl.LOCK_EX)  # another worker finds everything compiled
        list(pool.map(try_to, builds.values()))
