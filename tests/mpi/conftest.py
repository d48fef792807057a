# SPDX-License-Identifier: BSD-3-Clause
"""Compiles what the chosen tests run before the first of them, on all cores: the tests
themselves run one after the other."""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pytest
from mpis import Mpi


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
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(try_to, builds.values()))
