# SPDX-License-Identifier: BSD-3-Clause
"""Options that several commands take, each described once."""

from __future__ import annotations

import os
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
COMM_CORES: Any = typer.Option(
    None,
    "--comm-cores",
    metavar="K",
    help="Keep K cores of each node free for nonblocking collectives.",
)


def rank_count(text: Optional[str]) -> Optional[int]:
    """The value of -n."""
    if text is None:
        return None
    if not text.isdecimal() or int(text) < 1:
        raise UsageError(f"-n must be a number of ranks, at least 1, not '{text}'")
    return int(text)


def rank_counts(text: str) -> list[int]:
    """The value of an -n that may be a list: ``2,3,4``; ascending, each once."""
    counts = set()
    for word in text.split(","):
        if not word.isdecimal() or int(word) < 1:
            raise UsageError(f"-n must be numbers of ranks, at least 1, such as 2,4, not '{text}'")
        counts.add(int(word))
    return sorted(counts)


def communication_cores(text: Optional[str]) -> int:
    """The value of --comm-cores; 0 without it."""
    if text is None:
        return 0
    usable = len(os.sched_getaffinity(0))
    if not text.isdecimal() or int(text) < 1:
        raise UsageError(f"--comm-cores must be a number of cores, at least 1, not '{text}'")
    if int(text) >= usable:
        raise UsageError(
            f"--comm-cores {text} leaves no core for the ranks: this node has {usable}, "
            f"so it may be at most {usable - 1}"
        )
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
