# SPDX-License-Identifier: BSD-3-Clause
"""Predict how long nonblocking collectives take whose tree is split, and where to split it.

tutti model --cores 64

tutti model --cores 64 --growing --plot model.png
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Optional

import typer

from tutti import arguments, probe
from tutti.errors import UsageError
from tutti.reporters import model_table
from tutti.reporters.text import write_file

LEAST_CORES, MOST_CORES = 2, 1024  # as src/probe/probe.h


def register(app: typer.Typer) -> None:
    app.command("model", help=__doc__)(model)


def model(
    cores_text: Optional[str] = typer.Option(
        None, "--cores", metavar="N", help="Cores of the node. Default: those usable here."
    ),
    growing: bool = typer.Option(
        False, "--growing", help="Print the table of gather and scatter, not bcast and reduce."
    ),
    json_file: Optional[Path] = typer.Option(
        None, "--json", metavar="FILE", help="Write both tables to FILE."
    ),
    plot_file: Optional[Path] = typer.Option(
        None, "--plot", metavar="FILE", help="Draw both against the ranks (.png, .svg, .pdf)."
    ),
) -> None:
    cores = core_count(cores_text)
    arguments.check_outputs(json_file, plot_file)
    said = probe.model(cores)
    model_table.print_table(said, growing)
    if json_file is not None:
        write_file(json_file, json.dumps(said, indent=1) + "\n")
    if plot_file is not None:
        from tutti.reporters import model_plot  # matplotlib takes a second to load

        model_plot.draw(plot_file, said)


def core_count(text: Optional[str]) -> int:
    """The value of --cores, or the cores that this process may use."""
    word = str(probe.machine()["usable_cores"]) if text is None else text
    if LEAST_CORES <= arguments.number(word) <= MOST_CORES:
        return int(word)
    if text is None:
        raise UsageError(f"there is nothing to split on {word} usable core: name --cores")
    raise UsageError(f"--cores must be a number from {LEAST_CORES} to {MOST_CORES}, not '{text}'")
