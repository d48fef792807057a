# SPDX-License-Identifier: BSD-3-Clause
"""Times examples/digits between two of the rig's hosts, bare and under Tutti by turns.

Two hosts of a rank each, bound to a core, so that its progress thread has another one. With two
cores in all that is the other host's, whose rank it disturbs. Run it alone.
"""

from __future__ import annotations

import argparse
import statistics
import sys

from rig.cluster import Cluster
from rig.examples import digits_words, parse_values, seconds
from rig.mpis import LIBRARY, MAIN, Mpi
from rig.spanning import ALONE, BOUND

from records import machine
from records.nodes_overlap import SETTINGS
from records.recording import add_results_option, head, write


def train(cluster: Cluster, mpi: Mpi, words: list[str], tutti: bool) -> dict[str, str]:
    """What the program prints."""
    variables = {**SETTINGS.get(mpi.name, {}), **({"LD_PRELOAD": str(LIBRARY)} if tutti else {})}
    result = cluster.run(mpi, ALONE, [*BOUND, *words], variables, 120)
    if result.code != 0:
        raise SystemExit(f"{mpi.name}: {result.code}\n{result.output}")
    return parse_values(iter(result.output.splitlines()))


def page(kept: dict) -> str:
    lines = [
        "# Training between two of the rig's hosts, sums"
        + (" in blocking calls" if kept["blocking"] else " in the background"),
        "",
        f"{kept['date']}, commit {kept['commit']}, {kept['machine']['cpu']},"
        f" {kept['machine']['cores']} cores. `{kept['words']}` on two hosts of a rank each,"
        f" whose links carry {kept['rate']}/s; TUTTI_NODES unset; Open MPI and Intel MPI told to"
        " yield."
        f" Seconds, medians of {kept['pairs']} runs by turns, and the median of the ratios, bare"
        " over Tutti. The weights are the same bits.",
        "",
        "| MPI | bare | Tutti | | in the sums and their waits: bare | Tutti |",
        "|---|---|---|---|---|---|",
    ]
    for run in kept["runs"]:
        bare, tutti = ([seconds(one["time"]) for one in run[side]] for side in ("bare", "tutti"))
        ratio = statistics.median(a / b for a, b in zip(bare, tutti, strict=True))
        waits = [
            statistics.median(seconds(one["in Allreduce"]) for one in run[side])
            for side in ("bare", "tutti")
        ]
        lines.append(
            f"| {run['mpi']} | {statistics.median(bare):.2f} | {statistics.median(tutti):.2f} |"
            f" {ratio:.2f}x | {waits[0]:.2f} | {waits[1]:.2f} |"
        )
    return "\n".join(lines) + "\n"


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--rate", default="1gbit", help="of each host's link, as tc says it")
    parser.add_argument("--hidden", default="6", help="layers of the network")
    parser.add_argument("--epochs", default="6")
    parser.add_argument("--blocking", action="store_true", help="one Allreduce of all layers")
    add_results_option(parser)


def record(given: argparse.Namespace) -> int:
    arguments = ["--epochs", given.epochs, "--hidden", given.hidden]
    arguments += [] if given.blocking else ["--overlap"]
    words = [*digits_words(sys.executable), *arguments]
    said = {"words": " ".join(words[1:]), "rate": given.rate, "pairs": given.pairs}
    said["blocking"] = given.blocking
    kept: dict = {**head(machine.describe()), **said, "runs": []}
    with Cluster(2, given.rate) as cluster:
        for mpi in MAIN:
            print(mpi.name, flush=True)
            run: dict = {"mpi": mpi.name, "bare": [], "tutti": []}
            for _ in range(given.pairs):
                run["bare"].append(train(cluster, mpi, words, False))
                run["tutti"].append(train(cluster, mpi, words, True))
            if len({one["weights"] for side in ("bare", "tutti") for one in run[side]}) != 1:
                raise SystemExit(f"{mpi.name}: the weights differ: {run}")
            kept["runs"].append(run)
    name = "-nodes-training" + ("-blocking" if given.blocking else "")
    print(write(given.results, name, kept, page(kept)))
    return 0
