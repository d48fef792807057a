# SPDX-License-Identifier: BSD-3-Clause
"""The collectives as people write them, from the library's own table of them."""

from __future__ import annotations

import re
from pathlib import Path

# src/base/collectives.def, which is installed beside this file: name, Name, root, computed.
_ROW = re.compile(r"^TUTTI_(?:BARRIER|COLLECTIVE)\((\w+), \w+(?:, \w+, (\w+))?", re.MULTILINE)
_ROWS = _ROW.findall(Path(__file__).with_name("collectives.def").read_text())

ALL = tuple(name for name, _ in _ROWS)
COMPUTE = tuple(name for name, computed in _ROWS if computed not in ("", "nothing"))


def plain(word: str) -> str:
    """``reduce_scatter`` for MPI_Reduce_scatter and reduce-scatter; ``ireduce`` for Ireduce."""
    return word.lower().replace("-", "_").removeprefix("mpi_")


def is_nonblocking(name: str) -> bool:
    return name.startswith("i") and name[1:] in ALL
