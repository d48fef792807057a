# SPDX-License-Identifier: BSD-3-Clause
"""How much memory a job's ranks occupy while they run, sampled from /proc.

Resident memory is what the ranks' mappings hold (each shared page counted once, by Pss) besides
Tutti's files, and those files whole, whether or not anyone has their pages mapped.
"""

from __future__ import annotations

import os
import re
import subprocess
import threading
import time
import uuid
from dataclasses import dataclass, field
from pathlib import Path

from rig.wheels import Mpi, RigError, run

MARK = "RESIDENT_MARK"  # in the environment of the job, so that its processes are found
RANK_VARIABLES = (b"OMPI_COMM_WORLD_RANK=", b"PMI_RANK=")
MAPPING = re.compile(rb"^[0-9a-f]+-[0-9a-f]+ \S+ \S+ ([0-9a-f]+):([0-9a-f]+) (\d+) *(.*)$")
OURS = re.compile(r"^/(memfd:)?tutti-")  # a memfd, or of a file system of its own
SEGMENT = "tutti-segment"
File = tuple[int, int]  # device and inode


@dataclass
class Peak:
    """The largest seen, in bytes, of all ranks together."""

    resident: int = 0
    files: int = 0  # the part of Tutti's files, at that moment
    segment: int = 0  # the part of the node segment alone
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


@dataclass
class Memory:
    """What was found at one moment; Tutti's files apart, as ranks share them."""

    others: int = 0  # Pss of all other mappings
    mapped: dict[File, int] = field(default_factory=dict)  # Pss
    whole: dict[File, int] = field(default_factory=dict)  # of those with an open descriptor
    segments: set[File] = field(default_factory=set)  # which of them are node segments

    def add(self, folder: Path) -> None:
        """One process's part; `folder` is its /proc/PID."""
        file, name = (0, 0), ""
        for line in (folder / "smaps").read_bytes().splitlines():
            if match := MAPPING.match(line):
                device = os.makedev(int(match[1], 16), int(match[2], 16))
                file, name = (device, int(match[3])), match[4].decode(errors="replace")
            elif line.startswith(b"Pss:"):
                pss = int(line.split()[1]) * 1024
                if not OURS.match(name):
                    self.others += pss
                    continue
                self.mapped[file] = self.mapped.get(file, 0) + pss
                if SEGMENT in name:
                    self.segments.add(file)
        for link in (folder / "fd").iterdir():
            try:
                if OURS.match(str(link.readlink())):
                    status = link.stat()
                    self.whole[status.st_dev, status.st_ino] = status.st_blocks * 512
            except OSError:
                continue  # closed meanwhile

    def files(self) -> dict[File, int]:
        return self.mapped | self.whole


def _sample(mark: bytes, peak: Peak) -> None:
    memory = Memory()
    for folder in _ranks(mark):
        try:
            memory.add(folder)
        except OSError:
            continue  # it has ended
        peak.ranks.add(int(folder.name))
    files = memory.files()
    total = memory.others + sum(files.values())
    peak.samples += 1
    peak.segment = max(peak.segment, sum(files[each] for each in memory.segments))
    if total > peak.resident:
        peak.resident, peak.files = total, sum(files.values())


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
