# SPDX-License-Identifier: BSD-3-Clause
"""Counts the TCP connections that collectives open between the rig's hosts, bare and with Tutti.

Times play no part, so other work on the machine does no harm.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rig.cluster import Cluster
from rig.hosts import INTERFACE
from rig.launchers import Layout
from rig.mpis import INTEL, LIBRARY, MPICH, OPENMPI, Mpi
from rig.text import size_text

from records import machine
from records.recording import add_results_option, head

INIT = "MPI_Init"
# In these leaders alone send, each the lowest rank of its host; in one of them the two lowest.
LARGE_ALLREDUCE = "Allreduce:1048576"
BY_LEADERS = [
    "Bcast:8",
    "Barrier",
    "Allreduce:8",
    LARGE_ALLREDUCE,
    "Bcast:1048576",
    "Reduce:8",
    "Gather:8",
    "Scatter:8",
    "Allgather:8",
    "Reduce_scatter_block:8",
    "Alltoall:8",
    "Alltoall:1024",
]
# Here the root leads, there the highest rank of each host sends, to the lowest one of the next; in
# the last one each rank sends.
BY_OTHERS = ["Bcast-from-last:8", "Scan:8"]
BY_ALL = "Alltoall:65536"
# What Tutti has the MPI do in MPI_Init, and at last, from MEETING on, for its team of the first
# collective.
MEETING = "Iallreduce:8"
BEGINNING = [
    *("binomial-tree", "Comm_split-by-host", "Allgather:8", "Comm_dup"),
    *(MEETING, "Allreduce:264"),
]

# To yield makes ranks faster that share cores. As it comes MPICH takes UCX, which connects all
# ranks in MPI_Init.
MPIS: dict[str, tuple[Mpi, dict[str, str]]] = {
    "Open MPI": (OPENMPI, {"OMPI_MCA_mpi_yield_when_idle": "1"}),
    "MPICH": (MPICH, {}),
    "MPICH, libfabric": (
        MPICH,
        {"MPIR_CVAR_CH4_NETMOD": "ofi", "FI_PROVIDER": "tcp", "FI_TCP_IFACE": INTERFACE},
    ),
    "Intel MPI": (INTEL, {"I_MPI_THREAD_YIELD": "2"}),
}
TUTTI = {"LD_PRELOAD": str(LIBRARY), "TUTTI_NODES": "1"}
LEFT = TUTTI | {"TUTTI_NODES": "0"}
WAYS = {"bare": {}, "TUTTI_NODES=0": LEFT, "TUTTI_NODES=1": TUTTI}
LAYOUTS = [Layout((2, 2, 2, 2)), Layout((4, 4, 4, 4))]
FEW = 32  # pairs that a page names

Pair = tuple[int, int]  # the two ranks of a connection, the lower one first


@dataclass(frozen=True)
class Run:
    """What each point has added."""

    mpi: str
    layout: Layout
    ways: dict[str, dict[str, list[Pair]]]
    beginning: dict[str, list[Pair]]
    alone: dict[str, list[Pair]]


def read(folder: Path, layout: Layout) -> dict[str, dict[frozenset[str], dict[str, int]]]:
    """The connections of each point, by their two ends: the ranks that have these ends."""
    points: dict[str, dict[frozenset[str], dict[str, int]]] = {}
    for rank in range(sum(layout.counts)):
        for line in (folder / str(rank)).read_text().splitlines():
            point, local, remote, own = line.split("|")
            seen = points.setdefault(point, {})
            if local:
                ends = seen.setdefault(frozenset((local, remote)), {})
                if own == "1":
                    ends[local] = rank
    return points


def opened(folder: Path, layout: Layout) -> dict[str, list[Pair]]:
    """What each point has added; without what the launcher has, which no two ranks do."""
    found: dict[str, list[Pair]] = {}
    before: set[frozenset[str]] = set()
    for point, seen in read(folder, layout).items():
        new = [list(ranks.values()) for ends, ranks in seen.items() if ends not in before]
        pairs = [(min(ranks), max(ranks)) for ranks in new if len(ranks) == 2]
        if point != INIT and len(pairs) < len(new):
            raise RuntimeError(f"{point}: a connection that is not of two ranks")
        if not before <= seen.keys():
            raise RuntimeError(f"{point}: a connection is gone")
        before |= seen.keys()
        found[point] = sorted(pairs)
    return found


def count(
    cluster: Cluster,
    name: str,
    layout: Layout,
    variables: Mapping[str, str],
    calls: Sequence[str],
) -> dict[str, list[Pair]]:
    """What MPI_Init and each of these calls opens; `name` is one of MPIS."""
    mpi, usual = MPIS[name]
    program = str(mpi.compile("../cluster/connections.cc"))
    settings = {**usual, **variables}
    with tempfile.TemporaryDirectory() as folder:
        result = cluster.run(mpi, layout, [program, folder, *calls], settings, limit_s=100)
        if result.code != 0:
            raise RuntimeError(f"{name} on {layout}: {result.code}\n{result.output}")
        return opened(Path(folder), layout)


def most_of_a_host(layout: Layout, pairs: Sequence[Pair]) -> int:
    """How many of them the host has that has the most."""
    hosts = layout.hosts()
    each = [{hosts[rank] for rank in pair} for pair in pairs]
    return max(sum(host in both for both in each) for host in range(len(layout.counts)))


def lowest(layout: Layout, each: int = 1) -> set[int]:
    """The lowest ranks of each host, so many of each."""
    hosts = layout.hosts()
    return {rank for rank, host in enumerate(hosts) if hosts[:rank].count(host) < each}


def possible(layout: Layout) -> int:
    """How many pairs of ranks are on different hosts."""
    ranks = sum(layout.counts)
    return sum(here * (ranks - here) for here in layout.counts) // 2


def spelled(point: str) -> str:
    name, _, size = point.partition(":")
    return f"{name} of {size_text(int(size))}" if size else name


def cell(layout: Layout, pairs: Sequence[Pair]) -> str:
    return f"{len(pairs)} ({most_of_a_host(layout, pairs)})" if pairs else "0"


def summary(runs: list[Run]) -> list[str]:
    columns = {
        "MPI_Init": [INIT],
        "ten collectives of leaders": BY_LEADERS[:-2],
        "Alltoall of 8 B and 1 KiB": BY_LEADERS[-2:],
        "Bcast from the last rank, Scan": BY_OTHERS,
        "Alltoall of 64 KiB": [BY_ALL],
    }
    lines = [f"| MPI | hosts x ranks | | {' | '.join(columns)} | all pairs |"]
    lines.append("|---" * (len(columns) + 4) + "|")
    for run in runs:
        layout = run.layout
        for way, found in run.ways.items():
            groups = [
                [pair for each in group for pair in found[each]] for group in columns.values()
            ]
            cells = [cell(layout, group) for group in groups]
            words = [run.mpi, f"{len(layout.counts)} x {layout.counts[0]}", way, *cells]
            lines.append(f"| {' | '.join(words)} | {possible(layout)} |")
    return lines


def table(layout: Layout, columns: dict[str, dict[str, list[Pair]]]) -> list[str]:
    """A row for each point that has opened something in any column."""
    lines = [f"| | {' | '.join(columns)} |", "|---" * (len(columns) + 1) + "|"]
    for point in next(iter(columns.values())):
        cells = [cell(layout, found[point]) for found in columns.values()]
        if set(cells) != {"0"}:
            lines.append(f"| {spelled(point)} | {' | '.join(cells)} |")
    return lines


def page(kept: dict[str, Any], runs: list[Run]) -> str:
    where = kept["machine"]
    lines = [
        "# TCP connections between the rig's hosts, the MPI alone and Tutti",
        "",
        f"{kept['date']}, commit {kept['commit']}, {where['cpu']}, {where['cores']} cores. To"
        " repeat it, run `.venv/bin/python scripts/record.py nodes-connections`.",
        "",
        "A figure is how many connections between ranks of different hosts are new at a point. In"
        " brackets: how many of them the host has that has the most. The launcher's own are left"
        ' out. "All pairs" is how many there are where each rank has one with each rank of other'
        " hosts. A job makes each call once, in the order of the tables, and looks after each.",
        "",
        f"The ten collectives of leaders are {', '.join(map(spelled, BY_LEADERS[:-2]))}. In the"
        " first one Tutti makes its team of several nodes. In the Alltoalls of 8 B and 1 KiB too"
        " leaders alone send. binomial-tree is the agreement of docs/mpi.md: each rank sends to its"
        " parent.",
        "",
        *summary(runs),
    ]
    for run in runs:
        lines += ["", f"## {run.mpi}, {run.layout} ranks", "", *table(run.layout, run.ways)]
        lines += ["", "Between which ranks, with `TUTTI_NODES=1`:", ""]
        lines += [
            f"- {spelled(point)}: {', '.join(f'{low}-{high}' for low, high in pairs)}"
            for point, pairs in run.ways["TUTTI_NODES=1"].items()
            if 0 < len(pairs) <= FEW
        ] or ["- MPI_Init: all"]
        lines += [
            "",
            "What Tutti has the MPI do as it begins, without Tutti: in this order, and each alone"
            " after MPI_Init.",
            "",
            *table(run.layout, {"in this order": run.beginning, "alone": run.alone}),
        ]
    return "\n".join(lines) + "\n"


def measure(cluster: Cluster, name: str, layout: Layout) -> Run:
    def by_point(variables: Mapping[str, str], calls: Sequence[str]) -> dict[str, list[Pair]]:
        return count(cluster, name, layout, variables, calls)

    ways = {
        way: by_point(variables, [*BY_LEADERS, *BY_OTHERS, BY_ALL])
        for way, variables in WAYS.items()
    }
    beginning = by_point({}, BEGINNING)
    alone = {INIT: beginning[INIT]} | {call: by_point({}, [call])[call] for call in BEGINNING}
    return Run(name, layout, ways, beginning, alone)


def add_options(parser: argparse.ArgumentParser) -> None:
    add_results_option(parser)


def record(given: argparse.Namespace) -> int:
    start = head(machine.describe())
    runs: list[Run] = []
    with Cluster(hosts=4) as cluster:
        for name in MPIS:
            for layout in LAYOUTS:
                print(f"{name}, {layout} ranks", flush=True)
                runs.append(measure(cluster, name, layout))
    name = machine.file_name(start["machine"]) + "-nodes-connections.md"
    given.results.mkdir(parents=True, exist_ok=True)
    (given.results / name).write_text(page(start, runs))
    print(f"Written to {given.results / name}")
    return 0
