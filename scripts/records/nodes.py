# SPDX-License-Identifier: BSD-3-Clause
"""Compares collectives between the rig's hosts, the MPI's and Tutti's by turns in one job.

Names of files end with -nodes, or -nodes-auto and -nodes-control; with --only Alltoall they end
with -nodes-alltoall, with --rate 1gbit with -nodes-1gbit.

With --nodes 0 both sides are the MPI's, and -nodes-control says by how much such figures differ.
MPIs that spin for each other's cores are left out then.

Run it alone. The hosts share this machine's cores: what is compared is how much work there is, and
who waits how. It says little of real networks. With a --rate of each host's link, large messages
take as long as they do on a network that has no more. Then there are only hosts of two ranks, and
each MPI as it performs best.
"""

from __future__ import annotations

import argparse
import math

from rig.cluster import Cluster
from rig.launchers import Layout
from rig.mpis import LIBRARY, MAIN, Mpi

from records import machine
from records.recording import add_results_option, head, write

SIZES = [8, 1024, 65536, 1 << 20]
# As each MPI comes, and told to yield its core in a wait.
SPINNING, YIELDING = "as it comes", "told to yield"
SETTINGS: dict[str, dict[str, dict[str, str]]] = {
    SPINNING: {"openmpi": {}, "mpich": {}, "impi": {}},
    YIELDING: {
        "openmpi": {"OMPI_MCA_mpi_yield_when_idle": "1"},
        "impi": {"I_MPI_WAIT_MODE": "1"},
    },
}
BEST = {"openmpi": YIELDING, "mpich": SPINNING, "impi": YIELDING}
KINDS = {"1": "-nodes", "auto": "-nodes-auto", "0": "-nodes-control"}  # of records
LAYOUTS = [Layout((2, 2, 2, 2)), Layout((1, 1))]


def measure(cluster: Cluster, mpi: Mpi, layout: Layout, variables: dict[str, str], words: list):
    """(collective, bytes, us of the MPI, us of Tutti) of each point."""
    tutti = {"LD_PRELOAD": str(LIBRARY), **variables}
    program = str(mpi.compile("../cluster/pairs.cc", "-O2"))
    result = cluster.run(mpi, layout, [program, *map(str, words)], tutti, 600)
    if result.code != 0:
        raise SystemExit(f"{mpi.name} on {layout}: {result.code}\n{result.output}")
    lines = [line.split() for line in result.output.splitlines()]
    return [(a, int(b), float(c), float(d)) for a, b, c, d in (x for x in lines if len(x) == 4)]


def mean(ratios: list[float]) -> float:
    return math.exp(sum(map(math.log, ratios)) / len(ratios))


def page(kept: dict) -> str:
    lines = [
        "# Collectives between the rig's hosts, the MPI alone over Tutti"
        f" (TUTTI_NODES={kept['nodes']})",
        "",
        f"{kept['date']}, commit {kept['commit']}, {kept['machine']['cpu']},"
        f" {kept['machine']['cores']} cores."
        + (f" Each host's link carries {kept['rate']}/s." if kept["rate"] else "")
        + " Times in us: the MPI's, Tutti's, and how many times as fast that is.",
    ]
    for run in kept["runs"]:
        ratios = [bare / tutti for name, _, bare, tutti in run["points"] if "-" not in name]
        lines += [
            "",
            f"## {run['mpi']}, {run['settings']}, {run['layout']} ranks",
            "",
            f"Geometric mean {mean(ratios):.2f}x, least {min(ratios):.2f}x, without the lines for"
            " the calls of nonblocking ones alone.",
            "",
            "| collective | bytes | the MPI | Tutti | |",
            "|---|---|---|---|---|",
        ]
        lines += [
            f"| {a.replace('-post', ', the call')} | {b} | {c:.1f} | {d:.1f} | {c / d:.2f}x |"
            for a, b, c, d in run["points"]
        ]
    return "\n".join(lines) + "\n"


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--turns", type=int, default=5, help="of each side, at least")
    parser.add_argument("--seconds", type=float, default=0.4, help="of both sides together")
    parser.add_argument("--nodes", choices=[*KINDS], default="1", help="TUTTI_NODES")
    parser.add_argument("--only", metavar="COLLECTIVE", help="one of them, such as Alltoall")
    parser.add_argument("--sizes", default=",".join(map(str, SIZES)), help="bytes")
    parser.add_argument("--rate", default="", help="of each host's link, as tc says it: 1gbit")
    add_results_option(parser)


def record(given: argparse.Namespace) -> int:
    kept: dict = {**head(machine.describe()), "nodes": given.nodes, "rate": given.rate}
    kept |= {"turns": given.turns, "seconds": given.seconds, "runs": []}
    words = [
        max(given.turns, 1),
        given.seconds,
        given.only or "all",
        *given.sizes.split(","),
    ]
    with Cluster(4, given.rate) as cluster:
        for layout in LAYOUTS[:1] if given.rate else LAYOUTS:
            for settings, mpis in SETTINGS.items():
                for mpi in [each for each in MAIN if each.name in mpis]:
                    if given.rate and settings != BEST[mpi.name]:
                        continue
                    if given.nodes == "0" and layout is LAYOUTS[0] and settings == SPINNING:
                        continue
                    print(f"{mpi.name}, {settings}, {layout} ranks", flush=True)
                    variables = {"TUTTI_NODES": given.nodes, **mpis[mpi.name]}
                    points = measure(cluster, mpi, layout, variables, words)
                    run = {"mpi": mpi.name, "settings": settings, "layout": str(layout)}
                    kept["runs"].append(run | {"points": points})
    kind = KINDS[given.nodes]
    kind += f"-{given.only.lower()}" if given.only else ""
    kind += f"-{given.rate}" if given.rate else ""
    print(write(given.results, kind, kept, page(kept)))
    return 0
