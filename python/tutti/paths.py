# SPDX-License-Identifier: BSD-3-Clause
"""Where the compiled pieces are: beside this package, or under TUTTI_HOME."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator
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


@contextlib.contextmanager
def temporary_directory() -> Iterator[Path]:
    """One that has a name for programs in other working directories, too: TMPDIR may be `.`"""
    everywhere = Path(tempfile.gettempdir()).absolute()
    with tempfile.TemporaryDirectory(prefix="tutti-", dir=everywhere) as directory:
        yield Path(directory)


def can_be_preloaded(path: Path) -> bool:
    """Whether LD_PRELOAD can hold `path`: it takes spaces and colons for the end of a name."""
    return not any(c in " :\t\n" for c in str(path))


@contextlib.contextmanager
def preloadable_library() -> Iterator[Path]:
    """The library under a name that LD_PRELOAD can hold, good inside the ``with``."""
    path = library()
    if can_be_preloaded(path):
        yield path
        return
    with temporary_directory() as directory:
        link = directory / path.name
        if not can_be_preloaded(link):
            raise InstallationError(
                f"LD_PRELOAD cannot hold {path}, nor a link in {directory}: both have a space or a "
                "colon in them; set TMPDIR to a directory without"
            )
        link.symlink_to(path)
        yield link


def bench_program() -> Path:
    return _piece("bin/tutti-bench")


def probe_program() -> Path:
    return _piece("bin/tutti-probe")


def simulate_program() -> Path:
    return _piece("bin/tutti-simulate")
