# SPDX-License-Identifier: BSD-3-Clause
"""What the ranks of a running job hold, looked at from outside."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

EVERY_S = 0.02  # a look takes a fraction of a millisecond for each 100 MiB
MORE_KIB = 16 << 10  # what a rank may hold more than bare: docs/commons.md, the memory contract


def _descendants(process: int) -> Iterator[int]:
    for task in Path(f"/proc/{process}/task").glob("*/children"):
        for child in map(int, task.read_text().split()):
            yield child
            yield from _descendants(child)


def _shares(process: int) -> dict[str, int]:
    """Pss, in KiB, and of what kinds it is."""
    lines = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()
    return {words[0]: int(words[1]) for words in map(str.split, lines) if "Pss" in words[0]}


class Peak:
    """The most that all ranks together held at one of the looks, in KiB, by Pss: it counts each
    page that they share once."""

    def __init__(self) -> None:
        self.kib = 0
        self.kinds: dict[str, int] = {}

    def look(self, launcher: int) -> None:
        found = dict.fromkeys(("Pss:", "Pss_Anon:", "Pss_File:", "Pss_Shmem:"), 0)
        with contextlib.suppress(OSError):  # the launcher has ended
            for rank in _descendants(launcher):
                with contextlib.suppress(OSError):  # a rank has ended
                    shares = _shares(rank)
                    for kind in found:
                        found[kind] += shares.get(kind, 0)
        total = found.pop("Pss:")
        if total > self.kib:
            self.kib, self.kinds = total, found

    def __str__(self) -> str:
        kinds = ", ".join(f"{name[4:-1]} {kib // 1024}" for name, kib in self.kinds.items())
        return f"{self.kib / 1024:.1f} MiB ({kinds})"

    def check(self, bare: Peak, ranks: int) -> str:
        """Asserts that these ranks kept to the contract; what both have held."""
        more = (self.kib - bare.kib) / 1024 / ranks
        said = f"bare {bare}, Tutti {self}: {more:+.1f} MiB a rank"
        assert bare.kib > 0 and self.kib <= bare.kib + ranks * MORE_KIB, said
        return said
