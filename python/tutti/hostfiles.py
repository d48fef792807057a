# SPDX-License-Identifier: BSD-3-Clause
"""The file of hosts that Intel MPI gets."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tutti.arguments import Host


def write(file: Path, hosts: Sequence[Host]) -> Path:
    """For Hydra, a host a line."""
    lines = "".join(f"{host.name}:{host.ranks}\n" for host in hosts)
    file.write_text(lines, encoding="utf-8", errors="surrogateescape")
    return file
