#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Times the same allocations with libc alone and with the commons, and prints a table.

    compare.py build/bench/commons/commons_cost build/src/libtutti.so [--rounds 5] [WORK ...]

Plain and preloaded runs alternate; the medians are shown. `ratio` is commons / libc: below 1 the
commons is faster, or needs less memory.
"""

import argparse
import json
import os
import statistics
import subprocess
from pathlib import Path

WORKS = [
    "small",
    "untouched",
    "medium",
    "threads",
    "mixed_1",
    "mixed_2",
    "mixed_8",
    "large",
    "same_again",
    "beyond_budget",
    "zeroed",
    "growth",
    "first_touch",
]


def run(program: str, work: str, preload: str | None) -> dict:
    environment = {k: v for k, v in os.environ.items() if k != "LD_PRELOAD"}
    if preload:
        environment["LD_PRELOAD"] = preload
    done = subprocess.run([program, work], env=environment, check=True, capture_output=True)
    return json.loads(done.stdout)


def median(rows: list[dict], key: str) -> float:
    return statistics.median(row[key] for row in rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("preload")
    parser.add_argument("works", nargs="*", default=WORKS, metavar="WORK")
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_intermixed_args()
    preload = str(Path(arguments.preload).resolve())

    print(
        f"{'':14}{'us an operation':^27}{'faults an operation':^19}{'peak MiB':^23}{'end MiB':^16}"
    )
    print(
        f"{'work':14}{'libc':>9}{'commons':>10}{'ratio':>8}{'libc':>9}{'commons':>10}"
        f"{'libc':>8}{'commons':>9}{'ratio':>6}{'libc':>8}{'commons':>8}"
    )
    for work in arguments.works:
        rows: dict[str | None, list[dict]] = {None: [], preload: []}
        for _ in range(arguments.rounds):
            for which in rows:
                rows[which].append(run(arguments.program, work, which))
        libc, commons = rows[None], rows[preload]
        time = median(libc, "ns") / 1e3, median(commons, "ns") / 1e3
        peak = median(libc, "peak_kib") / 1024, median(commons, "peak_kib") / 1024
        print(
            f"{work:14}{time[0]:9.3f}{time[1]:10.3f}{time[1] / time[0]:8.2f}"
            f"{median(libc, 'faults'):9.2f}{median(commons, 'faults'):10.2f}"
            f"{peak[0]:8.1f}{peak[1]:9.1f}{peak[1] / peak[0]:6.2f}"
            f"{median(libc, 'end_kib') / 1024:8.1f}{median(commons, 'end_kib') / 1024:8.1f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
