# SPDX-License-Identifier: BSD-3-Clause
"""Measures nine collectives and Barrier at every size, 8 B to 4 MiB, 2 ranks, against three MPIs.

What is to be seen: no size is slower than with the bare MPI, and none slower than a larger one.
Run it alone on a quiet machine: it takes one to two minutes, and writes to results/.
"""

from __future__ import annotations

import statistics
import sys
from collections import defaultdict

from recording import Recording
from rig import bench, size_text
from tutti import paths

COLLECTIVES = (
    "barrier,bcast,reduce,allreduce,gather,scatter,allgather,alltoall,reduce_scatter_block,scan"
)
SIZES = [8 << shift for shift in range(20)]
ROUNDS = 5
LEAST = 0.95  # of the bare MPI's speed
MOST = 1.10  # times as long as a larger size
NOTE = """\
A ratio is the MPI's own time over the time with Tutti, in the same run, hot; medians of five runs.
2 ranks, heap buffers, the MPI's default settings."""

Key = tuple[str, int]


def name(key: Key) -> str:
    return f"{key[0]}, {size_text(key[1])}"


def measure(recording: Recording) -> dict[str, dict[Key, dict[str, float]]]:
    """For each MPI and point the medians of the times, and of the ratio."""
    found: dict[str, dict[Key, dict[str, float]]] = {}
    for mpi in recording.kept:
        samples: dict[Key, list[dict]] = defaultdict(list)
        for _ in range(1 if recording.quick else ROUNDS):
            rows = bench(
                mpi,
                2,
                COLLECTIVES,
                with_tutti=False,
                preload=paths.library(),
                sizes=SIZES,
                min_time_ms=5,
                cache="hot",
            )
            for row in rows:
                samples[row["collective"], row["bytes"]].append(row)
        found[mpi.name] = {
            key: {
                field: statistics.median(row[field] for row in rows)
                for field in ("base_us", "tutti_us", "ratio")
            }
            for key, rows in samples.items()
        }
        recording.console.print(f"{mpi.label}: {len(found[mpi.name])} points")
    return found


def steps_down(points: dict[Key, dict[str, float]]) -> dict[str, float]:
    """Where a size takes longer than the next larger one, and how many times as long."""
    return {
        name((what, size)): row["tutti_us"] / points[what, 2 * size]["tutti_us"]
        for (what, size), row in points.items()
        if (what, 2 * size) in points and size > 0
    }


def verdicts(mpi: str, points: dict[Key, dict[str, float]]) -> list[dict]:
    ratios = {name(key): row["ratio"] for key, row in points.items()}
    below = [f"{key} {ratio:.2f}x" for key, ratio in ratios.items() if ratio < LEAST]
    mean = statistics.geometric_mean(ratios.values())
    jumps = [f"{key} {times:.2f}" for key, times in steps_down(points).items() if times > MOST]
    rows = [
        (f"{len(points)} points", "none below 0.95x", below, f"{mean:.2f}x in the mean"),
        ("the same", "none 1.1 times as long as the next larger size", jumps, ""),
    ]
    return [
        {
            "case": case,
            "mpi": mpi,
            "bar": bar,
            "measured": "; ".join(filter(None, [extra, f"{len(wrong)} are", *wrong])),
            "met": not wrong,
            "row": {},
        }
        for case, bar, wrong, extra in rows
    ]


def record(recording: Recording) -> dict:
    found = measure(recording)
    return {
        "note": NOTE,
        "verdicts": [verdict for mpi in found for verdict in verdicts(mpi, found[mpi])],
        "rows": [
            {"mpi": mpi, "collective": what, "bytes": size, **row}
            for mpi, points in found.items()
            for (what, size), row in points.items()
        ],
    }


if __name__ == "__main__":
    sys.exit(Recording(__doc__, suffix="-points").run(record))
