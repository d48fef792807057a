# SPDX-License-Identifier: BSD-3-Clause
"""Time collectives of the MPI alone and with Tutti, alternately in the same processes.

tutti bench allreduce --sizes 8:4M --plot allreduce.png
tutti bench all --sizes 64K,4M
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Optional

import typer

from tutti import arguments, launch, measure, mpi, paths, probe, sizes
from tutti.errors import UsageError, nearest
from tutti.reporters import bench_json, bench_table, progress

COLLECTIVES = (
    "bcast", "reduce", "allreduce", "barrier", "gather", "gatherv", "scatter", "scatterv",
    "allgather", "allgatherv", "alltoall", "alltoallv", "alltoallw", "alltoallv_transpose",
    "alltoallw_transpose", "reduce_scatter", "reduce_scatter_block", "scan", "exscan",
)  # fmt: skip


def register(app: typer.Typer) -> None:
    app.command("bench", help=__doc__)(bench)


def bench(
    collectives: list[str] = typer.Argument(
        ..., metavar="COLLECTIVE...", help="Of " + ", ".join(COLLECTIVES) + "; or all."
    ),
    ranks_text: Optional[str] = arguments.RANKS,
    size_text: str = typer.Option(
        "8:4M", "--sizes", metavar="A:B", help="Powers of two from A to B, or a list: 8,64K,4M."
    ),
    dtype: str = typer.Option("float", help="Type of the elements."),
    op: str = typer.Option("sum", help="Operation of a reduction."),
    memory: str = typer.Option("heap", metavar="heap|static", help="Where the buffers are."),
    cache: str = typer.Option(
        "cold", metavar="cold|hot", help="Data in no cache, or the same buffers again and again."
    ),
    json_file: Optional[Path] = typer.Option(
        None, "--json", metavar="FILE", help="Write the figures and the machine to FILE."
    ),
    plot_file: Optional[Path] = typer.Option(
        None, "--plot", metavar="FILE", help="Draw time against size (.png, .svg, .pdf)."
    ),
    mpi_path: Optional[str] = arguments.MPI,
    allow_root: bool = arguments.ALLOW_ROOT,
) -> None:
    names = chosen(collectives)
    _one_of("--memory", memory, ("heap", "static"))
    _one_of("--cache", cache, ("cold", "hot"))
    ranks = arguments.rank_count(ranks_text)
    arguments.check_outputs(json_file, plot_file)
    points = sizes.parse(size_text)
    found = mpi.find(mpi_path)
    count = ranks or max(2, launch.usable_cores())
    paths.library()
    machine = probe.machine()
    plans = [
        measure.Plan(name, count, points, dtype.lower(), op.lower(), memory, cache, allow_root)
        for name in names
    ]
    rows = _measure(found, plans)
    bench_table.print_table(machine, str(found), rows)
    if json_file is not None:
        bench_json.write(json_file, machine, str(found), rows)
    if plot_file is not None:
        from tutti.reporters import bench_plot  # matplotlib takes a second to load

        bench_plot.draw(plot_file, machine, str(found), rows)


def _measure(found: mpi.Mpi, plans: list[measure.Plan]) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    with progress.Bar() as bar:
        for plan in plans:
            for event in measure.events(found, plan):
                if event["event"] == "plan":
                    bar.begin(plan.collective, event["points"])
                elif event["event"] == "progress":
                    bar.advance(event["done"])
                elif event["event"] == "row":
                    rows.append(event)
    return rows


def chosen(words: list[str]) -> list[str]:
    """Each once, in the order named; ``all`` is all of them."""
    names: list[str] = []
    for word in words:
        names += COLLECTIVES if word.lower() == "all" else [collective(word)]
    return list(dict.fromkeys(names))


def collective(word: str) -> str:
    """``allreduce`` for allreduce, Allreduce and MPI_Allreduce."""
    name = word.lower().replace("-", "_")
    if name.startswith("mpi_"):
        name = name[len("mpi_") :]
    _one_of("the collective", name, (*COLLECTIVES, "all"))
    return name


def _one_of(what: str, value: str, known: tuple[str, ...]) -> None:
    if value not in known:
        raise UsageError(
            f"{what} must be one of {', '.join(known)}, not '{value}'{nearest(value, known)}"
        )
