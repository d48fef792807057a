# SPDX-License-Identifier: BSD-3-Clause
"""What this machine has left."""

from __future__ import annotations

import re
from pathlib import Path


def why_too_little(needed_gib: int) -> str:
    """Why a test that needs so much memory is skipped; "" if there is enough, or nobody knows."""
    found = re.search(r"MemAvailable: +(\d+) kB", Path("/proc/meminfo").read_text())
    free_gib = int(found[1]) >> 20 if found else needed_gib
    return f"only {free_gib} GiB of memory are free" if free_gib < needed_gib else ""
