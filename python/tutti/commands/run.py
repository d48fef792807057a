# SPDX-License-Identifier: BSD-3-Clause
"""Run an MPI program with Tutti's collectives.

Everything after `--` is the program and its arguments; what stands before it and is not an option
of Tutti goes to the launcher as it is. Without launcher options the `--` may be left out:

    tutti run -n 8 ./app --its-own-option
    tutti run -n 8 --bind-to core -- ./app
"""

from __future__ import annotations

from typing import Any

import typer
from typer.core import TyperCommand

from tutti import arguments, job
from tutti.commands.declare import declared


class Command(TyperCommand):
    """Leaves the words to job.split(), which knows where the launcher's and the program's begin."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        ctx.meta["words"] = words = job.split(args)
        return super().parse_args(ctx, ["--help"] if job.HELP in words.own else [])

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        return ["[OPTIONS]", "[LAUNCHER OPTIONS --]", "PROGRAM", "[ARGUMENTS]"]


def register(app: typer.Typer) -> None:
    app.command("run", cls=Command, help=__doc__)(run)


def run(
    ctx: typer.Context,
    ranks: str = declared(arguments.RANKS),
    hosts: str = declared(arguments.HOSTS),
    hostfile: str = declared(arguments.HOSTFILE),
    mpi: str = declared(arguments.MPI),
    comm_cores: str = declared(arguments.COMM_CORES),
    trace: str = declared(job.TRACE),
    quiet: bool = declared(job.QUIET),
    allow_root: bool = declared(arguments.ALLOW_ROOT),
) -> None:
    del ranks, hosts, hostfile, mpi, comm_cores, trace, quiet, allow_root  # declared for --help
    raise typer.Exit(job.run(ctx.meta["words"]))
