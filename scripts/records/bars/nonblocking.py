# SPDX-License-Identifier: BSD-3-Clause
"""The table of the nonblocking collectives: what is measured, and what must come of it."""

from __future__ import annotations

from records.bars.points import MIB, POWERS_OF_TWO

# What is measured of an MPI. Rows of tutti-bench have "base_pure_us" and "tutti_pure_us", those of
# IMB-NBC "pure_us" alone.
BENCH, BENCH_CORES = "tutti bench", "tutti bench, 1 communication core"
BENCH_CORES_COLD = f"{BENCH_CORES}, cold caches"
POSTS = "posting"
ALONE, ASYNC, TUTTI, TUTTI_CORES = (
    f"IMB-NBC, {what}"
    for what in ("MPI alone", "asynchronous progress", "Tutti", "Tutti, 1 communication core")
)
OUTSTANDING, IDLE, IDLE_BARE = "outstanding requests", "no requests", "no requests, bare"

IMB_MPIS = ("impi", "mpich")  # whose ABI the ready-built IMB-NBC has
COLLECTIVES = ("iallreduce", "ibcast", "ireduce", "ialltoall")
SIZES = [size for size in POWERS_OF_TWO if size >= 64 << 10]  # 64 KiB to 4 MiB
POST_SIZES = [*POWERS_OF_TWO[::3], 4 * MIB]
SHARED_CORE = [("ireduce", 2 * MIB), ("ibcast", 2 * MIB)]

OVERLAP_PERCENT = 90.0
OVERLAPPED = 1.1  # of the longer of computation and communication
PURE = 1.15  # of Tutti's blocking collective
BEST = 2.0
CORES_PERCENT = 80.0
CORES_SIZES = [size for size in SIZES if size >= 256 << 10]
POST_US = 1.0
GROWTH_KIB = 1024  # a page of an allocator's here and there, of 10 000 requests a round
WAIT_NS = 5.0  # of MPI_Wait for the MPI's own request; the clock of two runs differs by some
