# SPDX-License-Identifier: BSD-3-Clause
"""Starting somebody else's MPI program, bare or under Tutti, and what came of it.

A program that hangs is ended by its launcher, which is asked first and killed later, so that no
rank stays behind; what it said last is in the message.
"""

from __future__ import annotations

import json
import os
import select
import subprocess
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rig.mpis import Mpi, end
from rig.peak import EVERY_S, Peak


@dataclass
class Run:
    """A run that has ended. `calls` are the rows of Tutti's report; empty for a bare run."""

    code: int
    output: str
    seconds: float
    calls: dict[str, dict[str, Any]] = field(default_factory=dict)

    def taken(self) -> int:
        return sum(row["taken"] for row in self.calls.values())

    def seen(self) -> int:
        return sum(row["seen"] for row in self.calls.values())

    def summary(self) -> str:
        """Calls taken over and seen by rank 0, and why the others were not."""
        reasons: dict[str, int] = {}
        for row in self.calls.values():
            for why, count in row["reasons"].items():
                reasons[why] = reasons.get(why, 0) + count
        left = ", ".join(f"{count} {why}" for why, count in reasons.items())
        kinds = " ".join(f"{name} {row['taken']}" for name, row in self.calls.items())
        return f"{self.taken()} of {self.seen()} calls taken over ({kinds}); left: {left or 'none'}"


def ends(job: subprocess.Popen, limit_s: float, peak: Peak | None) -> bool:
    """Waits for a job, and looks at its memory meanwhile; whether it ended in time."""
    last = time.monotonic() + limit_s
    ended = os.pidfd_open(job.pid)  # not job.wait(limit_s), which looks every 50 ms
    try:
        while True:
            left = max(0.0, last - time.monotonic())
            pause = left if peak is None else min(left, EVERY_S)
            if select.select([ended], [], [], pause)[0]:
                return True
            if left == 0.0:
                return False
            if peak is not None:
                peak.look(job.pid)
    finally:
        os.close(ended)


def rows_of(report: Path) -> dict[str, dict[str, Any]]:
    """Those of Tutti's report, by collective; none if there is no report."""
    rows = json.loads(report.read_text())["calls"] if report.exists() else []
    return {row["collective"]: row for row in rows}


def start(
    mpi: Mpi,
    ranks: int,
    command: list[str],
    *,
    tutti: bool,
    limit_s: float,
    cwd: Path,
    peak: Peak | None = None,
    variables: dict[str, str] | None = None,
) -> Run:
    """Run `command`; code -1 says that it did not end in time. `peak` learns what it holds.

    `variables` are more of the environment.
    """
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        options = {"TUTTI_REPORT": str(report)} if tutti else None
        begin = time.monotonic()
        with (Path(folder) / "output").open("w+") as output:
            job = subprocess.Popen(
                mpi.launch(ranks, command, options),
                env=os.environ | mpi.environment | (variables or {}),
                cwd=cwd,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            try:
                code = job.wait() if ends(job, limit_s, peak) else -1
            finally:
                end(job)
            output.seek(0)
            said = output.read()
        calls = rows_of(report)
    return Run(code, said, time.monotonic() - begin, calls)
