# SPDX-License-Identifier: BSD-3-Clause
"""Where the compiled pieces are: beside this package, or under TUTTI_HOME."""

from __future__ import annotations

import os
from pathlib import Path

from tutti.errors import InstallationError


def home() -> Path:
    """The directory that holds ``lib/libtutti.so`` and ``bin/``."""
    named = os.environ.get("TUTTI_HOME")
    return Path(named).resolve() if named else Path(__file__).resolve().parent


def _piece(relative: str) -> Path:
    path = home() / relative
    if not path.exists():
        how = (
            "check TUTTI_HOME" if os.environ.get("TUTTI_HOME") else "reinstall with `pip install .`"
        )
        raise InstallationError(f"{path} is missing: {how}")
    return path


def library() -> Path:
    return _piece("lib/libtutti.so")


def bench_program() -> Path:
    return _piece("bin/tutti-bench")


def probe_program() -> Path:
    return _piece("bin/tutti-probe")
