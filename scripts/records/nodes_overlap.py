# SPDX-License-Identifier: BSD-3-Clause
"""Measures how much of nonblocking collectives goes on in the background, between the rig's hosts.

Two hosts of a rank each. A rank is bound to one core, so that its progress thread has the other one
for itself. Run it alone.
"""

from __future__ import annotations

import argparse

from rig.cluster import Cluster
from rig.mpis import LIBRARY, MAIN, Mpi
from rig.spanning import ALONE, BOUND

from records import machine
from records.recording import add_results_option, head, write

SIZES = [8, 65536, 1 << 20]
# Told to yield: the cores of both hosts are the same ones.
SETTINGS: dict[str, dict[str, str]] = {
    "openmpi": {"OMPI_MCA_mpi_yield_when_idle": "1"},
    "impi": {"I_MPI_WAIT_MODE": "1", "I_MPI_PIN": "0"},
}


def measure(cluster: Cluster, mpi: Mpi, rounds: int) -> list[list[str]]:
    """The words of each line that overlap.cc prints."""
    variables = {"LD_PRELOAD": str(LIBRARY), **SETTINGS.get(mpi.name, {})}
    program = str(mpi.compile("../cluster/overlap.cc", "-O2"))
    words = [*BOUND, program, str(rounds), *map(str, SIZES)]
    result = cluster.run(mpi, ALONE, words, variables, 300)
    if result.code != 0:
        raise SystemExit(f"{mpi.name}: {result.code}\n{result.output}")
    lines = [line.split() for line in result.output.splitlines()]
    return [line for line in lines if len(line) == 8]


def page(kept: dict) -> str:
    lines = [
        "# Nonblocking collectives between two of the rig's hosts, in the background",
        "",
        f"{kept['date']}, commit {kept['commit']}, {kept['machine']['cpu']},"
        f" {kept['machine']['cores']} cores. A rank on each host, MPI_THREAD_MULTIPLE,"
        " a core of its own for the progress thread; Open MPI and Intel MPI told to"
        " yield. us, medians of the slower rank: the call, the call with its MPI_Wait, and that"
        " with a sleep in between, in place of a computation. Hidden: the part of the shorter of"
        " communication and sleep that cost no time.",
        "",
        "| MPI | collective | bytes | | the call | with Wait | with a sleep | the sleep | hidden |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for run in kept["runs"]:
        for name, size, side, *times in run["points"]:
            lines.append(f"| {' | '.join([run['mpi'], name, size, side, *times])} |")
    return "\n".join(lines) + "\n"


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--rounds", type=int, default=200)
    add_results_option(parser)


def record(given: argparse.Namespace) -> int:
    kept: dict = {**head(machine.describe()), "runs": []}
    with Cluster(hosts=2) as cluster:
        for mpi in MAIN:
            print(mpi.name, flush=True)
            points = measure(cluster, mpi, given.rounds)
            kept["runs"].append({"mpi": mpi.name, "points": points})
    print(write(given.results, "-nodes-overlap", kept, page(kept)))
    return 0
