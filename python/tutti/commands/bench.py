# SPDX-License-Identifier: BSD-3-Clause
"""Time collectives of the MPI alone and with Tutti, alternately in the same processes.

tutti bench allreduce --sizes 8:4M --plot allreduce.png

tutti bench all --sizes 64K,4M

tutti bench --overlap ireduce ibcast -n 2,3,4 --comm-cores 1
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Optional

import typer

from tutti import arguments, launch, measure, mpi, paths, probe, sizes
from tutti.collectives import ALL, is_nonblocking, plain
from tutti.commands.declare import declared
from tutti.errors import UsageError
from tutti.reporters import bench_json, bench_table, overlap_table, progress

TRANSPOSES = ("alltoallv_transpose", "alltoallw_transpose")
AFTER = ALL.index("alltoallw") + 1
COLLECTIVES = (*ALL[:AFTER], *TRANSPOSES, *ALL[AFTER:])


def register(app: typer.Typer) -> None:
    app.command("bench", help=__doc__)(bench)


def bench(
    collectives: list[str] = typer.Argument(
        ..., metavar="COLLECTIVE...", help="Of " + ", ".join(COLLECTIVES) + "; or all."
    ),
    ranks_text: Optional[str] = declared(arguments.RANKS),
    overlap: bool = typer.Option(
        False,
        "--overlap",
        help="Of the nonblocking collectives: how much can be computed meanwhile. "
        "-n may be a list, 2,3,4, of runs that share the same work.",
    ),
    comm_cores_text: Optional[str] = declared(arguments.COMM_CORES),
    size_text: str = typer.Option(
        "8:4M", "--sizes", metavar="A:B", help="Powers of two from A to B, or a list: 8,64K,4M."
    ),
    dtype: str = typer.Option("float", help="Type of the elements."),
    op: str = typer.Option("sum", help="Operation of a reduction."),
    memory: str = typer.Option("heap", metavar="heap|static|mmap", help="Where the buffers are."),
    cache: str = typer.Option(
        "cold", metavar="cold|hot", help="Data in no cache, or the same buffers again and again."
    ),
    json_file: Optional[Path] = typer.Option(
        None, "--json", metavar="FILE", help="Write the figures and the machine to FILE."
    ),
    plot_file: Optional[Path] = typer.Option(
        None, "--plot", metavar="FILE", help="Draw time against size (.png, .svg, .pdf)."
    ),
    mpi_path: Optional[str] = declared(arguments.MPI),
    allow_root: bool = declared(arguments.ALLOW_ROOT),
) -> None:
    names = chosen(collectives, overlap)
    arguments.check_one_of("--memory", memory, ("heap", "static", "mmap"))
    arguments.check_one_of("--cache", cache, ("cold", "hot"))
    counts = _rank_counts(ranks_text, overlap)
    comm_cores = arguments.communication_cores(comm_cores_text)
    arguments.check_outputs(json_file, picture=plot_file)
    points = sizes.parse(size_text)
    found = mpi.find(mpi_path)
    paths.library()
    machine = probe.machine()
    plans = [
        measure.Plan(
            *(name, count, points, dtype.lower(), op.lower(), memory, cache, allow_root),
            overlap=overlap,
            comm_cores=comm_cores,
        )
        for name in names
        for count in counts or [max(2, launch.usable_cores() - comm_cores)]
    ]
    rows: list[dict[str, Any]] = []
    errors: list[BaseException] = []
    with _remembered(errors):
        for row in (_measure_overlap if overlap else _measure)(found, plans):
            rows.append(row)  # noqa: PERF402 - those before an error count
    if rows:
        rows = _in_order(rows, plans) if overlap else rows
        _report(machine, str(found), rows, overlap, json_file, plot_file, errors)
    if errors:
        raise errors[0]


@contextmanager
def _remembered(errors: list[BaseException]) -> Iterator[None]:
    """What fails here is only noted: the rest is done all the same."""
    try:
        yield
    except BaseException as error:
        errors.append(error)


def _report(
    machine: dict[str, Any],
    found: str,
    rows: list[dict[str, Any]],
    overlap: bool,
    json_file: Optional[Path],
    plot_file: Optional[Path],
    errors: list[BaseException],
) -> None:
    """Each by itself: what was measured is not to be had again. The files first: nobody may read
    the table to its end."""
    if json_file is not None:
        with _remembered(errors):
            bench_json.write(json_file, machine, found, rows, overlap)
    if plot_file is not None:
        with _remembered(errors):
            # matplotlib takes a second to load
            from tutti.reporters import bench_plot, overlap_plot

            draw = overlap_plot.draw if overlap else bench_plot.draw
            draw(plot_file, machine, found, rows)
    with _remembered(errors):
        (overlap_table if overlap else bench_table).print_table(machine, found, rows)


def _measure(found: mpi.Mpi, plans: Iterable[measure.Plan]) -> Iterator[dict[str, Any]]:
    with progress.Bar() as bar:
        for plan in plans:
            yield from _run(found, plan, plan.collective, bar)


def _measure_overlap(found: mpi.Mpi, plans: list[measure.Plan]) -> Iterator[dict[str, Any]]:
    """The most ranks choose how much is computed; fewer then share the same work."""
    work: dict[str, list[int]] = {}  # by collective
    with progress.Bar() as bar:
        for plan in sorted(plans, key=lambda plan: -plan.ranks):
            name = f"i{plan.collective}, {plan.ranks} ranks"
            chosen_here: list[int] = []
            for row in _run(found, replace(plan, work=work.get(plan.collective, ())), name, bar):
                chosen_here.append(int(row["work"]))
                yield {**row, "comm_cores": plan.comm_cores}
            work.setdefault(plan.collective, chosen_here)


def _in_order(rows: list[dict[str, Any]], plans: list[measure.Plan]) -> list[dict[str, Any]]:
    order = {f"i{plan.collective}": at for at, plan in enumerate(plans)}
    return sorted(rows, key=lambda row: (order[row["collective"]], row["ranks"], row["bytes"]))


def _run(
    found: mpi.Mpi, plan: measure.Plan, name: str, bar: progress.Bar
) -> Iterator[dict[str, Any]]:
    for event in measure.events(found, plan):
        if event["event"] == "plan":
            bar.begin(name, event["points"])
        elif event["event"] == "progress":
            bar.advance(event["done"])
        elif event["event"] == "row":
            yield event


def _rank_counts(text: Optional[str], overlap: bool) -> list[int]:
    if text is not None and overlap:
        return arguments.rank_counts(text)
    if text is not None and "," in text:
        raise UsageError(f"-n {text}: a list of numbers of ranks needs --overlap")
    count = arguments.rank_count(text)
    return [count] if count else []


def chosen(words: list[str], overlap: bool = False) -> list[str]:
    """Each once, in the order named; ``all`` is all of them."""
    names: list[str] = []
    for word in words:
        names += COLLECTIVES if word.lower() == "all" else [collective(word, overlap)]
    return list(dict.fromkeys(names))


def collective(word: str, overlap: bool = False) -> str:
    """``allreduce`` for allreduce, Allreduce and MPI_Allreduce; for Iallreduce if it may be."""
    name = plain(word)
    if is_nonblocking(name):
        if not overlap:
            raise UsageError(f"{word} is nonblocking: give --overlap, or name {name[1:]}")
        name = name[1:]
    arguments.check_one_of("the collective", name, (*COLLECTIVES, "all"))
    return name
