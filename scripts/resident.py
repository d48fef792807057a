# SPDX-License-Identifier: BSD-3-Clause
"""How much memory a job's ranks occupy while they run, sampled from /proc.

Resident memory is what the ranks' mappings hold (each shared page counted once, by Pss) besides
Tutti's memfds, and those memfds whole, whether or not anyone has their pages mapped.
"""

from __future__ import annotations

import re
import subprocess
import threading
import time
import uuid
from dataclasses import dataclass, field
from pathlib import Path

from rig import Mpi, RigError, run

MARK = "RESIDENT_MARK"  # in the environment of the job, so that its processes are found
RANK_VARIABLES = (b"OMPI_COMM_WORLD_RANK=", b"PMI_RANK=")
MAPPING = re.compile(rb"^[0-9a-f]+-[0-9a-f]+ \S+ \S+ \S+ (\d+) *(.*)$")


@dataclass
class Peak:
    """The largest seen, in bytes, of all ranks together."""

    resident: int = 0
    memfds: int = 0  # the part of Tutti's memfds, at that moment
    segment: int = 0  # address range of the node segment
    samples: int = 0
    ranks: set[int] = field(default_factory=set)


def _ranks(mark: bytes) -> list[Path]:
    found = []
    for folder in Path("/proc").iterdir():
        if not folder.name.isdigit():
            continue
        try:
            environment = (folder / "environ").read_bytes()
        except OSError:
            continue  # it has ended, or is not ours
        if mark in environment and any(name in environment for name in RANK_VARIABLES):
            found.append(folder)
    return found


def _mapped(folder: Path) -> tuple[int, int]:
    """(Pss of everything but Tutti's memfds, size of the node segment's mapping)."""
    pss = segment = 0
    name = b""
    for line in (folder / "smaps").read_bytes().splitlines():
        if match := MAPPING.match(line):
            name = match[2]
        elif line.startswith(b"Pss:") and b"memfd:tutti" not in name:
            pss += int(line.split()[1]) * 1024
        elif line.startswith(b"Size:") and b"memfd:tutti-segment" in name:
            segment += int(line.split()[1]) * 1024
    return pss, segment


def _memfds(folder: Path) -> dict[int, int]:
    """Bytes that each of Tutti's memfds occupies, by inode: ranks share them."""
    result = {}
    for link in (folder / "fd").iterdir():
        try:
            if "memfd:tutti" in str(link.readlink()):
                status = link.stat()
                result[status.st_ino] = status.st_blocks * 512
        except OSError:
            continue  # closed meanwhile
    return result


def _sample(mark: bytes, peak: Peak) -> None:
    resident, segment = 0, 0
    memfds: dict[int, int] = {}
    for folder in _ranks(mark):
        try:
            pss, size = _mapped(folder)
            memfds |= _memfds(folder)
        except OSError:
            continue
        peak.ranks.add(int(folder.name))
        resident, segment = resident + pss, max(segment, size)
    total = resident + sum(memfds.values())
    peak.samples += 1
    peak.segment = max(peak.segment, segment)
    if total > peak.resident:
        peak.resident, peak.memfds = total, sum(memfds.values())


def peak_of(mpi: Mpi, ranks: int, program: list[str], *, with_tutti: bool) -> Peak:
    """Runs the program and watches it."""
    mark = uuid.uuid4().hex
    peak, ended = Peak(), threading.Event()

    def watch(_: subprocess.Popen) -> None:
        def loop() -> None:
            while not ended.is_set():
                _sample(f"{MARK}={mark}".encode(), peak)
                time.sleep(0.02)

        threading.Thread(target=loop, daemon=True).start()

    try:
        for _ in run(mpi, ranks, program, with_tutti=with_tutti, extra={MARK: mark}, started=watch):
            pass
    finally:
        ended.set()
    if len(peak.ranks) < ranks:
        raise RigError(f"saw {len(peak.ranks)} of {ranks} ranks of {program[0]} in /proc")
    return peak
