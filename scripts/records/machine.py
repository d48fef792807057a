# SPDX-License-Identifier: BSD-3-Clause
"""Where a record was made: the processor, the memory, the system, and the commit."""

from __future__ import annotations

import os
import platform
import re
import subprocess
from datetime import date
from pathlib import Path

from rig import ROOT


def _first(path: str, pattern: str) -> str:
    match = re.search(pattern, Path(path).read_text(), re.MULTILINE)
    return match[1].strip() if match else "unknown"


def _git(*words: str) -> str:
    command = ["git", "-C", str(ROOT), *words]
    return subprocess.run(command, capture_output=True, text=True).stdout.strip()


def _cache() -> str:
    files = Path("/sys/devices/system/cpu/cpu0/cache").glob("index*/size")
    sizes = [file.read_text().strip() for file in files]
    return max(sizes, key=lambda text: int(text.rstrip("K")), default="unknown")


def describe() -> dict[str, object]:
    return {
        "cpu": _first("/proc/cpuinfo", r"^model name\s*:\s*(.*)$"),
        "cores": len(os.sched_getaffinity(0)),
        "largest_cache": _cache(),
        "memory": _first("/proc/meminfo", r"^MemTotal:\s*(.*)$"),
        "kernel": platform.release(),
        "python": platform.python_version(),
        "load_before": round(os.getloadavg()[0], 2),
    }


def commit() -> str:
    """The commit measured; "+" when the tree has changes besides."""
    changed = _git("status", "--porcelain", "--untracked-files=no")
    return (_git("rev-parse", "HEAD") or "unknown") + ("+" if changed else "")


def file_name(machine: dict[str, object]) -> str:
    """2026-11-21-intel-xeon-processor-2-cores"""
    cpu = re.sub(r"\W+", "-", re.sub(r"\(\w+\)", "", str(machine["cpu"]))).strip("-").lower()
    return f"{date.today().isoformat()}-{cpu}-{machine['cores']}-cores"
