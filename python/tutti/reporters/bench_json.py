# SPDX-License-Identifier: BSD-3-Clause
"""The file that `tutti bench --json` writes: {"machine", "mpi", "rows"}; see docs/bench.md."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tutti.reporters.text import write_file

COLUMNS = (
    "collective", "ranks", "bytes", "cache", "base_us", "tutti_us", "ratio", "limit_us", "way",
)  # fmt: skip
TIMES = ("blocking_us", "pure_us", "overlapped_us", "overlap_percent", "post_us")
OVERLAP_COLUMNS = (
    "collective", "ranks", "comm_cores", "bytes", "cache", "work", "compute_us",
    *(f"base_{name}" for name in TIMES), *(f"tutti_{name}" for name in TIMES),
    "pure_ratio", "overlapped_ratio",
)  # fmt: skip


def write(
    path: Path,
    machine: dict[str, Any],
    mpi: str,
    rows: Sequence[dict[str, Any]],
    overlap: bool = False,
) -> None:
    columns = OVERLAP_COLUMNS if overlap else COLUMNS
    document = {
        "machine": machine,
        "mpi": mpi,
        "rows": [{column: row[column] for column in columns} for row in rows],
    }
    write_file(path, json.dumps(document, indent=1) + "\n")
