# SPDX-License-Identifier: BSD-3-Clause
"""Times whole applications between the rig's hosts, bare and under Tutti by turns.

applications.py [--layout 2+2] [--pairs N] [--nodes 1] [--only NAME...]
    writes results/DATE-MACHINE-nodes-apps.json and .md; with --only nothing

They are those of scripts/apps (make record-apps installs them), on Debian's Open MPI. It is told to
yield its core in a wait, as the hosts share this machine's cores. Run it alone.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
from pathlib import Path

from cluster import Cluster  # finds the folder of what follows

# isort: split
from apps.app import App
from apps.table import APPS
from launchers import Layout
from records import machine
from records.recording import head, write
from rig import ROOT
from rig.jobs import Run
from rig.mpis import DEBIAN_OPENMPI
from spanning import start

HEAD = ("application", "bare, s", "Tutti, s", "ratio", "pairs", "calls by Tutti", "results")


class Failed(Exception):
    """An application ended otherwise than it should; with what it said."""


def sample(cluster: Cluster, layout: Layout, app: App, nodes: str | None) -> tuple[Run, list]:
    """`nodes`: TUTTI_NODES; None for a bare run."""
    ranks = sum(layout.counts)
    variables = {"OMP_NUM_THREADS": "1"} | ({"TUTTI_NODES": nodes} if nodes else {})
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        app.furnish(folder, ranks)
        run = start(
            cluster,
            layout,
            DEBIAN_OPENMPI,
            ranks,
            list(app.command),
            tutti=nodes is not None,
            limit_s=300,
            cwd=folder,
            variables=variables,
        )
        if run.code != 0:
            raise Failed(f"{app.name} on {layout}, {nodes}: {run.code}\n{run.output[-3000:]}")
        return run, app.results(run.output, folder)


def runs_bare(cluster: Cluster, layout: Layout, app: App) -> bool:
    try:
        sample(cluster, layout, app, None)
    except Failed:
        return False
    return True


def measure(cluster: Cluster, layout: Layout, app: App, nodes: str, pairs: int) -> dict:
    bare: list[tuple[Run, list]] = []
    ours: list[tuple[Run, list]] = []
    for turn in range(pairs):
        for side in (bare, ours) if turn % 2 else (ours, bare):
            side.append(sample(cluster, layout, app, None if side is bare else nodes))
    ratios = [b.seconds / a.seconds for (a, _), (b, _) in zip(bare, ours)]
    return {
        "app": app.name,
        "bare_s": statistics.median(run.seconds for run, _ in bare),
        "tutti_s": statistics.median(run.seconds for run, _ in ours),
        "ratios": ratios,
        "same_results": all(app.same(b, a) for (_, a), (_, b) in zip(bare, ours)),
        "calls": ours[-1][0].calls,
    }


def cells(row: dict) -> list[str]:
    calls = row["calls"].values()
    return [
        row["app"],
        f"{row['bare_s']:.2f}",
        f"{row['tutti_s']:.2f}",
        f"{statistics.median(row['ratios']):.3f}",
        f"{min(row['ratios']):.2f} to {max(row['ratios']):.2f}",
        f"{sum(call['taken'] for call in calls)} of {sum(call['seen'] for call in calls)}",
        "the same" if row["same_results"] else "OTHER",
    ]


def page(record: dict) -> str:
    rows = record["rows"]
    mean = statistics.geometric_mean(statistics.median(row["ratios"]) for row in rows)
    lines = [
        f"# Whole applications on {record['layout']} ranks of the rig's hosts",
        "",
        f"{record['date']}, commit {record['commit']}, {record['machine']['cpu']},"
        f" {record['machine']['cores']} cores, Debian's Open MPI told to yield, TUTTI_NODES="
        f"{record['nodes']}. Seconds from the launcher's start to its end, medians of"
        f" {record['pairs']} pairs by turns; a ratio is Tutti's time over the bare one's. Calls are"
        " rank 0's collectives.",
        "",
        "| " + " | ".join(HEAD) + " |",
        "|" + "---|" * len(HEAD),
        *("| " + " | ".join(cells(row)) + " |" for row in rows),
        "",
        f"Geometric mean {mean:.3f}.",
    ]
    return "\n".join(lines) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--layout", default="2+2", help="ranks of each host, such as 3+2+1")
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--nodes", choices=["1", "auto"], default="auto", help="TUTTI_NODES")
    parser.add_argument("--only", nargs="*", metavar="NAME", help="applications")
    parser.add_argument("--results", type=Path, default=ROOT / "results")
    given = parser.parse_args()
    layout = Layout(tuple(map(int, given.layout.split("+"))))
    chosen = [app for app in APPS if not given.only or app.name in given.only]
    rows = []
    with Cluster(hosts=len(layout.counts)) as cluster:
        for app in chosen:
            if not app.installed:
                print(f"left out: {app.name} (apt-get install {app.package})")
                continue
            if not runs_bare(cluster, layout, app):
                print(f"left out: {app.name} fails without Tutti, too")
                continue
            rows.append(measure(cluster, layout, app, given.nodes, given.pairs))
            print("  ".join(cells(rows[-1])), flush=True)
    what = {"layout": given.layout, "nodes": given.nodes, "pairs": given.pairs, "rows": rows}
    record = {**head(machine.describe()), **what}
    if not given.only:
        path = str(given.results / f"{machine.file_name(record['machine'])}-nodes-apps")
        write(path, record, page(record))
        print(f"Written to {path}.json and .md")
    return 0 if all(row["same_results"] for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
