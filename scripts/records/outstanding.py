# SPDX-License-Identifier: BSD-3-Clause
"""tests/mpi/outstanding.cc, whose figures are of interest, too: many requests at once."""

from __future__ import annotations

import re
from collections.abc import Iterable

from rig import ROOT
from rig.wheels import Mpi


def build(mpi: Mpi) -> str:
    source, program = ROOT / "tests" / "mpi" / "outstanding.cc", f"{mpi.name}-outstanding"
    compiler = "mpigxx" if mpi.name == "impi" else "mpicxx"
    return mpi.compile([compiler, "-std=c++17", "-O2"], source, ROOT / "build" / "demo" / program)


def parse(lines: Iterable[str]) -> dict[str, list[float]]:
    """What it prints."""
    text = "\n".join(lines)
    found = {
        "threads": r"^threads (\d+)",
        "wait_ns": r"^wait (\S+) ns",
        "resident_kib": r": rss (\d+) KiB",
        "round_s": r" KiB, (\S+) s$",
        "wrong": r"rounds, (\d+) wrong",
    }
    return {
        name: [float(value) for value in re.findall(pattern, text, re.MULTILINE)]
        for name, pattern in found.items()
    }
