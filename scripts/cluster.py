# SPDX-License-Identifier: BSD-3-Clause
"""Runs an MPI program on hosts of namespaces.

cluster.py --hosts 4 --per-host 2 --mpi openmpi [--layout 3+2+1|cyclic] [--preload LIBRARY]
           [--env NAME=VALUE]... [--limit SECONDS] [--rate 1gbit] -- PROGRAM [ARGUMENT]...
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from rig.cluster import NAMES, Cluster, NoCluster
from rig.launchers import Layout
from rig.mpis import MAIN, OTHERS


def chosen_layout(options: argparse.Namespace) -> Layout:
    if options.layout in (None, "cyclic"):
        return Layout((options.per_host,) * options.hosts, options.layout == "cyclic")
    return Layout.of(options.layout)


def main() -> int:
    mpis = {mpi.name: mpi for mpi in [*MAIN, *OTHERS]}
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--hosts", type=int, default=2, choices=range(1, len(NAMES) + 1))
    parser.add_argument("--per-host", type=int, default=2, metavar="RANKS")
    parser.add_argument("--layout", help="ranks of each host, such as 3+2+1; or cyclic")
    parser.add_argument("--mpi", choices=mpis, default="openmpi")
    parser.add_argument("--preload", metavar="LIBRARY", help="into the ranks")
    parser.add_argument("--env", action="append", default=[], metavar="NAME=VALUE")
    parser.add_argument("--limit", type=float, metavar="SECONDS")
    parser.add_argument("--rate", default="", help="of each host's link, as tc says it: 1gbit")
    parser.add_argument("command", nargs="+")
    options = parser.parse_args()
    variables = dict(setting.split("=", 1) for setting in options.env)
    if options.preload:
        variables["LD_PRELOAD"] = str(Path(options.preload).resolve())
    layout = chosen_layout(options)
    try:
        with Cluster(len(layout.counts), options.rate) as cluster:
            run = cluster.run(
                mpis[options.mpi], layout, options.command, variables, options.limit, (0, 1, 2)
            )
    except NoCluster as missing:
        print(f"cluster.py: {missing}", file=sys.stderr)
        return 1
    if run.code is None:
        print(f"cluster.py: it took more than {options.limit} s", file=sys.stderr)
    return 124 if run.code is None else run.code


if __name__ == "__main__":
    sys.exit(main())
