# SPDX-License-Identifier: BSD-3-Clause
"""Time nonblocking collectives and their overlap with computation on a chip that is not here.

tutti simulate iscan --comm-cores 2 --placement bind,numa,odd-even

tutti simulate ireduce --ranks 32:63 --levels 0:4 --overlap --plot ireduce.png
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Optional

import typer

from tutti import arguments, collectives, paths, process, sizes
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


def register(app: typer.Typer) -> None:
    app.command("simulate", help=__doc__)(simulate)


def simulate(
    collective: str = typer.Argument(..., help="Of " + ", ".join(COLLECTIVES) + "."),
    machine: str = typer.Option(
        "knl", metavar="knl|skylake", help="The speed of a core, and how many there are."
    ),
    cores: Optional[int] = typer.Option(None, metavar="C", help="Cores, instead of the machine's."),
    domains: Optional[int] = typer.Option(
        None, metavar="D", help="NUMA domains, instead of the machine's."
    ),
    comm_cores: Optional[str] = typer.Option(
        None,
        "--comm-cores",
        metavar="K",
        help="Cores for progress threads; all others have a rank. Default 2. Also 1,2,4 and 1:16.",
    ),
    ranks: Optional[str] = typer.Option(
        None, metavar="N", help="Instead: how many ranks. Also 50,62 and 32:63."
    ),
    placement: Optional[str] = typer.Option(
        None,
        metavar="|".join(PLACEMENTS),
        help="Where progress threads go, or a list. Default: odd-even for iscan, numa for trees.",
    ),
    algorithm: str = typer.Option(
        "paper",
        metavar="|".join(ALGORITHMS),
        help="The paper's chain and split trees, or what `tutti run` takes. Also paper,direct.",
    ),
    size: str = typer.Option(
        "1M", "--bytes", metavar="SIZE", help="A rank's vector; its block for gather and scatter."
    ),
    piece: str = typer.Option(CHAIN_PIECE, metavar="SIZE", help="The pieces of iscan's pipeline."),
    levels: str = typer.Option(
        "0", metavar="S", help="Levels of a tree that are left to the ranks. Also 0,2 and 0:4."
    ),
    overlap: bool = typer.Option(False, "--overlap", help="Compute meanwhile (fixed total work)."),
    interrupts: bool = typer.Option(
        False, "--interrupts", help="Progress threads interrupt computation on a core they share."
    ),
    trace_file: Optional[Path] = typer.Option(
        None, "--trace", metavar="FILE", help="Write what each core does, for `tutti trace`."
    ),
    json_file: Optional[Path] = typer.Option(
        None, "--json", metavar="FILE", help="Write the figures to FILE."
    ),
    plot_file: Optional[Path] = typer.Option(
        None, "--plot", metavar="FILE", help="Draw them (.png, .svg, .pdf)."
    ),
) -> None:
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
    placements = _words("--placement", placement or default, PLACEMENTS)
    algorithms = _words("--algorithm", algorithm, ALGORITHMS)
    level_list = _numbers("--levels", levels, 0, MOST_LEVELS)
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
    arguments.check_outputs(trace_file, json_file, plot_file)
    words = {
        "machine": machine,
        "cores": cores,
        "domains": domains,
        "bytes": _size("--bytes", size),
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


def _words(option: str, text: str, known: tuple[str, ...]) -> list[str]:
    """A list of words, each once."""
    names = text.lower().split(",")
    for name in names:
        arguments.check_one_of(option, name, known)
    return list(dict.fromkeys(names))


def _communication(cores: int, comm_cores: Optional[str], ranks: Optional[str]) -> list[int]:
    if comm_cores is not None and ranks is not None:
        raise UsageError("--comm-cores and --ranks say the same: give one of them")
    if ranks is not None:
        return [cores - n for n in _numbers("--ranks", ranks, 1, cores)]
    return _numbers("--comm-cores", comm_cores or str(min(2, cores - 1)), 0, cores - 1)


def _numbers(option: str, text: str, least: int, most: int) -> list[int]:
    """``2``, ``1,2,4`` or ``32:63``; sorted, each once."""
    found: set[int] = set()
    for part in text.split(","):
        ends = part.split(":")
        first, last = arguments.number(ends[0]), arguments.number(ends[-1])
        if len(ends) > 2 or min(first, last) < 0:
            raise UsageError(f"{option} {text}: write a number, a list 1,2,4 or a range 1:16")
        if not least <= first <= last <= most:
            raise UsageError(f"{option} {text}: must be from {least} to {most}")
        found.update(range(first, last + 1))
    return sorted(found)


def _size(option: str, text: str) -> int:
    size = sizes.one(option, text)
    if size < 8:
        raise UsageError(f"{option} {text}: must be at least 8 bytes, an element")
    return size


def _in_range(option: str, value: int, least: int, most: int) -> None:
    if not least <= value <= most:
        raise UsageError(f"{option} must be from {least} to {most}, not {value}")
