# SPDX-License-Identifier: BSD-3-Clause
"""Options of tutti.arguments, as the library for command lines has them declared."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import typer

from tutti.arguments import Option


def in_group(group: str) -> Callable[..., Any]:
    """typer.Option for those that --help shows together, under this heading."""
    return functools.partial(typer.Option, rich_help_panel=group)


def declared(option: Option) -> Any:
    default = False if option.metavar is None else None
    return typer.Option(default, *option.names, metavar=option.metavar, help=option.help)
