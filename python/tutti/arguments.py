# SPDX-License-Identifier: BSD-3-Clause
"""Options that several commands take, each described once, and what their values may be.

`tutti run` starts as often as programs do, so this imports nothing that takes time to import.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple, Optional

from tutti.errors import UsageError, nearest
from tutti.files import exists, is_directory


class Option(NamedTuple):
    """As it is written, and as --help explains it; without a metavar it is a flag."""

    names: tuple[str, ...]
    help: str
    metavar: Optional[str] = None


RANKS = Option(("-n", "-np", "--ranks"), "How many ranks to start.", "N")
MPI = Option(
    ("--mpi",),
    "The MPI: a launcher or a directory with one. Default: the first mpirun in PATH.",
    "PATH",
)
ALLOW_ROOT = Option(("--allow-run-as-root",), "Let Open MPI run as root (it refuses otherwise).")
COMM_CORES = Option(
    ("--comm-cores",), "Keep K cores of each node free for nonblocking collectives.", "K"
)
HOSTS = Option(
    ("--hosts",),
    "The hosts of the ranks, which are divided among them; or how many each has: a:2,b:2.",
    "A,B",
)
HOSTFILE = Option(("--hostfile",), "A file of hosts: a, a:2 or a slots=2 a line.", "FILE")
JSON = Option(("--json",), "Write the figures to FILE.", "FILE")
PICTURES = (".png", ".svg", ".pdf")
PLOT = Option(("--plot",), "Draw them (.png, .svg, .pdf).", "FILE")


MOST_RANKS = 1 << 24  # no machine has as many cores


class Host(NamedTuple):
    """A host and how many ranks it has."""

    name: str
    ranks: int  # 0: nobody has said


def number(word: str) -> int:
    """The number that `word` is; -1 if it is none, or so long that int() refuses it."""
    return int(word) if word.isdecimal() and len(word) <= 999 else -1


def check_within(option: str, value: float, least: float, most: float) -> None:
    """Refuses what no command could compute with, such as nan."""
    if not least <= value <= most:
        given = value if isinstance(value, int) else f"{value:g}"  # no float is as long as an int
        raise UsageError(f"{option} {given}: must be from {least:g} to {most:g}")


def numbers(option: str, text: str, least: int, most: int) -> list[int]:
    """``2``, ``1,2,4`` or ``32:63``; sorted, each once."""
    found: set[int] = set()
    for part in text.split(","):
        ends = part.split(":")
        first, last = number(ends[0]), number(ends[-1])
        if len(ends) > 2 or min(first, last) < 0:
            raise UsageError(f"{option} {text}: write a number, a list 1,2,4 or a range 1:16")
        if not least <= first <= last <= most:
            raise UsageError(f"{option} {text}: must be from {least} to {most}")
        found.update(range(first, last + 1))
    return sorted(found)


def rank_count(text: Optional[str]) -> Optional[int]:
    """The value of -n."""
    if text is None:
        return None
    count = number(text)
    if count < 1:
        raise UsageError(f"-n must be a number of ranks, at least 1, not '{text}'")
    return count


def rank_counts(text: str) -> list[int]:
    """The value of an -n that may be a list: ``2,3,4``; ascending, each once."""
    counts = set()
    for word in text.split(","):
        count = number(word)
        if count < 1:
            raise UsageError(f"-n must be numbers of ranks, at least 1, such as 2,4, not '{text}'")
        counts.add(count)
    return sorted(counts)


def hosts(text: Optional[str], ranks: Optional[int], counted: bool = True) -> tuple[Host, ...]:
    """The value of --hosts, beside that of -n; none without it. Unless `counted`, it may be names
    alone."""
    if text is None:
        return ()
    words = [word.partition(":") for word in text.split(",")]
    if not all(name for name, _, _ in words):
        raise UsageError(f"--hosts must be names of hosts, such as a,b or a:2,b:2, not '{text}'")
    if not any(colon for _, colon, _ in words):
        if not counted:
            return tuple(Host(name, 0) for name, _, _ in words)
        if ranks is None:
            raise UsageError("--hosts needs -n, or a number for each host, such as a:2,b:2")
        return divided([name for name, _, _ in words], ranks)
    numbered = tuple(Host(name, number(count)) for name, _, count in words)
    if any(host.ranks < 1 for host in numbered):
        raise UsageError(f"--hosts must have a number of ranks for each host, not '{text}'")
    total = sum(host.ranks for host in numbered)
    if ranks not in (None, total):
        raise UsageError(f"--hosts has {total} ranks, and -n says {ranks}")
    check_ranks("--hosts", total)
    return numbered


def divided(names: Sequence[str], ranks: int) -> tuple[Host, ...]:
    """As evenly as it goes; a host that gets none is left out."""
    each, more = divmod(check_ranks("-n", ranks), len(names))
    hosts = (Host(name, each + (at < more)) for at, name in enumerate(names))
    return tuple(host for host in hosts if host.ranks)


def check_ranks(option: str, count: int) -> int:
    """Refuses what no launcher could start."""
    if count > MOST_RANKS:
        raise UsageError(f"{option} asks for {count} ranks: at most {MOST_RANKS} can be placed")
    return count


def check_one_says_hosts(hosts: Optional[str], hostfile: object) -> None:
    if hosts is not None and hostfile is not None:
        raise UsageError("--hosts and --hostfile say the same: give one of them")


def communication_cores(text: Optional[str], here: bool = True) -> int:
    """The value of --comm-cores; 0 without it. `here`: the ranks run on this machine."""
    if text is None:
        return 0
    usable = len(os.sched_getaffinity(0))
    count = number(text)
    if count < 1:
        raise UsageError(f"--comm-cores must be a number of cores, at least 1, not '{text}'")
    if here and count >= usable:
        raise UsageError(
            f"--comm-cores {text} leaves no core for the ranks: this node has {usable}, "
            f"so it may be at most {usable - 1}"
        )
    return count


def check_one_of(what: str, value: str, known: tuple[str, ...]) -> None:
    """Says that `value` is not known, and which known one is like it."""
    if value not in known:
        raise UsageError(
            f"{what} must be one of {', '.join(known)}, not '{value}'{nearest(value, known)}"
        )


def words(option: str, text: str, known: tuple[str, ...]) -> list[str]:
    """A list of words, each once."""
    names = text.lower().split(",")
    for name in names:
        check_one_of(option, name, known)
    return list(dict.fromkeys(names))


def check_outputs(*files: Optional[Path], picture: Optional[Path] = None) -> None:
    """Says that a file cannot be written, or drawn, before any work is done for it."""
    for file in (*files, picture):
        if file is None:
            continue
        if not is_directory(file.absolute().parent):
            raise UsageError(f"{file} cannot be written: there is no directory {file.parent}")
        if is_directory(file):
            raise UsageError(f"{file} cannot be written: it is a directory")
        if not os.access(file if exists(file) else file.absolute().parent, os.W_OK):
            raise UsageError(f"{file} cannot be written: it is not yours to write to")
    if picture is not None and picture.suffix.lower() not in PICTURES:
        raise UsageError(f"{picture} cannot be drawn: its name must end in .png, .svg or .pdf")
