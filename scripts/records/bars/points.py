# SPDX-License-Identifier: BSD-3-Clause
"""What all tables are made of: points that are measured, and verdicts on them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

Each = TypeVar("Each")

MIB = 1 << 20
POWERS_OF_TWO = [1 << k for k in range(3, 23)]  # 8 B to 4 MiB


@dataclass(frozen=True)
class Point:
    """What is measured. On the heap unless said."""

    collective: str
    bytes: int  # 0 for Barrier
    cache: str = "hot"
    ranks: int = 2
    memory: str = "heap"


Measured = dict[tuple[str, Point], dict]  # (MPI, point) -> row of tutti-bench


@dataclass(frozen=True)
class Verdict:
    case: str
    mpi: str
    bar: str
    measured: str
    met: bool
    row: dict


def by_mpi(openmpi: Each, mpich: Each, impi: Each) -> dict[str, Each]:
    return {"openmpi": openmpi, "mpich": mpich, "impi": impi}


def every_mpi(what: Each) -> dict[str, Each]:
    return by_mpi(what, what, what)
