# SPDX-License-Identifier: BSD-3-Clause
"""The collectives as people write them, from the library's own table of them."""

from __future__ import annotations

import re
from pathlib import Path

# It is installed beside this file, but where the package is run from its source.
_INSTALLED = Path(__file__).with_name("collectives.def")
_SOURCE = Path(__file__).resolve().parents[2] / "src" / "base" / "collectives.def"
_TABLE = _INSTALLED if _INSTALLED.is_file() else _SOURCE
# A row begins with name, Name, root, computed.
_ROW = re.compile(r"^TUTTI_(?:BARRIER|COLLECTIVE)\((\w+),\s+\w+(?:,\s+\w+,\s+(\w+))?", re.M)
_ROWS = _ROW.findall(_TABLE.read_text())

ALL = tuple(name for name, _ in _ROWS)
COMPUTE = tuple(name for name, computed in _ROWS if computed not in ("", "nothing"))


def plain(word: str) -> str:
    """``reduce_scatter`` for MPI_Reduce_scatter and reduce-scatter; ``ireduce`` for Ireduce."""
    return word.lower().replace("-", "_").removeprefix("mpi_")


def is_nonblocking(name: str) -> bool:
    return name.startswith("i") and name[1:] in ALL
