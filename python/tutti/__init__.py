# SPDX-License-Identifier: BSD-3-Clause
"""The command line of Tutti: fast MPI collectives inside the node, for the MPI you have."""

from importlib import metadata

try:
    __version__ = metadata.version("tutti")
except metadata.PackageNotFoundError:  # run from a source tree that is not installed
    __version__ = "0+source"
