# SPDX-License-Identifier: BSD-3-Clause
"""The collectives as people write them."""

from __future__ import annotations

ALL = (
    *("bcast", "reduce", "allreduce", "barrier", "gather", "gatherv", "scatter", "scatterv"),
    *("allgather", "allgatherv", "alltoall", "alltoallv", "alltoallw"),
    *("reduce_scatter", "reduce_scatter_block", "scan", "exscan"),
)


def plain(word: str) -> str:
    """``reduce_scatter`` for MPI_Reduce_scatter and reduce-scatter; ``ireduce`` for Ireduce."""
    return word.lower().replace("-", "_").removeprefix("mpi_")


def is_nonblocking(name: str) -> bool:
    return name.startswith("i") and name[1:] in ALL
