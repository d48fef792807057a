# SPDX-License-Identifier: BSD-3-Clause
"""Whether a program had the cores that it needs for itself while it was measured."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

# Of one core. A desktop that nobody uses does less, and less changes no row by much.
NEGLIGIBLE = 0.25


@dataclass(frozen=True)
class Reading:
    """Seconds, of all cores that this process may use together."""

    at_s: float
    busy_s: float  # of all processes
    own_s: float  # of this one, and of those that it has started and that have ended
    stolen_s: float = 0  # by the host of this virtual machine
    throttled_s: float = 0  # by the quota of this container


def parse_stat(lines: Iterable[str], cores: set[int]) -> tuple[float, float]:
    """Busy and stolen seconds of these cores, from /proc/stat."""
    tick_s = 1 / os.sysconf("SC_CLK_TCK")
    busy = stolen = 0
    for line in lines:
        match = re.match(r"cpu(\d+) (.*)", line)
        if match and int(match[1]) in cores:
            user, nice, system, _idle, _io, irq, softirq, steal = map(int, match[2].split()[:8])
            busy += user + nice + system + irq + softirq
            stolen += steal
    return busy * tick_s, stolen * tick_s


def throttled_s() -> float:
    """0 where no cgroup tells."""
    for path, unit_s in (("cpu.stat", 1e-6), ("cpu/cpu.stat", 1e-9)):
        try:
            text = Path("/sys/fs/cgroup", path).read_text()
        except OSError:
            continue
        if match := re.search(r"^throttled_\w+ (\d+)", text, re.MULTILINE):
            return int(match[1]) * unit_s
    return 0


def read() -> Reading:
    with Path("/proc/stat").open() as stat:
        busy_s, stolen_s = parse_stat(stat, os.sched_getaffinity(0))
    return Reading(time.monotonic(), busy_s, sum(os.times()[:4]), stolen_s, throttled_s())


def disturbance(before: Reading, after: Reading, cores: int, needed: int) -> str:
    """What kept a program that needs so many cores from them, in a few words; "" for nothing."""
    passed_s = max(after.at_s - before.at_s, 1e-3)

    def share(name: str) -> float:
        return (getattr(after, name) - getattr(before, name)) / passed_s

    others = share("busy_s") - share("own_s")
    found = []
    if others > max(cores - needed, 0) + NEGLIGIBLE:
        found.append(f"other processes used {others:.1f} of {cores} cores")
    if share("stolen_s") > NEGLIGIBLE:
        found.append(f"the host of this virtual machine took {share('stolen_s'):.1f} cores away")
    if share("throttled_s") > NEGLIGIBLE:
        found.append(
            f"the quota of this container stopped it {share('throttled_s'):.0%} of the time"
        )
    return " and ".join(found)


Run = TypeVar("Run")


@dataclass(frozen=True)
class Pair(Generic[Run]):
    """A run plain and one with Tutti, by whether it is that, and what disturbed either."""

    runs: dict[bool, Run]
    disturbed: str


def quiet_pairs(take: Callable[[], Pair[Run]], wanted: int) -> tuple[list[Pair[Run]], str]:
    """So many undisturbed pairs, or those that there are; else all, and what disturbed the last.

    As long as some are quiet the others are made again, at most as many as are wanted.
    """
    pairs = [take() for _ in range(wanted)]
    quiet = [pair for pair in pairs if not pair.disturbed]
    for _ in range(wanted):
        if not quiet or len(quiet) == wanted:
            break
        pair = take()
        if not pair.disturbed:
            quiet.append(pair)
    return (quiet, "") if quiet else (pairs, pairs[-1].disturbed)
