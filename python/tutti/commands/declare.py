# SPDX-License-Identifier: BSD-3-Clause
"""Options of tutti.arguments, as the library for command lines has them declared."""

from __future__ import annotations

from typing import Any

import typer

from tutti.arguments import Option


def declared(option: Option) -> Any:
    default = False if option.metavar is None else None
    return typer.Option(default, *option.names, metavar=option.metavar, help=option.help)
