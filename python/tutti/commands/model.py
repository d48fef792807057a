# SPDX-License-Identifier: BSD-3-Clause
"""Predict how long nonblocking collectives take whose tree is split, and where to split it; or,
with --aggregation, when messages between nodes are worth joining.

tutti model --cores 64

tutti model --cores 64 --growing --plot model.png

tutti model --aggregation --nodes 4 --ranks 8 --plot aggregation.png
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Optional

import typer

from tutti import arguments, clusters, probe
from tutti.aggregation import Alltoall, Network
from tutti.commands.declare import declared, in_group, refuse_group
from tutti.errors import UsageError
from tutti.reporters import aggregation as aggregation_reporter
from tutti.reporters import model_table
from tutti.reporters.text import write_file

AGGREGATION, SPLIT_TREE = "Aggregation", "Split tree"
_aggregation, _tree = in_group(AGGREGATION), in_group(SPLIT_TREE)
PAPERS, PAPERS_CONSTANT_US = "infiniband-2007", -10  # Mamidala et al. 2007, section 5

LEAST_COST, MOST_COST = 1e-6, 1e6
LEAST_CORES, MOST_CORES = 2, 1024  # as src/probe/probe.h


def register(app: typer.Typer) -> None:
    app.command("model", help=__doc__)(model)


def model(
    context: typer.Context,
    cores_text: Optional[str] = _tree(
        None, "--cores", metavar="N", help="Cores of the node. Default: those usable here."
    ),
    growing: bool = _tree(
        False, "--growing", help="Print the table of gather and scatter, not bcast and reduce."
    ),
    json_file: Optional[Path] = declared(arguments.JSON),
    plot_file: Optional[Path] = declared(arguments.PLOT),
    aggregation: bool = typer.Option(
        False, "--aggregation", help="Of messages between nodes instead."
    ),
    network: str = _aggregation(
        "infiniband-2007",
        metavar="|".join(clusters.NETWORKS),
        help="Whose messages; infiniband-2007 are the paper's.",
    ),
    startup: Optional[float] = _aggregation(
        None, metavar="US", help="Time to start a message, instead of the network's."
    ),
    byte: Optional[float] = _aggregation(None, metavar="NS", help="Time of a byte, the same."),
    nodes: int = _aggregation(4, metavar="N", help="Nodes of an Alltoall."),
    ranks: int = _aggregation(8, metavar="N", help="Ranks of each."),
) -> None:
    arguments.check_outputs(json_file, picture=plot_file)
    if aggregation:
        refuse_group(context, SPLIT_TREE, "is of the split tree: leave it or --aggregation out")
        said = aggregated(network, startup, byte, nodes, ranks)
        aggregation_reporter.print_table(said)
        if json_file is not None:
            write_file(json_file, json.dumps(said, indent=1) + "\n")
        if plot_file is not None:
            aggregation_reporter.draw(plot_file, said)
        return
    refuse_group(context, AGGREGATION, "is of messages between nodes: say --aggregation, too")
    cores = core_count(cores_text)
    said = probe.model(cores)
    model_table.print_table(said, growing)
    if json_file is not None:
        write_file(json_file, json.dumps(said, indent=1) + "\n")
    if plot_file is not None:
        from tutti.reporters import model_plot  # matplotlib takes a second to load

        model_plot.draw(plot_file, said)


def aggregated(
    name: str, startup_us: Optional[float], byte_ns: Optional[float], nodes: int, ranks: int
) -> dict[str, Any]:
    """The figures of a network, of which two may be given."""
    arguments.check_one_of("--network", name, clusters.NETWORKS)
    for option, value in (("--startup", startup_us), ("--byte", byte_ns)):
        if value is not None:
            arguments.check_within(option, value, LEAST_COST, MOST_COST)
    arguments.check_within("--nodes", nodes, 2, clusters.MOST_NODES)
    arguments.check_within("--ranks", ranks, 1, clusters.MOST_RANKS // nodes)
    known = clusters.networks()[name]
    given = startup_us is not None or byte_ns is not None
    network = Network(
        startup_us=known["startup_ns"] / 1000 if startup_us is None else startup_us,
        byte_us=known["byte_ns"] / 1000 if byte_ns is None else byte_ns / 1000,
        constant_us=PAPERS_CONSTANT_US if name == PAPERS and not given else 0,
    )
    return aggregation_reporter.figures(network, Alltoall(nodes, ranks))


def core_count(text: Optional[str]) -> int:
    """The value of --cores, or the cores that this process may use."""
    word = str(probe.machine()["usable_cores"]) if text is None else text
    if LEAST_CORES <= arguments.number(word) <= MOST_CORES:
        return int(word)
    if text is None:
        raise UsageError(f"there is nothing to split on {word} usable core: name --cores")
    raise UsageError(f"--cores must be a number from {LEAST_CORES} to {MOST_CORES}, not '{text}'")
