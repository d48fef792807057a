# SPDX-License-Identifier: BSD-3-Clause
"""The commands, gathered by the library for command lines; its errors become ours."""

from __future__ import annotations

import importlib
from collections.abc import Sequence

import typer

from tutti import version as tutti_version
from tutti.errors import UsageError, nearest

try:  # typer carries its own copy of click since 0.26
    from typer._click import exceptions as click_errors
except ImportError:  # pragma: no cover - older typer
    from click import exceptions as click_errors  # type: ignore[no-redef]

COMMANDS = ("run", "env", "doctor", "bench", "explain", "model", "simulate", "trace", "config")


def main(words: Sequence[str]) -> int:
    """Runs a command; the exit code."""
    try:
        command = typer.main.get_command(_application(words))
        code = command.main(list(words), prog_name="tutti", standalone_mode=False)
        return code if isinstance(code, int) else 0
    except click_errors.ClickException as error:
        raise UsageError(_sentence(error)) from error
    except typer.Abort:
        return 130


def _application(words: Sequence[str]) -> typer.Typer:
    """With the command that is named alone, as each imports what only it needs; or with all."""
    named = next((word for word in words if not word.startswith("-")), "")
    app = typer.Typer(
        add_completion=False,
        rich_markup_mode="markdown",
        help="Fast MPI collectives inside the node, for the MPI and the programs you already have.",
    )
    app.callback()(_options)
    for name in [named] if named in COMMANDS else COMMANDS:
        importlib.import_module(f"tutti.commands.{name}").register(app)
    return app


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"tutti {tutti_version()}")
        raise typer.Exit


def _options(
    version: bool = typer.Option(
        False, "--version", callback=_print_version, is_eager=True, help="Print the version."
    ),
    debug: bool = typer.Option(False, "--debug", help="Print a traceback if Tutti itself fails."),
) -> None:
    del version, debug  # _run looks for --debug itself: it must know before this is called


def _sentence(error: click_errors.ClickException) -> str:
    context = getattr(error, "ctx", None)
    where = context.command_path if context is not None else "tutti"
    known: list[str] = []
    if isinstance(error, click_errors.NoSuchOption):
        if context is not None:
            known = [name for p in context.command.params for name in p.opts]
        return f"`{where}` has no option {error.option_name}{nearest(error.option_name, known)}"
    message = error.format_message().strip().rstrip(".")
    if message.startswith("No such command") and context is not None:
        word = message.split("'")[1]
        known = context.command.list_commands(context)
        return f"there is no command '{word}'{nearest(word, known)} (`tutti --help` lists them)"
    return f"{message[0].lower()}{message[1:]} (`{where} --help` shows what it takes)"
