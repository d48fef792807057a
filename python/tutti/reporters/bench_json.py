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


def write(path: Path, machine: dict[str, Any], mpi: str, rows: Sequence[dict[str, Any]]) -> None:
    document = {
        "machine": machine,
        "mpi": mpi,
        "rows": [{column: row[column] for column in COLUMNS} for row in rows],
    }
    write_file(path, json.dumps(document, indent=1) + "\n")
