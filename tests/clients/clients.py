# SPDX-License-Identifier: BSD-3-Clause
"""A suite that somebody else wrote, on the ranks of a job, and each test's verdict."""

from __future__ import annotations

import contextlib
import json
import os
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from rig import ROOT, jobs
from rig.jobs import Run
from rig.mpis import Mpi
from rig.peak import Peak

SUITE = Path(__file__).with_name("suite.py")
SOURCES = ROOT / ".clients"
# What starts a job, with the arguments of rig.jobs.start: on this machine, or on several hosts.
Start = Callable[..., Run]


@dataclass
class Verdicts:
    """What a suite's ranks wrote down, all of them together."""

    run: Run
    ended: dict[str, int]  # how many ranks came to the end of each test
    skipped: set[str]
    failed: dict[str, str]  # the first rank's account
    unfinished: str  # the tests that ranks were in when the job ended, with their stacks


def suite(
    mpi: Mpi,
    ranks: int,
    folder: Path,
    options: list[str],
    *,
    tutti: bool,
    limits_s: tuple[int, int],
    peak: Peak | None = None,
    start: Start = jobs.start,
) -> Verdicts:
    """Run a suite; `limits_s` are for each test and for all of them. `peak`: as for start()."""
    path = os.pathsep.join(filter(None, (str(folder), os.environ.get("PYTHONPATH"))))
    with tempfile.TemporaryDirectory() as records:
        command = [sys.executable, str(SUITE), records, str(limits_s[0]), str(folder), *options]
        run = start(
            mpi,
            ranks,
            command,
            tutti=tutti,
            limit_s=limits_s[1],
            cwd=Path(records),
            peak=peak,
            variables={"PYTHONPATH": path},
        )
        found = Verdicts(run, {}, set(), {}, "")
        files = sorted(Path(records).glob("*.jsonl"))
        for path in files:
            last = read_records(path, found)
            stacks = path.with_suffix(".stacks").read_text()
            if last or stacks:
                found.unfinished += f"\na rank was in {last or 'no test'}\n{stacks}"
        if len(files) < ranks:
            found.unfinished += f"\nonly {len(files)} of {ranks} ranks started"
    return found


def read_records(path: Path, found: Verdicts) -> str:
    """Adds a rank's verdicts; the test that it did not come out of, or nothing."""
    inside = ""
    for line in path.read_text().splitlines():
        with contextlib.suppress(json.JSONDecodeError):  # the last one of a rank that was killed
            row = json.loads(line)
            name, verdict = row["test"], row["verdict"]
            if verdict == "begun":
                inside = name
            elif verdict == "ended":
                inside = ""
                found.ended[name] = found.ended.get(name, 0) + 1
            elif verdict == "skipped":
                found.skipped.add(name)
            else:
                found.failed.setdefault(name, row["text"])
    return inside
