# SPDX-License-Identifier: BSD-3-Clause
"""What test_apps.py knows of a job's memory is what the job holds."""

from __future__ import annotations

import sys
from pathlib import Path

from rig.jobs import start
from rig.mpis import OPENMPI
from rig.peak import Peak

HOLDS = """
import mmap, os, time
shared = mmap.mmap(-1, 32 << 20)  # its child's, too: to count once
private = bytearray(b"1") * (32 << 20)
for page in range(0, 32 << 20, 4096):
    shared[page] = 1
if os.fork() == 0:
    assert sum(shared[::4096]) == 8192
    time.sleep(0.3)
    os._exit(0)
os.wait()
"""


def test_peak(tmp_path: Path) -> None:
    program = tmp_path / "holds.py"
    program.write_text(HOLDS)
    peak = Peak()
    command = [sys.executable, str(program)]
    run = start(OPENMPI, 2, command, tutti=False, limit_s=30, cwd=tmp_path, peak=peak)
    assert run.code == 0, run.output
    # Two ranks, each with a child: 64 MiB that both map. They are not looked at in the same moment:
    # a rank that forks in between seems to hold half of that more. Counted twice it were 256 MiB.
    assert 128 << 10 <= peak.kib < 240 << 10, str(peak)
    assert 60 << 10 <= peak.kinds["Pss_Shmem:"] < 120 << 10, str(peak)
