# SPDX-License-Identifier: BSD-3-Clause
"""Say which algorithm a collective runs here, why, and what the others would cost.

tutti explain allreduce --bytes 64K -n 128

tutti explain allreduce --bytes 64K -n 8 --nodes 16   what the leaders of nodes do

TUTTI_ALLREDUCE=staged tutti run -n 4 ./app   runs another one

TUTTI_ALLREDUCE=mpi tutti run -n 4 ./app   leaves it to the MPI
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Optional

import typer

from tutti import arguments, clusters, collectives, paths, process, sizes
from tutti.errors import UsageError
from tutti.reporters import explain_table
from tutti.reporters.text import write_file

UNKNOWN_SIZES = ("gatherv", "scatterv", "alltoallv", "alltoallw")  # no rank knows the others'
MOST_RANKS = 4096


def register(app: typer.Typer) -> None:
    app.command("explain", help=__doc__)(explain)


def explain(
    collective: str = typer.Argument(..., help="As allreduce, MPI_Allreduce or iallreduce."),
    size: Optional[str] = typer.Option(
        None,
        "--bytes",
        metavar="SIZE",
        help="A rank's whole vector, or a block (allgatherv: all of them). Default 8.",
    ),
    ranks: str = typer.Option("2", "-n", "-np", "--ranks", metavar="N", help="Ranks on a node."),
    user_op: bool = typer.Option(False, "--user-op", help="With an operation of the program's."),
    cores: Optional[str] = typer.Option(
        None, "--cores", metavar="C", help="Cores of the node, if ranks share them."
    ),
    nodes: Optional[str] = typer.Option(
        None, "--nodes", metavar="N", help="Nodes: what their leaders do, simulated."
    ),
    network: Optional[str] = typer.Option(
        None,
        metavar="|".join(clusters.NETWORKS),
        help="Between the nodes: the speeds that are simulated. Default infiniband.",
    ),
    json_file: Optional[Path] = typer.Option(
        None, "--json", metavar="FILE", help="Write all of it to FILE."
    ),
) -> None:
    name = _collective(collective)
    if nodes is not None:
        if user_op or cores is not None:
            raise UsageError("--nodes: leave out --user-op and --cores, which are of one node")
        arguments.check_outputs(json_file)
        said = clusters.explain(name, size, nodes, ranks, network or clusters.NETWORKS[0])
        explain_table.print_leaders(said)
        _write(json_file, said)
        return
    if network is not None:
        raise UsageError("--network is between nodes: say --nodes N, too")
    count = arguments.rank_count(ranks) or 0
    if not 2 <= count <= MOST_RANKS:
        raise UsageError(f"-n must be from 2 to {MOST_RANKS}, not {ranks}")
    if user_op and name not in collectives.COMPUTE:
        raise UsageError(f"--user-op is for reductions, and {name} computes nothing")
    if size is not None and name in (*UNKNOWN_SIZES, "barrier"):
        reason = "it moves nothing" if name == "barrier" else "no rank knows the others' sizes"
        raise UsageError(f"--bytes does not matter for {name}: {reason}")
    arguments.check_outputs(json_file)
    size_bytes = 0 if name in (*UNKNOWN_SIZES, "barrier") else sizes.one("--bytes", size or "8")
    words = ("explain", name, str(size_bytes), str(count), str(int(user_op)), str(_cores(cores)))
    said = process.ask(paths.simulate_program(), *words, timeout_s=60)
    explain_table.print_table(said)
    _write(json_file, said)


def _write(json_file: Optional[Path], said: dict[str, Any]) -> None:
    if json_file is not None:
        write_file(json_file, json.dumps(said, indent=1) + "\n")


def _cores(given: Optional[str]) -> int:
    """0 where there are as many as ranks."""
    if given is None:
        return 0
    count = arguments.number(given)
    if not 1 <= count <= MOST_RANKS:
        raise UsageError(f"--cores must be from 1 to {MOST_RANKS}, not {given}")
    return count


def _collective(word: str) -> str:
    """``reduce`` for reduce, MPI_Reduce and MPI_Ireduce."""
    name = collectives.plain(word)
    if collectives.is_nonblocking(name):
        name = name[1:]
    arguments.check_one_of("the collective", name, collectives.ALL)
    return name
