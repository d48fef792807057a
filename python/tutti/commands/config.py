# SPDX-License-Identifier: BSD-3-Clause
"""Show every option of the library with its value now."""

from __future__ import annotations

import os

import typer

from tutti import probe
from tutti.errors import nearest
from tutti.reporters import options

# Variables of the command line, which the library does not read.
OTHERS = {"TUTTI_HOME", "TUTTI_BENCH_LIBMPI"}


def register(app: typer.Typer) -> None:
    app.command("config", help=__doc__)(config)


def config() -> None:
    rows = [
        options.Row(variable(row["name"]), row["type"], row["default"], row["meaning"])
        for row in probe.options()
    ]
    known = {row.variable for row in rows}
    unknown = [
        f"{name} is not an option of Tutti{nearest(name, known)}"
        for name in sorted(os.environ)
        if name.startswith("TUTTI_") and name not in known | OTHERS
    ]
    options.print_options(rows, os.environ, unknown)


def variable(name: str) -> str:
    """The environment variable of an option."""
    return f"TUTTI_{name.upper()}"
