# SPDX-License-Identifier: BSD-3-Clause
"""Times whole applications between the rig's hosts, bare and under Tutti by turns.

They are those of scripts/apps (make record-apps installs them), on Debian's Open MPI. It is told to
yield its core in a wait, as the hosts share this machine's cores. With --only nothing is written.
Run it alone.
"""

from __future__ import annotations

import argparse
from functools import partial

from apps.table import APPS
from rig.cluster import Cluster
from rig.launchers import Layout
from rig.mpis import DEBIAN_OPENMPI
from rig.spanning import start

from records import applications


def starting(cluster: Cluster, layout: Layout, nodes: str) -> applications.Start:
    """`nodes`: TUTTI_NODES."""
    variables = {"OMP_NUM_THREADS": "1", "TUTTI_NODES": nodes}
    return partial(start, cluster, layout, DEBIAN_OPENMPI, variables=variables)


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--layout", default="2+2", help="ranks of each host, such as 3+2+1")
    parser.add_argument("--nodes", choices=["1", "auto"], default="auto", help="TUTTI_NODES")
    applications.add_shared_options(parser)


def record(given: argparse.Namespace) -> int:
    layout = Layout.of(given.layout)
    how = f"{layout} ranks of the rig's hosts, Debian's Open MPI told to yield, TUTTI_NODES="
    with Cluster(hosts=len(layout.counts)) as cluster:
        return applications.record_of(
            [app for app in APPS if not app.one_host],
            given,
            [sum(layout.counts)],
            starting(cluster, layout, given.nodes),
            "-nodes-apps",
            how + given.nodes,
        )
