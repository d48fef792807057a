# SPDX-License-Identifier: BSD-3-Clause
"""Print the variables that put Tutti into a program, for srun, flux or your own mpirun.

eval "$(tutti env)"
"""

from __future__ import annotations

import contextlib
import os
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Optional

import typer

from tutti import arguments, launch, mpi, paths
from tutti.commands.declare import declared
from tutti.errors import InstallationError, NoMpiError, UsageError, nearest

# How each shell sets a variable; the value comes quoted.
SHELLS = {
    "sh": "export {name}={value};",
    "csh": "setenv {name} {value};",
    "fish": "set -gx {name} {value};",
}
# Of other shells.
SYNTAX = {"bash": "sh", "dash": "sh", "ksh": "sh", "zsh": "sh", "tcsh": "csh", "bsd-csh": "csh"}


def register(app: typer.Typer) -> None:
    app.command("env", help=__doc__)(env)


def env(
    mpi_path: Optional[str] = declared(arguments.MPI),
    shell: Optional[str] = typer.Option(
        None,
        "--shell",
        metavar="sh|csh|fish",
        help="Whose syntax to use. Default: of the shell that asks.",
    ),
) -> None:
    syntax = _shell(shell)
    library = paths.library()
    if not paths.can_be_preloaded(library):
        raise InstallationError(
            f"LD_PRELOAD cannot hold {library}, which has a space or a colon in it: make a link to "
            "it elsewhere and set LD_PRELOAD to that (`tutti run` does so)"
        )
    try:
        found: Optional[mpi.Mpi] = mpi.find(mpi_path)
    except NoMpiError:
        if mpi_path is not None:
            raise
        found = None  # the library finds out the MPI by itself when the program starts
    variables = launch.rank_variables(found, library, os.environ)
    print(render(variables, syntax))
    if syntax == "sh":
        # Last, so that an `eval $(tutti env)` without quotes, which joins the lines, works too.
        what = str(found) if found else "any MPI"
        print(f"# for {what}; only the ranks need these variables, for instance:")
        print(f"# srun --export=ALL,LD_PRELOAD={variables['LD_PRELOAD']} ./app")


def render(variables: dict[str, str], shell: str) -> str:
    """One line a variable."""
    quote = shlex.quote if shell != "fish" else _quote_fish
    return "\n".join(
        SHELLS[shell].format(name=name, value=quote(value)) for name, value in variables.items()
    )


def _quote_fish(value: str) -> str:
    return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"


def _parents() -> Iterator[str]:
    """Names of the program that has started this one: of its file, and as it calls itself."""
    proc = Path(f"/proc/{os.getppid()}")
    with contextlib.suppress(OSError):
        yield (proc / "exe").readlink().name
    with contextlib.suppress(OSError):
        yield (proc / "comm").read_text(errors="replace").strip()


def _shell(named: Optional[str]) -> str:
    if named is None:
        # A script may have another shell than the user has.
        for shell in (*_parents(), Path(os.environ.get("SHELL", "")).name):
            syntax = SYNTAX.get(shell, shell)
            if syntax in SHELLS:
                return syntax
        return "sh"
    if named not in SHELLS:
        raise UsageError(f"--shell must be sh, csh or fish, not {named}{nearest(named, SHELLS)}")
    return named
