# SPDX-License-Identifier: BSD-3-Clause
"""The command line of Tutti: fast MPI collectives inside the node, for the MPI you have."""

from __future__ import annotations


def version() -> str:
    """Of the installed package; to look it up takes longer than most commands."""
    from importlib import metadata  # noqa: PLC0415

    try:
        return metadata.version("tutti")
    except metadata.PackageNotFoundError:  # run from a source tree that is not installed
        return "0+source"
