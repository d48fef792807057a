# SPDX-License-Identifier: BSD-3-Clause
"""`tutti simulate --nodes`: blocking collectives on clusters that are not here."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Optional

from tutti import arguments, paths, process, sizes
from tutti.errors import UsageError
from tutti.reporters import cluster_table
from tutti.reporters.text import write_file

COLLECTIVES = (
    *("barrier", "bcast", "reduce", "allreduce", "gather", "scatter", "allgather", "alltoall"),
    *("scan", "reduce_scatter_block"),
)
VECTORS = ("bcast", "reduce", "allreduce", "scan")  # in the others each rank has a block for each
NETWORKS = ("infiniband", "infiniband-2007", "ethernet")
LAYOUTS = ("block", "cyclic", "uneven")
SCHEMES = ("flat", "leaders")
MOST_TAPER, MOST_LATE_US = 1000, 1e9
RANKS = 8
MOST_NODES, MOST_RANKS = 4096, 1 << 17
# `tutti explain` is to take seconds, and some algorithms have messages for each pair of ranks.
MOST_EXPLAINED_RANKS, MOST_EXPLAINED_BYTES = 256, 1 << 30
ELEMENT = 8
MOST_BYTES = 1 << 32
# An Alltoall has a message or a block for each pair of ranks. More take minutes and gigabytes.
MOST_PAIRS = {"flat": 1 << 23, "leaders": 1 << 26}


@dataclass(frozen=True)
class Asked:
    """The options as they were written."""

    collective: str
    nodes: str
    ranks: Optional[str]
    bytes: str
    network: str = NETWORKS[0]
    layout: str = LAYOUTS[0]
    scheme: str = "flat,leaders"
    leaders: Optional[str] = None
    slices: Optional[str] = None
    packed: Optional[str] = None
    forwarded: Optional[str] = None
    switch_nodes: int = 0
    taper: float = 1
    late_us: float = 0


def simulate(asked: Asked, json_file: Optional[Path], plot_file: Optional[Path]) -> None:
    result = _run(asked)
    cluster_table.print_table(result)
    if json_file is not None:
        write_file(json_file, json.dumps(result, indent=1) + "\n")
    if plot_file is not None:
        from tutti.reporters import cluster_plot  # matplotlib takes a second to load

        cluster_plot.draw(plot_file, result)


def explain(
    collective: str, size: Optional[str], nodes: str, ranks: str, network: str
) -> dict[str, Any]:
    """What the leaders of nodes do in a call, and what else they could do.

    ``algorithms``: name, description, and whether each ``fits`` and is ``chosen``. ``cases``: ns,
    messages and message_bytes of those that fit, and of the call without leaders, which has the
    scheme ``flat``; none where that takes too much time and memory.
    """
    text = "" if size is None else str(sizes.one("--bytes", size))
    asked = Asked(collective=collective, nodes=nodes, ranks=ranks, bytes=text, network=network)
    _check(asked)
    count = _one("--nodes", nodes, 2, MOST_NODES)
    each = _one("-n", ranks, 1, MOST_RANKS // count)
    words = {
        "nodes": count,
        "ranks": each,
        "network": network,
        "simulated": int(_is_soon_simulated(asked, count * each)),
    }
    if collective != "barrier":
        words["bytes"] = _listed(_sizes(asked, count * each))
    said = (f"{key}={value}" for key, value in words.items())
    found = process.ask(paths.simulate_program(), "leaders", collective, *said)
    return {"network": network, "each": each, **found}


def _is_soon_simulated(asked: Asked, ranks: int) -> bool:
    buffers = ranks * max(_longest(asked, size, ranks) for size in _sizes(asked, ranks))
    return ranks <= MOST_EXPLAINED_RANKS and buffers <= MOST_EXPLAINED_BYTES


def _one(option: str, text: str, least: int, most: int) -> int:
    found = arguments.numbers(option, text, least, most)
    if len(found) > 1:
        raise UsageError(f"{option} {text}: must be one number")
    return found[0]


def _run(asked: Asked) -> dict[str, Any]:
    """Of all numbers of nodes, the cases one after the other."""
    _check(asked)
    nodes = arguments.numbers("--nodes", asked.nodes, 2, MOST_NODES)
    each = arguments.numbers("--ranks", asked.ranks or str(RANKS), 1, MOST_RANKS // nodes[-1])
    if len(each) > 1:
        raise UsageError(f"--ranks {asked.ranks}: all nodes of a cluster have one number of ranks")
    words = _words(asked, nodes[-1], each[0])
    result: dict[str, Any] = {"network": asked.network, "layout": asked.layout, "each": each[0]}
    cases = []
    for count in nodes:
        said = (f"{key}={value}" for key, value in {"nodes": count, **words}.items())
        one = process.ask(paths.simulate_program(), "cluster", asked.collective, *said)
        cases += [{"nodes": count, "ranks": one["ranks"], **case} for case in one.pop("cases")]
        result.update({key: one[key] for key in ("collective", "machine", "late_ns")})
    return {**result, "cases": cases}


def _check(asked: Asked) -> None:
    """What needs no number."""
    arguments.check_one_of("the collective", asked.collective, COLLECTIVES)
    arguments.check_one_of("--network", asked.network, NETWORKS)
    arguments.check_one_of("--layout", asked.layout, LAYOUTS)
    if asked.collective == "scan" and asked.layout == "cyclic":
        raise UsageError("--layout cyclic: a scan over nodes is for ranks that follow each other")
    arguments.check_within("--taper", asked.taper, 1, MOST_TAPER)
    arguments.check_within("--late", asked.late_us, 0, MOST_LATE_US)
    if asked.taper > 1 and asked.switch_nodes == 0:
        raise UsageError("--taper is of the links between switches: say --switch N, too")
    arguments.check_within("--switch", asked.switch_nodes, 0, MOST_NODES)
    if asked.collective == "barrier" and asked.bytes:
        raise UsageError("--bytes: a barrier moves none")


def _words(asked: Asked, nodes: int, each: int) -> dict[str, Any]:
    """Those of the program, but for the nodes, of which there are so many at most.

    What is not asked for is left to it.
    """
    schemes = arguments.words("--scheme", asked.scheme, SCHEMES)
    _check_pairs(asked.collective, schemes, nodes * each)
    words = {
        "ranks": each,
        "network": asked.network,
        "layout": asked.layout,
        "scheme": _listed(schemes),
        "switch": asked.switch_nodes,
        "taper": asked.taper,
        "late": round(1000 * asked.late_us),
    }
    if asked.collective != "barrier":
        words["bytes"] = _listed(_sizes(asked, nodes * each))
    if asked.leaders is not None:
        smallest = (each + 1) // 2 if asked.layout == "uneven" else each
        words["leaders"] = _listed(arguments.numbers("--leaders", asked.leaders, 1, smallest))
    if asked.slices is not None:
        words["slice"] = _listed(sizes.several("--slice", asked.slices))
    if asked.packed is not None:
        words["packed"] = sizes.one("--packed", asked.packed)
    if asked.forwarded is not None:
        words["forwarded"] = _listed(_sizes_or_none("--forwarded", asked.forwarded))
    return words


def _listed(values: Iterable[object]) -> str:
    return ",".join(map(str, values))


def networks() -> dict[str, dict[str, float]]:
    """The speeds of each: startup_ns of a message and byte_ns, of a NIC."""
    found: dict[str, dict[str, float]] = process.ask(paths.simulate_program(), "networks")
    return found


def _sizes(asked: Asked, ranks: int) -> list[int]:
    """Those of --bytes: whole elements, and not too many of them for one buffer."""
    found = sizes.several("--bytes", asked.bytes or "8")
    for size in found:
        if size % ELEMENT != 0:
            raise UsageError(f"--bytes {asked.bytes}: must be multiples of {ELEMENT}, an element")
        longest = _longest(asked, size, ranks)
        if longest > MOST_BYTES:
            raise UsageError(
                f"--bytes {asked.bytes}: a buffer of {longest} bytes is too long to simulate"
            )
    return found


def _longest(asked: Asked, size: int, ranks: int) -> int:
    """The bytes of a rank's longest buffer."""
    return size if asked.collective in VECTORS else size * ranks


def _sizes_or_none(option: str, text: str) -> list[int]:
    """As several(), of which one may be 0."""
    words = text.split(",")
    others = [word for word in words if word != "0"]
    none = [0] if len(others) < len(words) else []
    return none + (sizes.several(option, ",".join(others)) if others else [])


def _check_pairs(collective: str, schemes: list[str], ranks: int) -> None:
    for scheme in schemes if collective == "alltoall" else []:
        if ranks**2 > MOST_PAIRS[scheme]:
            most = int(MOST_PAIRS[scheme] ** 0.5)
            raise UsageError(
                f"an alltoall of {ranks} ranks, {scheme}, takes too much memory and time here: "
                f"at most {most} ranks"
            )
