# SPDX-License-Identifier: BSD-3-Clause
"""Options of tutti.arguments, as the library for command lines has them declared."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import typer

from tutti.arguments import Option
from tutti.errors import UsageError


def in_group(group: str) -> Callable[..., Any]:
    """typer.Option for those that --help shows together, under this heading."""
    return functools.partial(typer.Option, rich_help_panel=group)


def declared(option: Option) -> Any:
    default = False if option.metavar is None else None
    return typer.Option(default, *option.names, metavar=option.metavar, help=option.help)


def refuse_group(context: typer.Context, group: str, why: str) -> None:
    """Says that an option of the group is not for this, if one was given."""
    for parameter in context.command.params:
        source = context.get_parameter_source(str(parameter.name))
        written = source is not None and source.name == "COMMANDLINE"
        if written and getattr(parameter, "rich_help_panel", None) == group:
            raise UsageError(f"{parameter.opts[0]} {why}")
