# SPDX-License-Identifier: BSD-3-Clause
"""Options that several commands take, each described once."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Optional

import typer

from tutti.errors import UsageError

RANKS: Any = typer.Option(
    None, "-n", "-np", "--ranks", metavar="N", help="How many ranks to start."
)
MPI: Any = typer.Option(
    None,
    "--mpi",
    metavar="PATH",
    help="The MPI: a launcher or a directory with one. Default: the first mpirun in PATH.",
)
ALLOW_ROOT: Any = typer.Option(
    False, "--allow-run-as-root", help="Let Open MPI run as root (it refuses otherwise)."
)


def rank_count(text: Optional[str]) -> Optional[int]:
    """The value of -n."""
    if text is None:
        return None
    if not text.isdecimal() or int(text) < 1:
        raise UsageError(f"-n must be a number of ranks, at least 1, not '{text}'")
    return int(text)


def check_outputs(*files: Optional[Path]) -> None:
    """Says that a file cannot be written before any work is done for it."""
    for file in files:
        if file is None:
            continue
        if not file.absolute().parent.is_dir():
            raise UsageError(f"{file} cannot be written: there is no directory {file.parent}")
        if file.is_dir():
            raise UsageError(f"{file} cannot be written: it is a directory")
