# SPDX-License-Identifier: BSD-3-Clause
"""Time collectives on machines that are not here: nonblocking ones, and their overlap with
computation, on a chip; blocking ones on a cluster, with --nodes.

tutti simulate iscan --comm-cores 2 --placement bind,numa,odd-even

tutti simulate ireduce --ranks 32:63 --levels 0:4 --overlap --plot ireduce.png

tutti simulate allreduce --nodes 16 --ranks 64 --bytes 8:4M --plot allreduce.png
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Optional

import typer

from tutti import arguments, clusters, collectives, paths, process, sizes
from tutti.commands.declare import declared, in_group, refuse_group
from tutti.errors import UsageError
from tutti.reporters import simulate_table
from tutti.reporters.text import write_file

COLLECTIVES = ("iscan", "ibcast", "ireduce", "igather", "iscatter", "iallreduce")
PLACEMENTS = ("bind", "numa", "odd-even")
ALGORITHMS = ("paper", "direct")
MACHINES = {"knl": (64, 1), "skylake": (48, 2)}  # cores, NUMA domains
MOST_CORES = 1024
MOST_LEVELS = 20
CHAIN_PIECE = "64K"

CHIPS, CLUSTERS = "Chips", "Clusters"  # groups of options, which exclude each other
_chip, _cluster = in_group(CHIPS), in_group(CLUSTERS)


def register(app: typer.Typer) -> None:
    app.command("simulate", help=__doc__)(simulate)


def simulate(
    context: typer.Context,
    collective: str = typer.Argument(
        ...,
        help=f"Of {', '.join(COLLECTIVES)}; with --nodes of {', '.join(clusters.COLLECTIVES)}.",
    ),
    ranks: Optional[str] = typer.Option(
        None,
        metavar="N",
        help="Of a chip, instead of --comm-cores: how many ranks; also 50,62 and 32:63. "
        f"Of a cluster: ranks a node (default {clusters.RANKS}).",
    ),
    size: str = typer.Option(
        "",
        "--bytes",
        metavar="SIZE",
        help="A rank's vector; its block where blocks move. Default 1M; of a cluster 8, or a list.",
    ),
    json_file: Optional[Path] = declared(arguments.JSON),
    plot_file: Optional[Path] = declared(arguments.PLOT),
    machine: str = _chip(
        "knl", metavar="knl|skylake", help="The speed of a core, and how many there are."
    ),
    cores: Optional[int] = _chip(None, metavar="C", help="Cores, instead of the machine's."),
    domains: Optional[int] = _chip(
        None, metavar="D", help="NUMA domains, instead of the machine's."
    ),
    comm_cores: Optional[str] = _chip(
        None,
        "--comm-cores",
        metavar="K",
        help="Cores for progress threads; all others have a rank. Default 2. Also 1,2,4 and 1:16.",
    ),
    placement: Optional[str] = _chip(
        None,
        metavar="|".join(PLACEMENTS),
        help="Where progress threads go, or a list. Default: odd-even for iscan, numa for trees.",
    ),
    algorithm: str = _chip(
        "paper",
        metavar="|".join(ALGORITHMS),
        help="The paper's chain and split trees, or what `tutti run` takes. Also paper,direct.",
    ),
    piece: str = _chip(CHAIN_PIECE, metavar="SIZE", help="The pieces of iscan's pipeline."),
    levels: str = _chip(
        "0", metavar="S", help="Levels of a tree that are left to the ranks. Also 0,2 and 0:4."
    ),
    overlap: bool = _chip(False, "--overlap", help="Compute meanwhile (fixed total work)."),
    interrupts: bool = _chip(
        False, "--interrupts", help="Progress threads interrupt computation on a core they share."
    ),
    trace_file: Optional[Path] = _chip(
        None, "--trace", metavar="FILE", help="Write what each core does, for `tutti trace`."
    ),
    nodes: Optional[str] = _cluster(None, metavar="N", help="Nodes, or a list 16,64,256."),
    network: str = _cluster(
        "infiniband",
        metavar="|".join(clusters.NETWORKS),
        help="The speeds of the network and of the cores.",
    ),
    layout: str = _cluster(
        "block",
        metavar="|".join(clusters.LAYOUTS),
        help="How ranks lie over nodes; uneven: every other node has half as many.",
    ),
    scheme: str = _cluster(
        "flat,leaders",
        metavar="|".join(clusters.SCHEMES),
        help="Leaders, as the library does it, or each rank a node of its own; or both.",
    ),
    leaders: Optional[str] = _cluster(
        None, metavar="K", help="Leaders of a node, for a large Allreduce. Also 1,2,4."
    ),
    slices: Optional[str] = _cluster(
        None, "--slice", metavar="SIZE", help="The longest slice of a large Allreduce. Also a list."
    ),
    packed: Optional[str] = _cluster(
        None, metavar="SIZE", help="Blocks of an Alltoall up to this size are packed by leaders."
    ),
    forwarded: Optional[str] = _cluster(
        None,
        metavar="SIZE",
        help="Nodes that have no more for each other in an Alltoall, Gather or Scatter let others "
        "pass it on. Also 0,64K.",
    ),
    switch_nodes: int = _cluster(
        0, "--switch", metavar="N", help="Nodes of a switch. Default: all."
    ),
    taper: float = _cluster(
        1, metavar="T", help="Bandwidth of a switch's nodes over that of its links: 2 is 2:1."
    ),
    late: float = _cluster(0, metavar="US", help="The last node comes so many us late."),
) -> None:
    if nodes is not None:
        refuse_group(context, CHIPS, "is of chips, and --nodes of clusters: leave one of them out")
        asked = clusters.Asked(
            collective=collectives.plain(collective),
            nodes=nodes,
            ranks=ranks,
            bytes=size,
            network=network,
            layout=layout,
            scheme=scheme,
            leaders=leaders,
            slices=slices,
            packed=packed,
            forwarded=forwarded,
            switch_nodes=switch_nodes,
            taper=taper,
            late_us=late,
        )
        arguments.check_outputs(json_file, picture=plot_file)
        clusters.simulate(asked, json_file, plot_file)
        return
    refuse_group(context, CLUSTERS, "is of clusters: say --nodes, too")
    name = _collective(collective)
    arguments.check_one_of("--machine", machine, tuple(MACHINES))
    if cores is None:
        cores = MACHINES[machine][0]
    _in_range("--cores", cores, 2, MOST_CORES)
    if domains is None:
        domains = MACHINES[machine][1]
        if cores % domains != 0:
            domains = 1
    if domains < 1 or cores % domains != 0:
        raise UsageError(f"--domains {domains}: {cores} cores cannot be divided evenly among them")
    default = "odd-even" if name == "iscan" else "numa"
    placements = arguments.words("--placement", placement or default, PLACEMENTS)
    algorithms = arguments.words("--algorithm", algorithm, ALGORITHMS)
    level_list = arguments.numbers("--levels", levels, 0, MOST_LEVELS)
    if name == "iscan" and level_list != [0]:
        raise UsageError("--levels is for trees, and iscan is a chain")
    communication = _communication(cores, comm_cores, ranks)
    if algorithms == ["direct"] and level_list != [0]:
        raise UsageError("--levels is for trees, and direct algorithms have none")
    variants = ("paper" in algorithms) * len(level_list) + ("direct" in algorithms)
    cases = len(communication) * len(placements) * variants
    if trace_file is not None and cases != 1:
        raise UsageError(
            f"--trace shows one case, not {cases}: "
            "choose one number of ranks, placement, algorithm and levels"
        )
    arguments.check_outputs(trace_file, json_file, picture=plot_file)
    words = {
        "machine": machine,
        "cores": cores,
        "domains": domains,
        "bytes": _size("--bytes", size or "1M"),
        "piece": _size("--piece", piece),
        "communication": ",".join(map(str, communication)),
        "placement": ",".join(placements),
        "algorithm": ",".join(algorithms),
        "levels": ",".join(map(str, level_list)),
        "overlap": int(overlap),
        "interrupts": int(interrupts),
        "trace": int(trace_file is not None),
    }
    program = paths.simulate_program()
    result = process.ask(program, name, *(f"{key}={value}" for key, value in words.items()))
    traces = result.pop("traces")
    result = {"collective": name, "machine": machine, "bytes": words["bytes"], **result}
    simulate_table.print_table(result, overlap)
    if trace_file is not None:
        write_file(trace_file, json.dumps(traces[0]) + "\n")
    if json_file is not None:
        write_file(json_file, json.dumps(result, indent=1) + "\n")
    if plot_file is not None:
        from tutti.reporters import simulate_plot  # matplotlib takes a second to load

        simulate_plot.draw(plot_file, result, overlap)


def _collective(word: str) -> str:
    """``ireduce`` for ireduce, Ireduce, MPI_Ireduce and reduce."""
    name = collectives.plain(word)
    if name not in COLLECTIVES and f"i{name}" in COLLECTIVES:
        name = f"i{name}"
    arguments.check_one_of("the collective", name, COLLECTIVES)
    return name


def _communication(cores: int, comm_cores: Optional[str], ranks: Optional[str]) -> list[int]:
    if comm_cores is not None and ranks is not None:
        raise UsageError("--comm-cores and --ranks say the same: give one of them")
    if ranks is not None:
        return [cores - n for n in arguments.numbers("--ranks", ranks, 1, cores)]
    return arguments.numbers("--comm-cores", comm_cores or str(min(2, cores - 1)), 0, cores - 1)


def _size(option: str, text: str) -> int:
    size = sizes.one(option, text)
    if size < 8:
        raise UsageError(f"{option} {text}: must be at least 8 bytes, an element")
    return size


def _in_range(option: str, value: int, least: int, most: int) -> None:
    if not least <= value <= most:
        raise UsageError(f"{option} must be from {least} to {most}, not {value}")
