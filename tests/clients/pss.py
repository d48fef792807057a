# SPDX-License-Identifier: BSD-3-Clause
"""What the ranks of a running job hold, looked at from outside."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

PROC = Path("/proc")


def _children(process: str) -> Iterator[str]:
    """What a process has started, and what that has started."""
    for task in (PROC / process / "task").glob("*/children"):
        for child in task.read_text().split():
            yield child
            yield from _children(child)


def _pss_kib(process: str) -> int:
    for line in (PROC / process / "smaps_rollup").read_text().splitlines():
        if line.startswith("Pss:"):
            return int(line.split()[1])
    return 0


class Peak:
    """The most that all ranks together held at one of the looks, in KiB, by Pss: it counts each
    page that they share once."""

    EVERY_S = 0.02

    def __init__(self) -> None:
        self.kib = 0

    def look(self, launcher: int) -> None:
        held = 0
        with contextlib.suppress(OSError):  # the launcher has ended
            for rank in _children(str(launcher)):
                with contextlib.suppress(OSError):  # a rank has ended
                    held += _pss_kib(rank)
        self.kib = max(self.kib, held)

    def __str__(self) -> str:
        return f"{self.kib / 1024:.1f} MiB"
