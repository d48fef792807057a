# SPDX-License-Identifier: BSD-3-Clause
"""`make demo` from its second line on, with one run of each program: all is there, and the results
are the same with Tutti and without."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PNG = b"\x89PNG"


def test_demo(tmp_path) -> None:
    plot = tmp_path / "demo.png"
    words = [sys.executable, ROOT / "scripts" / "demo.py", "--turns", "1", "--plot", plot]
    done = subprocess.run(words, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    for row in ("Bcast", "Reduce", "Allreduce", "Barrier", "asp: Bcast", "digits: Allreduce"):
        assert any(row in line and "x" in line for line in done.stdout.splitlines()), row
    assert "gave the same results with and without Tutti" in done.stdout
    assert "tutti run -n 2" in done.stdout
    assert plot.read_bytes().startswith(PNG)
