# SPDX-License-Identifier: BSD-3-Clause
"""Intel's MPI benchmarks, as they come ready-built: what is there, and what they print."""

from __future__ import annotations

import re
from pathlib import Path

from clients import Start
from rig import ROOT, jobs
from rig.jobs import Run
from rig.mpis import Mpi
from rig.peak import Peak

IMB = ROOT / ".mpi" / "impi" / "bin" / "IMB-MPI1"
ROOTED = ["Bcast", "Reduce", "Gather", "Gatherv", "Scatter", "Scatterv"]
ALL = ["Allreduce", "Allgather", "Allgatherv", "Alltoall", "Alltoallv", "Barrier"]
COLLECTIVES = [*ROOTED, *ALL, "Reduce_scatter", "Reduce_scatter_block"]
IMB_NBC = IMB.with_name("IMB-NBC")
NONBLOCKING = ["Ibcast", "Ireduce", "Iallreduce", "Igather", "Igatherv", "Iscatter", "Iscatterv",
               "Iallgather", "Iallgatherv", "Ialltoall", "Ialltoallv", "Ireduce_scatter",
               "Ibarrier"]  # fmt: skip


def run(
    mpi: Mpi,
    ranks: int,
    tutti: bool,
    folder: Path,
    *,
    sizes: list[int],
    calls: int,
    peak: Peak | None = None,
    start: Start = jobs.start,
) -> tuple[dict[str, int], Run]:
    """IMB-MPI1: rows(), and the run."""
    options = ["-npmin", str(ranks), "-msgsize", ",".join(map(str, sizes)), "-iter", str(calls)]
    # A barrier of IMB's own between the samples, so that the counts are of what is measured.
    options += ["-time", "1", "-imb_barrier", "on"]
    command = [str(IMB), *options, *COLLECTIVES]
    result = start(mpi, ranks, command, tutti=tutti, limit_s=300, cwd=folder, peak=peak)
    assert result.code == 0, result.output[-3000:]
    return rows(result.output), result


def run_nbc(
    mpi: Mpi,
    ranks: int,
    folder: Path,
    *,
    sizes: list[int],
    calls: int,
    start: Start = jobs.start,
) -> tuple[dict[str, int], Run]:
    """IMB-NBC under Tutti."""
    lengths = folder / "lengths"
    lengths.write_text("".join(f"{size}\n" for size in sizes))
    options = ["-npmin", str(ranks), "-msglen", str(lengths), "-iter", str(calls), "-time", "2"]
    command = [str(IMB_NBC), *options, *NONBLOCKING]
    result = start(mpi, ranks, command, tutti=True, limit_s=200, cwd=folder)
    assert result.code == 0, result.output[-3000:]
    return rows(result.output), result


def rows(output: str) -> dict[str, int]:
    """How many each benchmark printed."""
    assert "All processes entering MPI_Finalize" in output
    tables = re.split(r"# Benchmarking (\w+)", output)[1:]
    found = {}
    for name, table in zip(tables[::2], tables[1::2]):
        found[name] = len(re.findall(r"^ +\d+ .*\d$", table, re.MULTILINE))
    return found
