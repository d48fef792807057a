# SPDX-License-Identifier: BSD-3-Clause
"""Measures what Tutti reaches, and writes it to results/.

Run it alone on a quiet machine. Each subcommand is a module of scripts/records. It adds its own
ending to the names of the files.
"""

from __future__ import annotations

import argparse
import sys

from records import (
    applications,
    blocking,
    collectives,
    computing,
    nodes,
    nodes_applications,
    nodes_connections,
    nodes_overlap,
    nodes_training,
    nonblocking,
    openmpi6,
)
from rig.cluster import NoCluster

RECORDS = {
    "blocking": blocking,
    "all": collectives,
    "nonblocking": nonblocking,
    "apps": applications,
    "computing": computing,
    "openmpi6": openmpi6,
    "nodes": nodes,
    "nodes-apps": nodes_applications,
    "nodes-connections": nodes_connections,
    "nodes-overlap": nodes_overlap,
    "nodes-training": nodes_training,
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(title="records", metavar="WHAT_TO_RECORD", required=True)
    for name, module in RECORDS.items():
        about = module.__doc__.splitlines()[0]
        command = commands.add_parser(name, help=about, description=about)
        module.add_options(command)
        command.set_defaults(record=module.record)
    given = parser.parse_args()
    try:
        return given.record(given)
    except NoCluster as missing:
        print(f"record.py: {missing}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
